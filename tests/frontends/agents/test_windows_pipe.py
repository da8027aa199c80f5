"""On Windows: the real hook program starts the server, meets it at its pipe, and leaves the agent nothing to wait for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frontends.agents.conftest import ASKED, Hooks
from tests.waiting import wait_until

from carrel.frontends.agents.meeting_place import program

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="pipes with names are those of Windows")


def test_a_prompt_starts_the_server_and_the_next_gets_context(hooks: Hooks, project: Path) -> None:
    first = hooks.ask(project)  # the server outlives it: had it the program's output open, this would wait for its end
    assert set(first) <= {"systemMessage"}
    assert "def authenticate_user" in hooks.added(project, session_id="s")
    assert (hooks.runtime / "agents.pipe").is_file()
    assert not (hooks.runtime / "agents.starting").exists()


def test_many_prompts_at_once_are_answered_by_one_server(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    raw = [json.dumps({"cwd": str(project), "prompt": ASKED, "session_id": str(number)}).encode() for number in range(6)]
    running = [subprocess.Popen([program(), "codex"], env=hooks.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in raw]
    answers = [one.communicate(text, timeout=60)[0] for one, text in zip(running, raw, strict=True)]
    assert all(b"def authenticate_user" in answer for answer in answers)
    assert not (hooks.runtime / "agents.starting").exists(), "a busy pipe is no reason to start another server"


def test_a_server_of_another_version_makes_room(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    pipe = hooks.runtime / "agents.pipe"
    old = pipe.read_text("utf-8")
    assert hooks.say(b"carrel-hook/1 9.9.9 codex 2\n{}") == b"other\n"
    wait_until(lambda: not pipe.exists())
    assert "def authenticate_user" in hooks.added(project, session_id="new")
    assert pipe.read_text("utf-8") != old


def test_what_is_cut_off_or_no_request_disturbs_nobody(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    for part in (b"", b"carrel-hook/1 0.1.0 codex 100\n{", b"\n", b"x" * 100_000, b"carrel-hook/1 0.1.0 codex -5\n"):
        with hooks.pipe() as pipe:
            pipe.write(part)
    assert "authenticate_user" in hooks.added(project, session_id="new")
