"""The first answers over stdio, which are given before the SDK is there: they are what it would have said."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.frontends.mcp import server_info
from carrel.frontends.mcp.early_responder import EarlyResponder
from carrel.frontends.mcp.folders import Folders
from carrel.frontends.mcp.index_readiness import IndexReadiness
from carrel.frontends.mcp.server import McpServer
from carrel.service.session import Session

OFFER = server_info.Offer()
CLIENT = {"name": "test", "version": "1"}


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def hello(version: str, number: int | str = 1) -> dict[str, Any]:
    return request(number, "initialize", protocolVersion=version, capabilities={}, clientInfo=CLIENT)


def alone(
    number: int | str, method: str, version: Any = "2026-07-28", client: Any = CLIENT, able: Any = None, **params: Any
) -> dict[str, Any]:
    """Make a request of the versions without `initialize`."""
    stated = {"protocolVersion": version, "clientInfo": client, "clientCapabilities": able or {}}
    return request(number, method, _meta={f"io.modelcontextprotocol/{key}": value for key, value in stated.items()}, **params)


class Pipes:
    """A client's two ends, and the responder behind them."""

    def __init__(self) -> None:
        (there, to), (answers, back) = os.pipe(), os.pipe()
        self.to: BinaryIO = os.fdopen(to, "wb")
        self.answers: BinaryIO = os.fdopen(answers, "rb")
        self._back = os.fdopen(back, "wb")
        self.responder = EarlyResponder(os.fdopen(there, "rb"), self._back, OFFER.tools(), ask_roots=True)

    def send(self, *messages: Any) -> None:
        for message in messages:
            self.to.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.to.flush()

    def close(self) -> None:
        for end in (self.to, self.answers, self._back):
            end.close()

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.answers.readline())
        return answer


@pytest.fixture
def client() -> Iterator[Pipes]:
    pipes = Pipes()
    yield pipes
    pipes.close()


class Spoken:
    """What the SDK writes."""

    def __init__(self, wanted: int) -> None:
        self.messages: list[dict[str, Any]] = []
        self.all = asyncio.Event()
        self._wanted = wanted

    async def write(self, line: str) -> None:
        self.messages.append(json.loads(line))
        if len(self.messages) == self._wanted:
            self.all.set()

    async def flush(self) -> None: ...


async def from_the_sdk(root: Path, *messages: dict[str, Any], ask_roots: bool = False) -> list[dict[str, Any]]:
    """What the SDK by itself answers to these."""
    session = Session(Composition(), longest_match)
    session.configure({})
    folders = Folders(session, () if ask_roots else (root,), fallback=root)
    sdk = McpServer(folders, IndexReadiness(), OFFER).sdk
    spoken = Spoken(sum("id" in message for message in messages))

    async def lines() -> AsyncIterator[str]:
        for message in messages:
            yield json.dumps(message) + "\n"
        await spoken.all.wait()

    try:
        async with stdio_server(cast("Any", lines()), cast("Any", spoken)) as (read, write):
            await sdk.run(read, write, sdk.create_initialization_options(NotificationOptions(resources_changed=True)))
    finally:
        await session.close()
    return spoken.messages


def test_it_knows_the_versions_that_the_sdk_knows() -> None:
    assert server_info.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert server_info.STATELESS_VERSIONS == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", server_info.HANDSHAKE_VERSIONS)
async def test_its_answers_are_those_of_the_sdk(project: Path, client: Pipes, version: str) -> None:
    asked = [
        hello(version),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("two", "tools/list"),
        request(3, "ping"),
        request(4, "prompts/list"),
    ]
    client.send(*asked)
    given = await asyncio.to_thread(lambda: [client.answer() for _ in range(4)])
    assert {answer["id"]: answer for answer in given} == {answer["id"]: answer for answer in await from_the_sdk(project, *asked)}


@pytest.mark.parametrize("version", server_info.STATELESS_VERSIONS)
async def test_its_answers_to_requests_that_stand_alone_are_those_of_the_sdk(project: Path, client: Pipes, version: str) -> None:
    asked = [alone(at, method, version) for at, method in enumerate(("server/discover", "tools/list", "prompts/list"))]
    client.send(*asked)
    early = await asyncio.to_thread(lambda: [client.answer() for _ in asked])
    assert {answer["id"]: answer for answer in early} == {answer["id"]: answer for answer in await from_the_sdk(project, *asked)}
    client.send(alone(4, "resources/list", version))
    assert json.loads(await anext(client.responder.lines()))["id"] == 4, "the SDK sees what wasn't answered, and nothing else"


