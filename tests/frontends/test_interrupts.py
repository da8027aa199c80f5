"""Ctrl-C at chosen moments: quiet, with exit code 130, and never lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import carrel
from carrel.frontends.common import interrupts
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.frontends.common.transport import frame
from carrel.model.errors import Cancelled

PACKAGE = str(Path(carrel.__file__).parent.parent)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}

AT_IMPORT = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            print("Ctrl-C", file=sys.stderr, flush=True)
            signal.raise_signal(signal.SIGINT)

module = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
from carrel.__main__ import main
sys.exit(main())
"""


def interrupted_at_import(module: str, project: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command that gets its Ctrl-C when it begins to import `module`."""
    homes = {f"XDG_{name}_HOME": str(project / "home" / name) for name in ("CACHE", "CONFIG")}
    env = {**os.environ, **homes, "PYTHONPATH": PACKAGE}
    first = frame(json.dumps(INITIALIZE).encode())
    line = [sys.executable, "-c", AT_IMPORT, module, *command]
    return subprocess.run(line, env=env, cwd=project, input=first, capture_output=True, check=False, timeout=60)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "auth.py").write_text("def verify_password(user, password):\n    return user.check(password)\n")
    return tmp_path


# The initialisation of msgspec doesn't look whether its import of `datetime` failed, and reads through a null pointer later.
@pytest.mark.parametrize("module", ["carrel.frontends.cli", "carrel.frontends.cli.arguments", "asyncio", "datetime"])
@pytest.mark.parametrize(
    "command",
    [
        ("search", "password"),
        ("index",),
        ("batch", "-"),
        ("mcp",),
        ("proxy", "--port", "0", "--upstream", "http://localhost:1"),
        ("serve",),
    ],
    ids=lambda command: command[0],
)
def test_while_a_program_is_being_loaded(project: Path, module: str, command: tuple[str, ...]) -> None:
    done = interrupted_at_import(module, project, *command)
    assert (done.returncode, done.stderr.split()) == (130, [b"Ctrl-C"])


@pytest.mark.parametrize(
    "statement",
    [
        *(f"from carrel import {name}" for name in ("Index", "Chat", "ApproximateTokenizer")),
        *(f"import carrel.{module}" for module in ("rag", "library", "model.types", "model.ports", "model.conversation")),
    ],
)
def test_while_the_library_is_being_loaded(statement: str) -> None:
    code = AT_IMPORT.replace("from carrel.__main__ import main", statement)
    line = [sys.executable, "-c", code, "datetime"]
    done = subprocess.run(line, env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, check=False, timeout=60)
    assert done.stderr.splitlines()[-1:] == [b"KeyboardInterrupt"]


def test_while_an_index_is_being_opened(project: Path) -> None:
    done = interrupted_at_import("carrel.providers.local", project, "search", "password")
    assert done.returncode == 130
    assert done.stderr.decode().splitlines() == ["Ctrl-C", "carrel: Cancelled. What was finished is kept."]


def test_before_ctrl_c_is_caught_next_to_nothing_is_loaded() -> None:
    code = "import sys, carrel.__main__, carrel.frontends.common.interrupts; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    loaded = subprocess.run(command, env={"PYTHONPATH": PACKAGE}, check=True, capture_output=True, text=True).stdout.split()
    assert not {"typing", "re", "argparse", "asyncio", "datetime"} & set(loaded)


@pytest.fixture
def own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("own_handler")
def test_the_first_is_told_and_the_second_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("carrel.frontends.common.interrupts.os._exit", left.append)
    told: list[str] = []
    interrupts.leave_at_once()
    with told_of_interrupts(lambda: told.append("once"), "SIGTERM", "SIGNONE"):
        signal.raise_signal(signal.SIGINT)
        assert (told, left) == (["once"], [])
        signal.raise_signal(signal.SIGTERM)
        assert left == [130]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.raise_signal(signal.SIGINT)
    assert left == [130, 130]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")
def test_a_program_ends_with_the_code_of_its_signal_but_not_by_one_that_it_ignores() -> None:
    code = """
import signal
from carrel.frontends.common.interrupts import leave_at_once
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup has it
leave_at_once("SIGTERM", "SIGHUP")
signal.raise_signal(signal.SIGHUP)
print("still here", flush=True)
signal.raise_signal(signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": PACKAGE}, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, b"still here\n")


@pytest.mark.usefixtures("own_handler")
def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.leave_at_once()
    with told_of_interrupts(lambda: pytest.fail("told")):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("own_handler")
def test_a_coroutine_is_cancelled_and_tidies_up() -> None:
    tidied: list[str] = []

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            tidied.append("up")

    with pytest.raises(Cancelled):
        run_cancellable(work())
    assert tidied == ["up"]


def test_a_text_that_ends_the_program_is_an_error() -> None:
    code = "import sys, carrel.frontends.cli as cli, carrel.__main__ as program\n"
    code += "cli.main = lambda: sys.exit(CODE)\nsys.exit(program.main())"
    for given, expected, said in (("'no such thing'", 1, b"no such thing\n"), ("3", 3, b""), ("None", 0, b"")):
        line = [sys.executable, "-c", code.replace("CODE", given)]
        ended = subprocess.run(line, env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, check=False, timeout=60)
        assert (ended.returncode, ended.stderr) == (expected, said)
