"""What `carrel agents status` says of each agent."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.assistants.conftest import states
from tests.frontends.cli.assistants.test_agents import missing, own_settings

from carrel.frontends.cli import main
from carrel.frontends.cli.assistants import setup as verbs
from carrel.frontends.cli.assistants.agents import AGENTS


def test_status_says_what_is_there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (home / ".qwen").mkdir()
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("nonsense")
    assert {name: state for name, (state, _) in states(capsys).items()} == {
        **dict.fromkeys(AGENTS, "not here"),
        "qwen": "not installed",
        "gemini": "can't be read",
    }
    main(["agents", "install", "qwen", "--yes"])
    main(["agents", "install", "codex", "--yes"])
    assert states(capsys, "qwen") == {"qwen": ("installed", "")}
    monkeypatch.setattr(verbs, "program", lambda: tmp_path / "newer/carrel-hook")
    state, detail = states(capsys)["qwen"]
    assert state == "installed by another version or path"
    assert "the hook in" in detail
    (home / ".codex/hooks.json").unlink()
    state, detail = states(capsys)["codex"]
    assert state == "incomplete"
    assert detail.startswith("the hook is missing in")
    main(["agents", "install", "qwen"])
    assert states(capsys, "qwen")["qwen"][0] == "installed"
    main(["agents", "uninstall", "qwen"])
    assert not (home / ".qwen/settings.json").exists(), "two versions leave no more than one"


def test_status_says_why_no_hook_gets_an_answer(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(home / "cache"))
    main(["agents", "install", "qwen", "--yes"])
    folder = home / "cache/carrel/run"
    folder.mkdir(mode=0o700, parents=True)
    (folder / "agents.starting").write_bytes(b"")
    assert states(capsys, "qwen")["qwen"] == ("installed", "")
    os.utime(folder / "agents.starting", (0, 0))
    assert "didn't come up" in states(capsys, "qwen")["qwen"][1]
    if sys.platform != "win32":
        folder.chmod(0o755)
        assert states(capsys, "qwen")["qwen"] == (
            "incomplete",
            f"{folder} isn't yours alone. Remove it, or give it to yourself: chmod 700 {folder}",
        )


def test_a_server_of_the_persons_own_is_not_taken_for_carrels(home: Path, capsys: Any) -> None:
    own_settings(home, "\n")
    assert states(capsys, "claude-code")["claude-code"][0] == "not installed"
    assert main(["agents", "install", "claude-code"]) == 2, "a person is asked"
    assert main(["agents", "install", "claude-code", "--yes"]) == 0
    assert states(capsys, "claude-code")["claude-code"][0] == "installed"


def test_status_says_that_the_hooks_program_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    main(["agents", "install", "qwen", "--yes"])
    monkeypatch.setattr(verbs, "program", missing)
    assert states(capsys)["qwen"] == ("incomplete", "The program is missing. Run `make build`.")
    assert states(capsys)["gemini"] == ("not here", "")


def test_all_are_those_that_are_here(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert main(["agents", "install", "--yes"]) == 1
    assert "None of these was found" in capsys.readouterr().err
    (home / ".codex").mkdir()
    program = tmp_path / "nothing/qwen"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATHEXT", "")
    assert main(["agents", "install", "--yes", "--json"]) == 0
    assert [row["agent"] for row in json.loads(capsys.readouterr().out)["agents"]] == ["codex", "qwen"]
