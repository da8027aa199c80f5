"""Messages that are told apart by line ends are one line for every reader, whatever texts they hold."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.extensions.tools.servers.mcp_tools import McpServerSpec, connected
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.mcp.early_responder import EarlyResponder
from carrel.frontends.mcp.http import SingleLineEvents
from carrel.model.fakes import fake_outbound
from carrel.model.lines import single_line

ENDS = "\x85\u2028\u2029"
TEXT = f"one{ENDS}two"
MESSAGE = json.dumps({"text": TEXT}, ensure_ascii=False).encode()


def check(sent: bytes) -> None:
    assert len(sent.decode().splitlines()) == 1
    assert json.loads(sent)["text"] == TEXT


@given(st.text(st.sampled_from([*ENDS, *'\\"u\f\v\x1c\x1e\r\n', "é", "😋"]) | st.characters(exclude_categories=["Cs"])))
def test_a_value_stays_the_same_on_one_line(text: str) -> None:
    line = single_line(json.dumps({text: [text]}, ensure_ascii=False).encode())
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {text: [text]}


def test_the_command_line_prints_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Output(json=True).value({"text": TEXT})
    check(capfdbinary.readouterr().out)


async def test_mcp_over_stdio_writes_one_line() -> None:
    (nothing, to), (answers, back) = os.pipe(), os.pipe()
    with os.fdopen(back, "wb") as outgoing, os.fdopen(answers, "rb") as seen:
        try:
            await EarlyResponder(os.fdopen(nothing, "rb"), outgoing, []).write(MESSAGE.decode() + "\n")
        finally:
            os.close(to)
        check(seen.readline())


@pytest.mark.parametrize(("kind", "one"), [(b"text/event-stream; charset=utf-8", True), (b"application/json", False)])
def test_an_event_of_mcp_over_http_has_one_line(kind: bytes, one: bool) -> None:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": MESSAGE})

    async def receive() -> Any: ...

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(SingleLineEvents(app)({"type": "http"}, receive, send))
    assert json.loads(sent[1]["body"])["text"] == TEXT
    assert (len(sent[1]["body"].decode().splitlines()) == 1) is one


async def test_a_server_of_tools_is_sent_one_line(tmp_path: Path) -> None:
    """A real server of the SDK behind a program that keeps what comes in."""
    told, seen = tmp_path / "told", tmp_path / "seen"
    told.write_text("Greet somebody.")
    server = Path(__file__).parents[1] / "mcp/tool_server.py"
    keeps = (
        "import subprocess, sys\n"
        f"server = subprocess.Popen([sys.executable, {str(server)!r}, {str(told)!r}], stdin=subprocess.PIPE)\n"
        f"with open({str(seen)!r}, 'wb') as seen:\n"
        "    for line in sys.stdin.buffer:\n"
        "        seen.write(line); seen.flush(); server.stdin.write(line); server.stdin.flush()\n"
        "server.stdin.close(); server.wait()\n"
    )
    async with connected(McpServerSpec("tests", sys.executable, ("-c", keeps)), fake_outbound()) as connection:
        assert TEXT in (await connection.call("greet", {"name": TEXT})).text
    calls = [line for line in seen.read_bytes().split(b"\n") if b"two" in line]
    assert len(calls) == 1
    assert len(calls[0].decode().splitlines()) == 1
