"""A stand-in of the agents' API, and programs that stand in for Carrel's own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.frontends.agents.real.cases import CASES, PROGRAMS, STAND_IN
from tests.frontends.agents.real.stand_in_api import StandIn, standing_in
from tests.shop import SHOP, write_files

from carrel.frontends.cli.assistants import setup as verbs


@pytest.fixture
def api() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """Programs that stand in for Carrel's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("carrel", "carrel-hook"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_carrel.py")}" "$@"\n')
        script.chmod(0o755)
    return folder


@pytest.fixture
def run(
    request: pytest.FixtureRequest,
    api: StandIn,
    fakes: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., str]]:
    """Run an agent in a project of its own, by its case and arguments; its home is `home` beside that."""
    case = CASES[request.getfixturevalue("name")]
    if not (PROGRAMS / case.program).exists():
        pytest.skip(f"{case.program} isn't installed: see CARREL_TEST_AGENTS")
    home, project = tmp_path / "home", write_files(tmp_path / "shop", SHOP)
    write_files(home, {path: text.replace(STAND_IN, api.url) for path, text in case.settings.items()})
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(PROGRAMS / ".bin"), str(fakes), "/usr/bin", "/bin"]),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "TERM": "dumb",
        "PWD": str(project),  # opencode asks it, as a shell sets it
        "XDG_RUNTIME_DIR": str(tmp_path_factory.mktemp("r")),  # a socket's path has about a hundred bytes
        **{key: value.replace(STAND_IN, api.url) for key, value in case.env.items()},
    }
    for key in [key for key in os.environ if key.startswith(("XDG_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "QWEN"))]:
        monkeypatch.delenv(key)
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(verbs, "program", lambda: fakes / "carrel-hook")
    monkeypatch.setattr(sys, "argv", [str(fakes / "carrel")])

    def running(*arguments: str) -> str:
        command = [str(PROGRAMS / case.program), *arguments]
        done = subprocess.run(
            command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout + done.stderr

    yield running
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            if "agents serve" in " ".join(process.info["cmdline"] or ()) and process.environ().get("HOME") == str(home):
                process.terminate()
