"""A home without any agent, and what stands in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.cli import main
from carrel.frontends.cli.assistants import setup as verbs


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of nobody, with no agent on PATH."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(verbs, "program", lambda: tmp_path / "bin/carrel-hook")
    return home


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def states(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["agents", "status", "--json", *more]) == 0
    return {row["agent"]: (row["state"], row["detail"]) for row in json.loads(capsys.readouterr().out)["agents"]}
