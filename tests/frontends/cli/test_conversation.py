"""`carrel ask | chat | review`, with a chat model that plays a script."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.conftest import Run, one_json
from tests.frontends.cli.terminal import posix_only

from carrel.composition.composition import Composition

PLAYED = """
import asyncio, json, os, sys
from pathlib import Path
from carrel.model.conversation import Completion, ToolCall
from carrel.model.fakes import FakeChatModel
from carrel.model.ports import ChatSpec, Delta
from carrel.composition.composition import Composition

class Played(FakeChatModel):
    async def stream(self, messages, tools=(), options=None):
        with open(os.environ["ASKED"], "a", encoding="utf-8") as file:
            file.write(json.dumps([[message.role, message.text] for message in messages]) + "\\n")
        if messages[-1].text.endswith("hang"):
            yield Delta("I begin")
            await asyncio.Event().wait()
        async for delta in super().stream(messages, tools, options):
            yield delta

script = [
    Completion(line) if isinstance(line, str) else Completion("", tuple(ToolCall(str(n), *call) for n, call in enumerate(line)))
    for line in json.loads(os.environ["SCRIPT"])
]
model = Played(*script, spec=ChatSpec("played", window=16_000))
Composition.chat_model = lambda self, settings, name=None: model
"""
ALONE = f"""{PLAYED}
from carrel.frontends.cli import main
from carrel.frontends.common.interrupts import leave_at_once
leave_at_once()
sys.exit(main())
"""
ANSWER = "`verify_password` compares the hash (src/auth.py:6-9)."
REVIEW = {
    "summary": "Compare names in one form.",
    "difficulty_score": 2,
    "recommended_level": "Junior",
    "concepts_required": ["Unicode"],
    "mentoring_advice": "Begin at src/auth.py:6-9.",
}

Play = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def asked(project: Path) -> Path:
    return project.parent / "asked.jsonl"


@pytest.fixture
def environment(project: Path, asked: Path) -> dict[str, str]:
    return {**os.environ, "ASKED": str(asked), "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def play(run: Run, asked: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    def played(*arguments: str, script: list[Any], stdin: str = "") -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("ASKED", str(asked))
        monkeypatch.setenv("SCRIPT", json.dumps(script))
        monkeypatch.setattr(Composition, "chat_model", Composition.chat_model)  # which the script replaces
        exec(PLAYED, {})  # noqa: S102 - as the test of Ctrl-C runs it, in a process of its own
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return subprocess.CompletedProcess(arguments, *run(*arguments))

    return played


def test_an_answer_is_streamed_and_its_citations_are_shown(play: Play) -> None:
    done = play("ask", "where are passwords checked?", script=[ANSWER])
    assert (done.returncode, done.stdout) == (0, ANSWER + "\n")
    assert "  src/auth.py:6-9  given" in done.stderr.splitlines()
    assert "1 request, 0 tool calls" in done.stderr


def test_steps_are_shown_where_they_are_asked_for(play: Play) -> None:
    calls = [["read_lines", {"path": "src/auth.py", "start_line": 6}], ["read_lines", {"path": ".env"}]]
    script = [[*calls, ["search_knowledge_base", {"query": "refunds"}]], ANSWER]
    done = play("ask", "where are passwords checked?", "--steps", script=script)
    assert done.stdout == ANSWER + "\n"
    lines = done.stderr.splitlines()
    assert "> read_lines(path='src/auth.py', start_line=6)" in lines
    assert "  1 place" in lines
    assert any(line.startswith("> model asked, step 2, ") for line in lines)
    assert "  No documents found" in lines, "what a tool said is shown"
    assert any(line.startswith("  failed: ") and line.endswith("be read: secret.") for line in lines)
    assert "=secret" not in done.stderr


@posix_only
def test_who_waits_at_a_terminal_sees_that_the_model_was_asked(project: Path, environment: dict[str, str]) -> None:
    ours, its = os.openpty()
    command = [sys.executable, "-c", ALONE, "ask", "where are passwords checked?"]
    env = {**environment, "SCRIPT": json.dumps([ANSWER])}
    done = subprocess.run(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=its, check=False, timeout=60)
    os.close(its)
    shown = b""
    with contextlib.suppress(OSError):  # Linux: the other end is closed
        while data := os.read(ours, 65_536):
            shown += data
    os.close(ours)
    assert done.stdout == f"{ANSWER}\n".encode()
    assert b"> model asked, step 1, " in shown


def test_what_does_not_hold_is_said_and_marked(play: Play) -> None:
    done = play("ask", "where are passwords checked?", script=["It is src/gone.py:3."])
    assert done.returncode == 0
    assert done.stdout.endswith("It is src/gone.py:3 [unverified].\n")
    assert "> asked again: The answer cites what it can't rely on: src/gone.py:3-3 (the file was not given)" in done.stderr
    assert "  src/gone.py:3-3  NOT VERIFIED: the file was not given" in done.stderr


def test_a_cited_document_is_named_with_its_version_and_day(play: Play, project: Path) -> None:
    (project / "phoenix.md").write_text(
        "---\nversion: 2.1\nupdated_at: 2026-05-04\n---\n\n# Restart Phoenix\n\nTake it off the load balancer, then restart it.\n"
    )
    done = play("ask", "how is Phoenix restarted?", script=["Off the load balancer first (phoenix.md:6-8)."])
    assert "phoenix.md:6-8  given, version 2.1, updated 2026-05-04" in done.stderr
    done = play("ask", "how is Phoenix restarted?", "--json", script=["Off the load balancer first (phoenix.md:6-8)."])
    [cited] = one_json(done.stdout)["citations"]
    assert (cited["ok"], cited["version"], cited["updatedAt"]) == (True, "2.1", "2026-05-04T00:00:00Z")


def test_a_vague_question_is_said_in_the_words_of_the_code_first(play: Play, asked: Path) -> None:
    vague = "who is let through the gate?"
    done = play("ask", vague, script=["verify_password compares the hash", ANSWER])
    assert (done.returncode, done.stdout) == (0, ANSWER + "\n")
    rewriting, answering = [json.loads(line)[-1][1] for line in asked.read_text("utf-8").splitlines()]
    assert rewriting.endswith(f"<question>\n{vague}\n</question>")
    assert "verify_password" in rewriting
    assert "def verify_password" in answering
    assert answering.endswith(f"</rag_context>\n\n{vague}")


REFINED = '{"is_relevant": false, "is_sufficient": false, "action": "refine_query", "refined_query": "verify_password"}'
ENOUGH = '{"is_relevant": true, "is_sufficient": true, "action": "answer", "refined_query": ""}'


def test_the_chat_model_says_whether_what_was_found_is_enough(play: Play, asked: Path) -> None:
    """Spec D8, for a search and for the context of an answer; every step can be seen."""
    done = play("search", "who gets in?", "--assess", script=[REFINED, ENOUGH])
    assert done.stdout.startswith("src/auth.py:")
    assert "not relevant, then search for: verify_password" in done.stderr
    assert "assessed: verify_password: 1 hit, sufficient, then answer" in done.stderr
    more = REFINED.replace("refine_query", "search_more")
    assert "not relevant, then search more\n" in play("search", "who gets in?", "--assess", script=[more]).stderr
    found = one_json(play("search", "who gets in?", "--assess", "--json", script=[REFINED, ENOUGH]).stdout)
    assert [(one["query"], one["action"]) for one in found["attempts"]] == [
        ("who gets in?", "refine_query"),
        ("verify_password", "answer"),
    ]
    done = play("ask", "who gets in?", "--assess", "--steps", script=[REFINED, ENOUGH, ANSWER])
    assert done.stdout == ANSWER + "\n"
    assert "> assessed: verify_password: 1 hit, sufficient, then answer" in done.stderr
    assert "def verify_password" in json.loads(asked.read_text("utf-8").splitlines()[-1])[-1][1]


def test_a_model_that_says_nothing_usable_answers_all_the_same(play: Play) -> None:
    done = play("ask", "who is let through the gate?", script=["I'm sorry, but I can't help with that.", ANSWER])
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, ANSWER)


@pytest.mark.parametrize("answer", ["", "\n\n  "])
def test_a_model_that_gives_no_answer_leaves_the_places(play: Play, answer: str) -> None:
    done = play("ask", "where are passwords checked?", script=[answer, answer])
    assert done.returncode == 1
    assert "  src/auth.py:" in done.stdout
    assert "The model gave no answer. These places of the project fit the question:" in done.stderr


@pytest.mark.parametrize("answer", [None, b"<html>Sign in to this network</html>", b"[1, 2]", b""])
def test_a_model_that_can_not_be_used_is_named_with_what_works_without_one(run: Run, answer: bytes | None) -> None:
    """None: nothing listens there."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/html" if answer and answer.startswith(b"<") else "application/json")
            self.send_header("content-length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    try:
        if answer is None:
            server.server_close()
        else:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        run("models", "set", "chat", "openai", "x", "--base-url", f"http://127.0.0.1:{server.server_port}/v1", "--key", "none")
        code, out, err = run("ask", "where are passwords checked?")
        assert (code, out) == (1, "")
        assert re.search(
            r"^carrel: The chat service .*\. `carrel context` and `carrel search` need no model\.$", err, re.MULTILINE
        )
    finally:
        if answer is not None:
            server.shutdown()
            server.server_close()


def test_json_is_one_value(play: Play) -> None:
    done = play("ask", "where are passwords checked?", "--json", script=[ANSWER])
    result = one_json(done.stdout)
    assert (result["text"], done.stderr) == (ANSWER, "")
    assert result["citations"][0]["ok"] is True


def test_without_a_model_the_remedy_is_said_and_nothing_is_indexed(run: Any, project: Path) -> None:
    for command in (("ask", "x"), ("review", "x"), ("chat",)):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert "No chat model is set" in err
        assert "`carrel models set chat " in err
        assert "`carrel context` and `carrel search` need no model." in err
    assert not list((project.parent / "cache").rglob("*.sqlite"))


def test_a_conversation_keeps_what_was_said(play: Play, asked: Path) -> None:
    done = play("chat", script=[ANSWER], stdin="where are passwords checked?\n\nand in which file?\n/quit\nnot asked\n")
    assert (done.returncode, done.stdout) == (0, (ANSWER + "\n") * 2)
    first, rewriting, second = [json.loads(line) for line in asked.read_text("utf-8").splitlines()]
    assert [role for role, _ in first] == ["system", "user"]
    assert "<map>\nsrc/" in rewriting[1][1], "its own words say little: it is said in the words of the code first"
    assert rewriting[1][1].endswith("<question>\nand in which file?\n</question>")
    assert [role for role, _ in second] == ["system", "user", "assistant", "user"]
    assert (second[1][1], second[2][1]) == ("where are passwords checked?", ANSWER)
    assert second[3][1].endswith("and in which file?")


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT to one process")
def test_ctrl_c_stops_the_answer_and_not_the_program(project: Path, environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ALONE, "chat"],
        cwd=project,
        env={**environment, "SCRIPT": json.dumps([ANSWER])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("please hang\n")
        process.stdin.flush()
        assert process.stdout.read(7) == "I begin"
        process.send_signal(signal.SIGINT)
        process.stdin.write("where are passwords checked?\n")
        process.stdin.flush()
        assert (process.stdout.readline(), process.stdout.readline()) == ("\n", ANSWER + "\n")
        out, err = process.communicate("/quit\n", timeout=30)
        assert (process.returncode, out) == (0, "")
        assert "Stopped." in err.splitlines()


def test_a_review_is_shown(play: Play, project: Path) -> None:
    script = [[["search_code", {"query": "password"}]], json.dumps(REVIEW)]
    done = play("review", "Login fails for umlauts", "--body", "-", script=script, stdin="Since yesterday.")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:3] == ["Compare names in one form.", "Difficulty 2 of 5, for Junior", "Needs: Unicode"]
    assert any(line.startswith("  src/auth.py:") for line in done.stdout.splitlines())
    (project / "issue.md").write_text("Since yesterday.")
    done = play("review", "Login fails", "--body", "issue.md", "--json", script=script)
    assert one_json(done.stdout)["review"]["difficultyScore"] == 2


def test_a_review_that_can_not_be_used_fails_with_what_was_said(play: Play) -> None:
    done = play("review", "Login fails", script=["I can't say."])
    assert (done.returncode, done.stdout) == (1, "I can't say.\n")
    assert "there is no JSON object in it" in done.stderr


def test_both_answers_of_a_comparison_stand_side_by_side(play: Play, project: Path) -> None:
    done = play("compare", "where are passwords checked?", "--answers", "--json", script=[ANSWER])
    answers = one_json(done.stdout)["answers"]
    assert {answers[way]["text"] for way in ("chunks", "wholeFiles")} == {ANSWER}
    assert answers["chunks"]["unverified"] == answers["wholeFiles"]["unverified"] == 0
    assert "src/auth.py" in answers["wholeFiles"]["files"]
    shown = play("compare", "where are passwords checked?", "--answers", script=[ANSWER]).stdout
    assert "from retrieved chunks" in shown
    assert shown.count("1 place cited, 0 unverified") == 2
    assert "answers" not in one_json(play("compare", "password", "--json", script=[ANSWER]).stdout)
    verdict = '{{"is_relevant": true, "is_sufficient": {}, "action": "answer"}}'
    script = [verdict.format("true"), *[verdict.format("false")] * 4, ANSWER]
    judged = one_json(play("compare", "where are passwords checked?", "--answers", "--json", script=script).stdout)
    assert judged["chunks"]["judged"] == "sufficient"
    assert {way["judged"] for way in (judged["wholeFiles"], *judged["byLines"])} == {"relevant"}
    body = "return user.password == password and user.name in allowed_names(password) and user.is_known_here(password)"
    (project / "big.py").write_text("".join(f"def check_password_{n}(password):\n    {body}\n\n" for n in range(330)))
    [reason] = one_json(play("compare", "check_password_7", "--answers", "--json", script=["In big.py."]).stdout)["reasons"]
    assert reason.endswith("of the model's window")
