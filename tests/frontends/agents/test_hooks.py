"""The real hook program and its server: context in each agent's form, and `{}` with exit code 0 whatever happens."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.agents.conftest import ASKED, Hooks
from tests.waiting import wait_until

from carrel.frontends.agents import meeting_place
from carrel.frontends.agents.meeting_place import AGENTS, program, runtime_folder
from carrel.frontends.agents.serve import project_of
from carrel.frontends.common.agent_hooks import AGENT_HOOKS
from carrel.model.errors import CarrelError
from carrel.model.native import __version__
from carrel.service.prompt_context import INDEXING

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the socket is one of POSIX")


def test_each_agent_gets_context_in_its_form(hooks: Hooks, project: Path) -> None:
    assert set(AGENTS) == set(AGENT_HOOKS)
    first = hooks.ask(project, session_id="s")
    assert set(first) <= {"systemMessage"}
    text = hooks.added(project, session_id="s")
    assert '<code_context file="src/auth.py"' in text
    assert hooks.ask(project, session_id="s") == {}  # it has all of that
    for agent in AGENTS:
        answer = hooks.ask(project / "src", agent=agent, session_id="t")
        hook = AGENT_HOOKS[agent]
        assert bool(answer.pop("systemMessage", "")) is hook.shows_line
        inner: Any = answer.get("hookSpecificOutput", answer)
        assert "def authenticate_user" in inner["additionalContext"]
        assert inner.get("hookEventName") == hook.event
        assert ("<" in inner["additionalContext"]) is (agent not in {"gemini", "qwen"})
    command = [sys.executable, "-m", "carrel", "agents", "last", "--json"]

    def recorded() -> bool:  # the log is written a moment later
        last = subprocess.run(command, env=hooks.env, capture_output=True, check=True)
        return {(one["agent"], one["session"]) for one in json.loads(last.stdout)} >= {("claude-code", "s"), ("qwen", "t")}

    wait_until(recorded)


def test_what_only_steers_and_what_is_no_project_gets_nothing(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    prompts: tuple[Any, ...] = ("/compact", "go on", "--help", "-", "", None, 7, ["x"], "\ud800")
    for prompt in prompts:
        assert hooks.ask(project, prompt) == {}, prompt
    for folder in ("/", "/etc", hooks.env["HOME"], project / "missing", "src", "", f"{project}/../shop", f"{project}\0"):
        assert hooks.ask(folder) == {}, folder
    assert hooks.run("claude-code", json.dumps({"prompt": ASKED}).encode()) == {}
    assert len(hooks.servers()) == 1


def test_input_that_is_no_hooks_json_gets_nothing(hooks: Hooks, project: Path) -> None:
    hooks.added(project)  # a server that only starts says so, whatever it is sent
    for raw in (b"", b"x", b"null", b"[1]", b"\xff\xfe", b"{" * 100_000, b" " * 5_000_000):
        assert hooks.run("codex", raw) == {}, raw[:10]


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["--help"], ["claude-code\n"], [b"\xff"]])
def test_an_unknown_agent_gets_nothing_and_starts_nothing(hooks: Hooks, arguments: list[Any]) -> None:
    done = subprocess.run([program(), *arguments], input=b"{}", env=hooks.env, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"{}\n", b"")
    assert not hooks.runtime.exists()


def test_a_prompt_of_a_megabyte_is_answered(hooks: Hooks, project: Path) -> None:
    assert "authenticate_user" in hooks.added(project, f"{ASKED}\n{'x ' * 500_000}")


def test_a_prompt_that_begins_like_an_option_is_one(hooks: Hooks, project: Path) -> None:
    assert "authenticate_user" in hooks.added(project, f"--version -x {ASKED}")


def test_an_agent_that_never_ends_its_input_is_not_waited_for(hooks: Hooks) -> None:
    with subprocess.Popen([program(), "codex"], env=hooks.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b'{"prompt": "')
        running.stdin.flush()
        assert (running.stdout.read(), running.wait(60)) == (b"{}\n", 0)
    assert not hooks.runtime.exists()


def test_a_killed_server_is_started_again(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    (server,) = hooks.servers()
    server.kill()
    server.wait(30)
    assert hooks.socket.exists()
    assert "authenticate_user" in hooks.added(project)


def test_of_many_first_prompts_one_starts_a_server_without_the_agents_secrets(hooks: Hooks, project: Path) -> None:
    hooks.env |= {"CLAUDE_CODE_MESSAGING_TOKEN": "secret", "SOME_KEY": "secret"}
    raw = json.dumps({"cwd": str(project), "prompt": ASKED}).encode()
    clients = [
        subprocess.Popen([program(), "codex"], env=hooks.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)
    ]
    for running in clients:
        running.communicate(raw, timeout=60)
        assert running.returncode == 0
    hooks.added(project)
    (server,) = hooks.servers()
    assert "secret" not in server.environ().values()
    assert (hooks.runtime.stat().st_mode & 0o777, hooks.socket.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_server_of_another_version_makes_room(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    (old,) = hooks.servers()
    assert hooks.say(b"carrel-hook/1 9.9.9 codex 2\n{}") == b"other\n"
    old.wait(30)
    assert not hooks.socket.exists()
    hooks.added(project)
    assert [server.pid for server in hooks.servers()] != [old.pid]


def test_a_client_replaces_a_server_of_another_version(hooks: Hooks, project: Path) -> None:
    hooks.runtime.mkdir(mode=0o700)
    old = socket.socket(socket.AF_UNIX)
    old.bind(str(hooks.socket))
    old.listen()

    def leave() -> None:
        client, _ = old.accept()
        client.recv(1000)
        hooks.socket.unlink()
        client.sendall(b"other\n")
        client.close()
        old.close()

    leaving = threading.Thread(target=leave)
    leaving.start()
    assert hooks.ask(project) != {}
    assert "authenticate_user" in hooks.added(project)
    leaving.join()


@pytest.mark.parametrize("said", [b"", b"ok 5\n{}", b"ok 99999999999\n", b"ok x\n", b"x" * 100, b"ok 2\nno"])
def test_a_server_that_answers_wrongly_costs_the_context_alone(hooks: Hooks, project: Path, said: bytes) -> None:
    hooks.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as wrong:
        wrong.bind(str(hooks.socket))
        wrong.listen()

        def answer() -> None:
            client, _ = wrong.accept()
            client.recv(10_000)
            client.sendall(said)
            client.close()

        threading.Thread(target=answer).start()
        assert hooks.ask(project) == {}


def test_a_server_that_says_nothing_is_not_waited_for_long(hooks: Hooks, project: Path) -> None:
    hooks.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(hooks.socket))
        silent.listen()
        assert hooks.ask(project) == {}  # the program has a limit of its own


def test_hooks_that_are_killed_disturb_nobody(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    waiting = subprocess.Popen([program(), "codex"], env=hooks.env, stdin=subprocess.PIPE)
    waiting.kill()
    waiting.communicate()
    for part in (b"", b"carrel-hook/1 0.1.0 codex 100\n{", b"\n", b"x" * 100_000, b"carrel-hook/1 0.1.0 codex -5\n"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(hooks.socket))
            client.sendall(part)
    assert "authenticate_user" in hooks.added(project, session_id="new")
    assert len(hooks.servers()) == 1


def test_what_a_killed_hook_did_not_get_is_sent_with_the_next_prompt(hooks: Hooks, project: Path) -> None:
    hooks.added(project)
    raw = json.dumps({"cwd": str(project), "prompt": ASKED, "session_id": "killed"}).encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(hooks.socket))
        client.sendall(b"carrel-hook/1 %s codex %d\n%s" % (__version__.encode(), len(raw), raw))
    command = [sys.executable, "-m", "carrel", "audit", "--json"]
    wait_until(lambda: b"codex killed" in subprocess.run(command, env=hooks.env, capture_output=True, check=True).stdout)
    answer = hooks.ask(project, session_id="killed", agent="codex")
    assert "authenticate_user" in answer["hookSpecificOutput"]["additionalContext"]
    assert hooks.ask(project, session_id="killed", agent="codex") == {}


@pytest.mark.parametrize("state", ["a file", "for others too", "a link"])
def test_a_runtime_folder_that_is_not_private_is_not_used(hooks: Hooks, project: Path, state: str) -> None:
    match state:
        case "a file":
            hooks.runtime.write_text("")
        case "for others too":
            hooks.runtime.mkdir()
            hooks.runtime.chmod(0o755)
        case _:
            (hooks.runtime.parent / "elsewhere").mkdir(mode=0o700)
            hooks.runtime.symlink_to(hooks.runtime.parent / "elsewhere")
    with socket.socket(socket.AF_UNIX) as somebodys:
        if state != "a file":
            somebodys.bind(str(hooks.socket))
            somebodys.listen()
            somebodys.setblocking(False)
        assert hooks.ask(project) == {}
        with pytest.raises(OSError):  # noqa: PT011 - nobody connected, or nobody could
            somebodys.accept()
    assert not hooks.servers()


def test_a_home_that_can_not_be_written_costs_no_context(hooks: Hooks, project: Path) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        hooks.env[name] = "/proc/1/nothing"
    assert "authenticate_user" in hooks.added(project)
    hooks.end()
    hooks.env["XDG_RUNTIME_DIR"] = "/proc/1"
    assert hooks.ask(project) == {}


def test_a_server_ends_when_nobody_comes_or_finds_it(hooks: Hooks) -> None:
    serve = "from carrel.frontends.agents import serve as s; s.LOOK_SECONDS = 0.05; s.serve({})"
    idle = subprocess.Popen([sys.executable, "-c", serve.format(0.2)], env=hooks.env)
    assert idle.wait(60) == 0
    assert not hooks.socket.exists()
    lost = subprocess.Popen([sys.executable, "-c", serve.format(600)], env=hooks.env)
    wait_until(hooks.socket.exists)
    hooks.socket.unlink()
    assert lost.wait(60) == 0


def test_a_server_that_does_not_come_up_is_not_tried_at_each_prompt(hooks: Hooks, project: Path) -> None:
    hooks.runtime.mkdir(mode=0o700)
    mark = hooks.runtime / "agents.starting"
    mark.touch()
    assert "starting" in hooks.ask(project)["systemMessage"]  # it may still come up
    os.utime(mark, (time.time() - 60, time.time() - 60))
    assert hooks.ask(project) == {}
    os.utime(mark, (time.time() - 600, time.time() - 600))
    assert "authenticate_user" in hooks.added(project)
    assert not mark.exists()


def test_a_folder_belongs_to_its_repository_unless_that_is_no_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project_of(str(project / "src")) == project
    assert project_of(str(project.parent)) == project.parent
    monkeypatch.setenv("HOME", str(project))  # of which a person keeps files in git
    assert project_of(str(project / "src")) == project / "src"
    long = f"{project}/{'x' * random.SystemRandom().randrange(256, 100_000)}"
    for folder in (str(project), "/", "/etc", "", "src", f"{project}/src/..", f"{project}\0", long):
        assert project_of(folder) is None, folder


def test_a_path_that_shells_would_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting_place, "_PROGRAM", Path("/home/$(touch x)/carrel-hook"))
    with pytest.raises(CarrelError, match="Install Carrel into a folder"):
        meeting_place.program()


def test_both_sides_look_for_the_same_folder(hooks: Hooks, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    hooks.env["XDG_RUNTIME_DIR"] = str(project / "no such folder")  # nor is another user's taken
    for missing in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", None):
        with monkeypatch.context() as patched:
            for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"):
                patched.delenv(name, raising=False)
                if name in hooks.env:
                    patched.setenv(name, hooks.env[name])
            folder = runtime_folder()
        if len(os.fsencode(folder)) > 90:
            pytest.skip("the temporary folder's path is too long for a socket")
        hooks.added(project)
        assert (folder / "agents.sock").exists()
        hooks.end()
        if missing:
            del hooks.env[missing]
    with monkeypatch.context() as patched:
        for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"):
            patched.delenv(name, raising=False)
        with pytest.raises(CarrelError, match="Set HOME"):
            runtime_folder()


def test_the_first_prompt_says_that_it_indexes(hooks: Hooks, project: Path) -> None:
    told = hooks.ask(project)["systemMessage"]
    assert told in {INDEXING, "Carrel: starting, context from the next prompt on"}
