"""What agents get of the server before they ask anything: few tokens, and soon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters, stdio_client
from mcp.client import Client
from tests.frontends.mcp.conftest import PACKAGE
from tests.frontends.mcp.test_early_responder import hello, request
from tests.shop import index

from carrel.frontends.cli import main
from carrel.frontends.mcp import manifest, server_info
from carrel.providers.tokenizers import ExactTokenizer

MOST_TOKENS = 800
LATE = {"asyncio", "msgspec", "pydantic", "pygls", "carrel.service", "carrel.settings", "carrel.frontends.mcp.tools"}
MOST_LOADED, MOST_MODULES = 250, 50
"""Modules of a start, with Python's; and Carrel's of them."""


def tokens(value: Any) -> int:
    return ExactTokenizer("o200k_base").count(json.dumps(value, separators=(",", ":")))


def test_the_listed_tools_are_those_of_the_code() -> None:
    written = manifest.FILE.read_text("utf-8")
    assert written == manifest.written(), f"run {sys.executable} -m carrel.frontends.mcp.manifest"


def test_what_every_request_holds_is_short() -> None:
    listed = server_info.Offer().tools()
    assert [tool["name"] for tool in listed] == ["search_code", "get_context"]
    assert tokens(listed) <= MOST_TOKENS
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in listed)
    assert tokens(server_info.INSTRUCTIONS) <= 80
    whole = server_info.Offer(server_info.tool_names()).tools()
    assert len(whole) == 6
    assert [tool["name"] for tool in whole if "_meta" in tool] == ["search_code", "get_context"]


def held_at_the_sdk(folder: Path) -> dict[str, str]:
    """Give the environment of a server that never gets beyond the import of the SDK."""
    (folder / "mcp").mkdir()
    held = "import sys, time\nprint(*sys.modules, file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    (folder / "mcp/__init__.py").write_text(held)
    return {"PYTHONPATH": os.pathsep.join([str(folder), PACKAGE["PYTHONPATH"]])}


def said_by(server: subprocess.Popen[str], *asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Send these, and give an answer for each request."""
    assert server.stdin
    assert server.stdout
    server.stdin.write("".join(json.dumps(message) + "\n" for message in asked))
    server.stdin.flush()
    return [json.loads(server.stdout.readline()) for message in asked if "id" in message]


FIRST = [hello("2025-06-18"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, request(2, "tools/list")]


@pytest.mark.parametrize(
    ("asked", "sdk"),
    [
        ([], False),
        ([request(3, "prompts/list"), request(4, "ping")], False),
        ([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}], False),
        ([request(3, "resources/list")], True),
    ],
    ids=["tools", "prompts", "notification", "resources"],
)
def test_a_session_loads_the_rest_only_when_that_has_something_to_answer(
    tmp_path: Path, asked: list[dict[str, Any]], sdk: bool
) -> None:
    env = {"PYTHONPATH": PACKAGE["PYTHONPATH"]}
    script = "import sys; from carrel.frontends.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", script, "mcp", "--root", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, text=True) as server:
        answers = said_by(server, *FIRST, *asked)
        _, printed = server.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [message["id"] for message in (*FIRST, *asked) if "id" in message]
    loaded = printed.splitlines()[-1].split()
    assert ("mcp" in loaded) == sdk
    if not sdk:
        assert not set(loaded) & LATE
        assert len(loaded) <= MOST_LOADED
        assert sum(name.startswith("carrel.") for name in loaded) <= MOST_MODULES


def test_the_first_answers_do_not_wait_for_the_sdk(tmp_path: Path) -> None:
    """Look at no time: the process is held where it imports the SDK, and answers all the same."""
    env = held_at_the_sdk(tmp_path)
    asked = [*FIRST, request(3, "prompts/list"), request(4, "resources/list")]
    command = [sys.executable, "-m", "carrel", "mcp", "--root", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, text=True) as server:
        answers = {answer["id"]: answer for answer in said_by(server, *asked)}
        assert server.stderr
        assert not set(server.stderr.readline().split()) & LATE
        server.kill()
    assert answers[1]["result"]["instructions"] == server_info.INSTRUCTIONS
    assert len(answers[2]["result"]["tools"]) == 2
    assert answers[3]["error"]["code"] == -32601
    assert answers[4]["result"] == {"resources": []}


async def test_a_client_that_asks_for_versions_first_connects_before_the_sdk_is_loaded(tmp_path: Path) -> None:
    process = StdioServerParameters(
        command=sys.executable, args=["-m", "carrel", "mcp", "--root", str(tmp_path)], env=held_at_the_sdk(tmp_path)
    )
    async with Client(stdio_client(process), read_timeout_seconds=60) as client:
        assert client.protocol_version in server_info.STATELESS_VERSIONS
        assert client.server_info
        assert client.server_info.name == server_info.NAME
        assert client.instructions == server_info.INSTRUCTIONS
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_code", "get_context"]


def test_the_server_loads_nothing_of_the_editors() -> None:
    script = "import sys, carrel.frontends.cli.servers, carrel.frontends.mcp.serve; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=PACKAGE
    ).stdout.split()
    assert not [name for name in loaded if name.startswith(("pygls", "lsprotocol", "carrel.frontends.lsp"))]


def test_a_client_that_listed_resources_early_is_told_of_them(env: dict[str, str], project: Path) -> None:
    index(project, env)
    process = subprocess.Popen(
        [sys.executable, "-m", "carrel", "mcp", "--root", str(project)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    with process:
        assert process.stdin
        assert process.stdout

        def say(*messages: dict[str, Any]) -> None:
            assert process.stdin
            process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
            process.stdin.flush()

        def heard() -> dict[str, Any]:
            assert process.stdout
            message: dict[str, Any] = json.loads(process.stdout.readline())
            return message

        say(hello("2025-06-18"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, request(2, "resources/list"))
        assert heard()["result"]["capabilities"]["resources"]["listChanged"]
        assert heard() == {"jsonrpc": "2.0", "id": 2, "result": {"resources": []}}
        assert heard() == {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}
        say(request(3, "resources/list"))
        answer = heard()
        assert "src/auth.py" in {resource["name"] for resource in answer["result"]["resources"]}
        process.stdin.close()


async def test_a_result_is_text_alone_unless_a_client_wants_more(env: dict[str, str], project: Path) -> None:
    process = StdioServerParameters(
        command=sys.executable, args=["-m", "carrel", "mcp", "--root", str(project)], env=env, cwd=project
    )
    async with Client(stdio_client(process), read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search_code", "get_context"]
        assert not any(tool.output_schema for tool in tools)
        asked = {"query": "check a login", "format": "places"}
        found = await client.call_tool("search_code", asked)
        assert found.structured_content is None
        assert "src/auth.py:1-4" in str(found.content)
        more: Any = {"carrel/structured": True}
        wanted = await client.call_tool("search_code", asked, meta=more)
        assert wanted.content == found.content
        assert (wanted.structured_content or {})["hits"][0]["path"] == "src/auth.py"
        assert not (await client.call_tool("index_status", {})).is_error, "what isn't listed can be called"


@pytest.mark.parametrize("typed", ["search_cod", "all,search_code", ","])
def test_an_unknown_tool_is_named(typed: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["mcp", "--tools", typed, "--root", str(tmp_path)]) == 2
    assert "There are: search_code, search_knowledge_base" in capsys.readouterr().err