@pytest.mark.parametrize("version", server_info.STATELESS_VERSIONS)
async def test_a_client_that_alone_knows_the_folders_gets_no_resources_at_once_as_from_the_sdk(
    project: Path, client: Pipes, version: str
) -> None:
    asked = alone(1, "resources/list", version, able={"roots": {}})
    client.send(asked)
    assert [await asyncio.to_thread(client.answer)] == await from_the_sdk(project, asked, ask_roots=True)
    assert await asyncio.to_thread(client.responder.wait), "the rest is loaded behind"
    client.to.close()
    assert [line async for line in client.responder.lines()] == []
    os.set_blocking(client.answers.fileno(), False)
    assert client.answers.read() is None, "no change of the list is told"


@pytest.mark.parametrize("name", [*server_info.HOOKED_CLIENTS, "test"])
async def test_the_sdk_is_loaded_before_the_first_prompt_of_a_client_with_a_hook(client: Pipes, name: str) -> None:
    client.send({**hello("2025-06-18"), "params": {**hello("2025-06-18")["params"], "clientInfo": {**CLIENT, "name": name}}})
    client.send(request(2, "tools/list"))
    for _ in range(2):
        await asyncio.to_thread(client.answer)
    client.to.close()
    assert await asyncio.to_thread(client.responder.wait) is (name != "test")


async def test_what_it_answered_is_not_asked_again_and_the_rest_is(client: Pipes) -> None:
    call = request(3, "tools/call", name="index_status", arguments={})
    client.send(hello("2025-06-18"), request(2, "tools/list"), call)
    await asyncio.to_thread(lambda: [client.answer() for _ in range(2)])
    lines = client.responder.lines()
    assert [json.loads(await anext(lines)).get("id") for _ in range(2)] == [1, 3]
    client.send(request(4, "tools/list"))
    assert json.loads(await anext(lines))["id"] == 4, "from now on all is the SDK's"
    await client.responder.write('{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n')  # the server's own first question
    await client.responder.write('{"jsonrpc":"2.0","id":1,"result":{}}\n')
    await client.responder.write('{"jsonrpc":"2.0","id":1,"result":{"a":1}}\n')
    assert [await asyncio.to_thread(client.answer) for _ in range(2)] == [
        {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
        {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}},
    ]
    client.to.close()
    assert [line async for line in lines] == []


@pytest.mark.parametrize(
    "strange",
    [
        hello("1999-01-01"),
        request(1, "initialize", protocolVersion="2025-06-18", capabilities={}),
        request(1, "initialize", protocolVersion=["2025-06-18"], capabilities={}, clientInfo=CLIENT),
        request(1, "tools/list"),
        request(1, "server/discover"),
        alone(1, "server/discover", version="2099-01-01"),
        alone(1, "server/discover", version=["2026-07-28"]),
        alone(1, "server/discover", client=None),
        alone(1, "tools/list", cursor="x"),
        alone(1, "ping"),
        {**alone(1, "tools/list"), "params": {"_meta": {**alone(1, "x")["params"]["_meta"], "progressToken": {}}}},
    ],
)
async def test_what_it_does_not_know_for_certain_is_the_sdks(client: Pipes, strange: Any) -> None:
    client.send(strange, {**request(7, "tools/list"), "params": {"cursor": "x"}})
    client.to.close()
    passed = [line async for line in client.responder.lines()]
    assert len(passed) == 2
    os.set_blocking(client.answers.fileno(), False)
    assert client.answers.read() is None


async def test_odd_lines_are_answered_or_left_to_the_sdk(client: Pipes) -> None:
    deep = b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    client.send(deep, alone("\ud800", "tools/list"), alone("\u2028", "tools/list"), alone(8, "tools/list"))
    given = [json.loads(await asyncio.to_thread(client.answers.readline)) for _ in range(4)]
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in given] == [
        (None, -32700),
        (None, -32600),
        ("\u2028", None),
        (8, None),
    ]


@pytest.mark.parametrize("odd", [True, 7, [], "x"])
async def test_a_client_that_was_greeted_is_served_whatever_else_it_said_of_itself(
    project: Path, client: Pipes, odd: Any
) -> None:
    said = hello("2025-06-18")
    said["params"]["capabilities"] = {"experimental": odd, "sampling": odd, "roots": odd}
    said["params"]["clientInfo"] = {**CLIENT, "icons": odd, "title": [odd]}
    client.send(said)
    assert "result" in await asyncio.to_thread(client.answer)
    passed = json.loads(await anext(client.responder.lines()))
    after = await from_the_sdk(project, passed, request(2, "tools/list"))
    assert [list(answer)[-1] for answer in after] == ["result", "result"]


async def test_requests_of_both_kinds_of_versions_on_one_connection_are_the_sdks(client: Pipes) -> None:
    client.send(hello("2025-06-18"), alone(2, "tools/list"), request(3, "tools/list"))
    assert [(await asyncio.to_thread(client.answer))["id"] for _ in range(2)] == [1, 3]
    lines = client.responder.lines()
    assert [json.loads(await anext(lines))["id"] for _ in range(2)] == [1, 2]
