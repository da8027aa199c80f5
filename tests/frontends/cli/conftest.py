"""A small project, and the command line run on it with nothing of the person who runs the tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.cli import main

Run = Callable[..., tuple[int, str, str]]

AUTH = '''"""Who may come in."""

import hashlib


def verify_password(user, password):
    """Compare the salted hash of a password with the stored one."""
    digest = hashlib.sha256((user.salt + password).encode()).hexdigest()
    return digest == user.password_hash


class LoginThrottle:
    """Slow down whoever guesses."""

    def record_failure(self, address):
        self.failures[address] = self.failures.get(address, 0) + 1
'''
POOL = """export class ConnectionPool {
  /** Give a database connection that nobody uses. */
  acquire(): Connection {
    const free = this.connections.find((connection) => !connection.busy);
    return free ?? this.open();
  }
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "auth.py").write_text(AUTH)
    (root / "src" / "pool.ts").write_text(POOL)
    (root / ".env").write_text("PASSWORD=secret\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(project: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return call


def one_json(out: str) -> Any:
    assert out.count("\n") == 1, out
    return json.loads(out)


@pytest.fixture
def editor(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that writes the index, as an editor's server does."""
    hold = (
        "import sys; from pathlib import Path; from carrel.settings.settings import Settings\n"
        "from carrel.composition.composition import Composition\n"
        "i = Composition().open_index(Path(sys.argv[1]), Settings()); print(i.store.role, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(project)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writer\n"
        yield process
        if process.stdin:
            process.stdin.close()
