"""Messages that are told apart by line ends are one line for every reader, whatever texts they hold."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.extensions.tools.servers.mcp_tools import connected
from carrel.frontends.cli.terminal import Output
from carrel.frontends.mcp.early_responder import EarlyResponder
from carrel.model.fakes import fake_outbound
from carrel.model.lines import single_line
from carrel.settings.tool_settings import ToolServer

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


async def test_a_server_of_tools_is_sent_one_line(tmp_path: Path) -> None:
    """A real server of the SDK behind a program that keeps what comes in."""
    told, seen = tmp_path / "told", tmp_path / "seen"
    told.write_text("Greet somebody.")
    server = Path(__file__).parent / "mcp/tool_server.py"
    keeps = (
        "import subprocess, sys\n"
        f"server = subprocess.Popen([sys.executable, {str(server)!r}, {str(told)!r}], stdin=subprocess.PIPE)\n"
        f"with open({str(seen)!r}, 'wb') as seen:\n"
        "    for line in sys.stdin.buffer:\n"
        "        seen.write(line); seen.flush(); server.stdin.write(line); server.stdin.flush()\n"
        "server.stdin.close(); server.wait()\n"
    )
    async with connected("tests", ToolServer(command=sys.executable, args=("-c", keeps)), fake_outbound()) as connection:
        assert TEXT in (await connection.call("greet", {"name": TEXT})).text
    calls = [line for line in seen.read_bytes().split(b"\n") if b"two" in line]
    assert len(calls) == 1
    assert len(calls[0].decode().splitlines()) == 1
