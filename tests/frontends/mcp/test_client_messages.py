"""Whatever a client writes: a request gets one answer, what is no message the error of JSON-RPC 2.0, and the next is served."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter
from tests.frontends.mcp.conftest import PACKAGE
from tests.frontends.mcp.test_early_responder import hello, request
from tests.shop import environment

from carrel.frontends.mcp import client_messages
from carrel.frontends.mcp.client_messages import LONGEST, NoMessage, as_line, messages_of, unreadable

texts = st.text(st.sampled_from('a"\\\u2028\ud800\udfff\x00\x1b') | st.characters(), max_size=8)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def is_whole(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


ids = st.integers() | texts.filter(is_whole)
requests = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "method": texts}, optional={"params": values})
odd = st.fixed_dictionaries(
    {}, optional={"jsonrpc": st.just("2.0") | values, "id": ids | values, "method": texts | values, "params": values}
)
answers = st.fixed_dictionaries({"id": ids | values}, optional={"result": values, "error": values}).filter(
    lambda sent: len(sent) > 1
)


def taken(line: bytes) -> list[dict[str, Any] | NoMessage]:
    return list(messages_of(io.BytesIO(line)))


@pytest.mark.parametrize("digits", [4_300, 4_301, 100_000])
def test_a_request_keeps_its_id_whatever_number_it_holds(digits: int) -> None:
    number = b"-" + b"7" * digits
    line = b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "x", "arguments": {"limit": %b}}}'
    [message] = taken(line % number)
    assert isinstance(message, dict)
    assert message["id"] == "a"
    assert answered(message) == "a"
    [message] = taken(b'{"jsonrpc": "2.0", "id": %b, "method": "ping"}' % number)
    assert isinstance(message, NoMessage) == (digits > 4_300)


NO_ANSWER = ["none"]
"""No id is a list."""


def answered(message: dict[str, Any] | NoMessage) -> Any:
    """Give the id that an answer has: our own, or that of the SDK to what it reads as a request."""
    if isinstance(message, NoMessage):
        return message.answer["id"]
    try:
        read = jsonrpc_message_adapter.validate_json(as_line(message))
    except ValueError:
        error = unreadable(message)
        return error.answer["id"] if error else NO_ANSWER
    return read.id if isinstance(read, JSONRPCRequest) else NO_ANSWER


@given(requests | odd, st.sampled_from([b"\n", b"\r\n", b"", b"  \n"]), st.sampled_from([b"", b"\xef\xbb\xbf", b"\t"]))
def test_each_request_is_answered_and_everything_else_that_is_no_notification(sent: Any, end: bytes, start: bytes) -> None:
    (message,) = taken(start + json.dumps(sent).encode() + end)
    identity = sent.get("id")
    whole = type(identity) is int or (isinstance(identity, str) and is_whole(identity))
    notifies = sent.get("jsonrpc") == "2.0" and isinstance(sent.get("method"), str) and "id" not in sent
    assert answered(message) == (NO_ANSWER if notifies else identity if whole else None)


@given(answers)
def test_an_answer_is_never_answered(sent: Any) -> None:
    (message,) = taken(json.dumps(sent).encode())
    assert answered(message) == NO_ANSWER


@given(st.lists(requests | values, min_size=1, max_size=4))
def test_a_batch_is_answered_as_its_messages_are(sent: list[Any]) -> None:
    batch, alone = taken(json.dumps(sent).encode()), [taken(json.dumps([one]).encode())[0] for one in sent]
    assert json.dumps([answered(message) for message in batch]) == json.dumps([answered(message) for message in alone])


@given(st.binary(max_size=30).filter(lambda line: b"\n" not in line and line.strip()))
def test_what_is_no_json_gets_the_error_for_it(line: bytes) -> None:
    try:
        json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError:
        (message,) = taken(line + b"\n")
        assert isinstance(message, NoMessage)
        assert message.answer["id"] is None
        assert message.answer["error"]["code"] == -32700


def test_a_line_without_an_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONGEST >= 50 << 20
    monkeypatch.setattr(client_messages, "LONGEST", 100)
    ping = json.dumps(request(1, "ping")).encode()
    for length in (99, 100, 101, 199, 200, 201, 1_000):
        long, *rest = taken(b"x" * length + b"\n" + ping)
        assert isinstance(long, NoMessage)
        assert long.code == (-32700 if length < 100 else -32600)
        assert rest == [json.loads(ping)]


DEEP = b'{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"a":%s%s}}' % (b"[" * 400, b"]" * 400)


@settings(max_examples=4, deadline=None)
@given(drawn=st.lists(requests | odd | st.lists(requests, min_size=1, max_size=3) | values, min_size=20, max_size=40))
@pytest.mark.parametrize("late", [False, True])
def test_a_server_outlives_all_of_it(tmp_path_factory: pytest.TempPathFactory, late: bool, drawn: list[Any]) -> None:
    """Both by what answers at first and by the SDK: the real process gives each request that has an id one answer."""
    folder = tmp_path_factory.mktemp("odd")
    sent = [DEEP, *(json.dumps(one).encode() for one in drawn), b"{", json.dumps(request("last", "ping")).encode()]
    first = [hello("2025-06-18", "hello"), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    first += [request("sdk", "resources/templates/list")] if late else []
    lines = [json.dumps(message).encode() for message in first] + sent
    expected = [answered(message) for line in lines for message in taken(line)]
    wanted = Counter(json.dumps(identity) for identity in expected if identity != NO_ANSWER)
    assert Counter(answers_of_server(folder, lines, wanted.total())) == wanted


def answers_of_server(folder: Path, lines: list[bytes], count: int) -> list[str]:
    """Give the ids of so many answers, of fewer where the server gives no more within a minute."""
    env = {**environment(folder / "home"), **PACKAGE}
    command = [sys.executable, "-m", "carrel", "mcp", "--root", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as server:
        assert server.stdin
        assert server.stdout
        late = threading.Timer(60, server.kill)
        late.start()
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        came: list[str] = []
        while len(came) < count and (line := server.stdout.readline()):
            answer = json.loads(line)
            came += [] if "method" in answer else [json.dumps(answer["id"])]
        server.stdin.close()
        came += [json.dumps(answer["id"]) for answer in map(json.loads, server.stdout) if "method" not in answer]
        assert server.wait(60) == 0
        late.cancel()
    return came
