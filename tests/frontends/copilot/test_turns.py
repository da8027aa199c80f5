"""A turn keeps every byte but those of the context, and one that Carrel can't read or answer passes as it came."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.copilot.conftest import Start, initialize

from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.copilot import proxy as copilot_proxy
from carrel.frontends.copilot import turns
from carrel.frontends.copilot.frames import Frame
from carrel.frontends.copilot.interceptor import Answer, Interceptor, ProxyOptions
from carrel.frontends.copilot.sidecar import Sidecar
from carrel.frontends.copilot.turns import turn_of

ASKED = b'"how does login work?"'


def turn(more: bytes = b"", message: bytes = ASKED) -> bytes:
    return b'{ "jsonrpc":"2.0", "method": "conversation/turn",\r\n"id": 7,"params" :{' + more + b'"message": ' + message + b"} }"


def test_the_model_is_read_in_its_present_form_and_in_the_older_one() -> None:
    for more, expected in (
        (b'"modelInfo":{"id":"gpt-4.1"},', "gpt-4.1"),
        (b'"model":"gpt-4o",', "gpt-4o"),
        (b'"modelInfo":{"id":3},', None),
    ):
        read = turn_of(turn(more))
        assert read is not None
        assert read.model == expected


ODD = [
    b'"x": [1e999, NaN, 1.0, -0, 1e2, 123456789012345678901234567890, {"a": 1, "a": 2}],',
    b'"x": "\\ud83d\\/\xc3\xa9",',
    b'"x": ' + b"[" * 900 + b"]" * 900 + b",",
]


@pytest.mark.parametrize("more", ODD)
def test_only_the_text_changes(more: bytes) -> None:
    raw = turn(more)
    found = turn_of(raw)
    assert found
    assert (found.text, found.whole_text) == ("how does login work?", "how does login work?")
    assert found.with_text("\ud83d") == raw.replace(ASKED, b'"\\ud83d"')
    new = found.with_references([{"uri": "a"}])
    assert new == raw.replace(b'"params" :{', b'"params" :{"references":[{"uri":"a"}],')


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"[ ]", b'[{"uri":"a"}]'),
        (b"null", b'[{"uri":"a"}]'),
        (b'[ {"n": 1.0} ]', b'[ {"n": 1.0} ,{"uri":"a"}]'),
    ],
)
def test_references_are_added_to_those_that_are_there(given: bytes, expected: bytes) -> None:
    raw = turn(b'"references" : ' + given + b",")
    found = turn_of(raw)
    assert found
    assert found.with_references([{"uri": "a"}]) == raw.replace(given, expected, 1)


@pytest.mark.parametrize(
    "raw",
    [
        turn(b'"message": "no",'),
        turn(b'"x": ' + b"[" * 100_000 + b"]" * 100_000 + b","),
        turn(b'"x": ' + b"9" * 5_000 + b","),
        turn(b'"x": "\xff",'),
        b"\xef\xbb\xbf" + turn(),
        turn().decode().encode("utf-16"),
        turn()[:-1],
    ],
)
def test_what_cannot_be_changed_faithfully_is_no_turn(raw: bytes) -> None:
    assert turn_of(raw) is None


def test_the_header_keeps_its_other_lines() -> None:
    header = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length : 2\r\nX: content-length: 3\r\n\r\n"
    found = Frame(header + b"{}", len(header))
    assert found.with_body(b"[1,2]") == header.replace(b": 2", b": 5") + b"[1,2]"


class Broken:
    """An assistant in which everything fails."""

    def __getattr__(self, name: str) -> Any:
        raise RecursionError(f"the words of a {name}")


def test_faults_let_messages_pass(caplog: pytest.LogCaptureFixture) -> None:
    to_proxy, from_proxy = os.pipe(), os.pipe()
    bodies = [turn(), b'{"method": "initialize", "id": 1}', b'{"method": "initialized"}', b'{"method": "textDocument/didOpen"}']
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    os.write(to_proxy[1], sent)
    os.close(to_proxy[1])
    stood_in: Any = Broken()
    passing = copilot_proxy.Proxy(stood_in, to_proxy[0], -1)
    passing._server_in = from_proxy[1]
    passing._upwards()
    assert os.read(from_proxy[0], 10_000) == sent
    os.close(to_proxy[0])
    os.close(from_proxy[0])
    assert [record.getMessage().split(" at ")[0] for record in caplog.records] == [
        "A message passed untouched: RecursionError"
    ] * 4
    assert "login" not in caplog.text
    assert "the words" not in caplog.text


def test_an_agent_is_answered_whatever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: Any) -> Any:
        return {"unexpected": True}

    sidecar = Sidecar({})
    monkeypatch.setattr(sidecar, "ask", ask)
    request = {
        "id": 1,
        "method": "conversation/invokeClientTool",
        "params": {"name": turns.SEARCH, "input": {"query": "login"}},
    }
    answer = json.loads(Interceptor(ProxyOptions(), ContextSwitch(), sidecar).tool_answer(request))
    assert answer["id"] == 1
    assert answer["result"][0]["status"] == "error"


def test_a_turn_whose_time_is_up_goes_without_context_and_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    interceptor = Interceptor(ProxyOptions(deadline_ms=0), ContextSwitch(), Sidecar({}, ("no-such-program",)))
    assert interceptor.rewrite(Frame(turn(), 0)) is None
    assert [record.getMessage() for record in caplog.records] == ["A turn went without context: no time is left"]


def test_citations_start_no_server(tmp_path: Path) -> None:
    started = tmp_path / "started"
    sidecar = Sidecar({}, (sys.executable, "-c", f"open({str(started)!r}, 'w').close()"))
    interceptor = Interceptor(ProxyOptions(), ContextSwitch(), sidecar)
    assert interceptor._checked(Answer("t", "pack", ["See auth.py:1-3."])) is None
    assert sidecar._process is None
    assert not started.exists()


def test_over_the_real_proxy_only_the_text_changes(start: Start, project: Path, record: Path) -> None:
    client = start("--no-tool", "--deadline-ms", "20000")
    initialize(client, project)
    client.request("first", "conversation/turn", {"message": "how does login work?"})  # waits until Carrel's server has started
    sent = turn(ODD[0] + ODD[1])
    before = record.stat().st_size
    client.into.write(b"Content-Length: %d\r\n\r\n%s" % (len(sent), sent))
    assert client.read()["id"] == 7
    got = record.read_bytes()[before:].partition(b"\r\n\r\n")[2]
    before_it, after_it = sent.split(ASKED)
    assert got.startswith(before_it + b'"<rag_context>')
    assert got.endswith(b"\\n\\n" + ASKED[1:] + after_it)
