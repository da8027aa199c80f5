"""What an agent sends to Anthropic's API and gets from it, but for the prompts, passes as it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from carrel.frontends.chat_proxy.app import ChatProxy
from carrel.frontends.chat_proxy.context_injector import Rewritten
from carrel.frontends.chat_proxy.upstream import Upstream
from carrel.model.outbound import Secret
from carrel.model.types import Chunk, ContextItem, Hit, Signals, Span

PIECES = [b"event: message_start\ndata: {}\n\n", b"\x28\xb5\x2f\xfd not for us", b"event: not_known\n", b"\n"]
SESAME = "sesame"
VERSION = {"anthropic-version": "2023-06-01"}
CHUNK = Chunk(id="1" * 32, path="a.py", language="python", source="code", kind="function", span=Span(1, 1), text="x")


class Injector:
    """Adds nothing, and says that it added a place."""

    def __init__(self) -> None:
        self.sessions: list[str | None] = []

    async def rewrite(self, _path: str, raw: bytes, _name: str | None, _learn: Any, session: str | None) -> Rewritten:
        self.sessions.append(session)
        return Rewritten(raw, "1 place", (ContextItem(Hit(CHUNK, 1.0, Signals()), "x"),))


async def pieces() -> AsyncIterator[bytes]:
    for piece in PIECES:
        yield piece


class Passed:
    """A proxy before an upstream that answers everything alike, and keeps what it got."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response], upstream: Upstream) -> None:
        self.got: list[httpx.Request] = []
        self.injector = Injector()

        def answered(request: httpx.Request) -> httpx.Response:
            self.got.append(request)
            return answer(request)

        self.onward = httpx.AsyncClient(transport=httpx.MockTransport(answered))
        app: Any = ChatProxy(upstream, self.injector, self.onward)  # type: ignore[arg-type]
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:1")

    async def ask(self, path: str, headers: dict[str, str], body: bytes = b"{}", method: str = "POST") -> httpx.Response:
        async with self.onward, self.client:
            return await self.client.request(method, path, content=body, headers=headers)


def nothing(_: httpx.Request) -> httpx.Response:
    return httpx.Response(204, stream=httpx.ByteStream(b""))


def streamed(kind: str, coding: str) -> Callable[[httpx.Request], httpx.Response]:
    headers = {"content-type": kind, **({"content-encoding": coding} if coding else {})}
    return lambda _: httpx.Response(200, headers=headers, stream=Stream())


class Stream(httpx.AsyncByteStream):
    def __aiter__(self) -> AsyncIterator[bytes]:
        return pieces()


@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "application/json"])
@pytest.mark.parametrize("coding", ["", "private"])
async def test_queries_headers_and_streams_pass_as_they_are(kind: str, coding: str) -> None:
    upstream = Passed(streamed(kind, coding), Upstream("https://api.example/v1"))
    sent = {"x-claude-code-session-id": "s", "anthropic-beta": "a,b", "x-api-key": "sk", "accept-encoding": "br, zstd"}
    answer = await upstream.ask("/v1/messages?beta=true", sent | VERSION, b'{"messages": []}')
    [request] = upstream.got
    assert (str(request.url), request.content) == ("https://api.example/v1/messages?beta=true", b'{"messages": []}')
    assert {name: request.headers[name] for name in sent} == sent
    assert (answer.content, answer.headers["x-carrel-context"]) == (b"".join(PIECES), "1 place")
    assert "x-carrel-citations" not in answer.headers
    assert upstream.injector.sessions == ["s"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/api/hello"),
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("POST", "/v1/messages/batches"),
        ("GET", "/v1/files/1"),
    ],
)
async def test_every_other_path_passes(method: str, path: str) -> None:
    upstream = Passed(nothing, Upstream("https://api.example"))
    answer = await upstream.ask(path, {}, b'{"x": 1.0}' if method == "POST" else b"", method)
    assert answer.status_code == 204
    assert [(str(request.url), request.method) for request in upstream.got] == [(f"https://api.example{path}", method)]
    assert upstream.injector.sessions == []


async def test_a_key_stands_where_that_api_takes_it() -> None:
    upstream = Passed(nothing, Upstream("https://api.example", key=Secret("sk-up"), token=Secret(SESAME)))
    assert (await upstream.ask("/v1/messages", {"x-api-key": SESAME, **VERSION})).status_code == 204
    [request] = upstream.got
    assert (request.headers.get("x-api-key"), request.headers.get("authorization")) == ("sk-up", None)


async def test_a_token_for_the_proxy_goes_no_further() -> None:
    upstream = Passed(nothing, Upstream("https://api.example", token=Secret(SESAME)))
    await upstream.ask("/v1/messages", {"x-api-key": SESAME, "authorization": "Bearer of-the-upstream"})
    [request] = upstream.got
    assert (request.headers.get("x-api-key"), request.headers.get("authorization")) == (None, "Bearer of-the-upstream")


def unreachable(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("no")


@pytest.mark.parametrize(
    ("token", "path", "status", "kind"),
    [
        (SESAME, "/v1/messages", 401, "authentication_error"),
        (None, "/v1/../messages", 400, "invalid_request_error"),
        (None, "/v1/messages", 502, "api_error"),
    ],
)
async def test_errors_have_the_form_of_that_api(token: str | None, path: str, status: int, kind: str) -> None:
    upstream = Passed(unreachable, Upstream("https://api.example", token=Secret(token) if token else None))
    answer = await upstream.ask(path.replace("..", "%2e%2e"), {} if path == "/v1/messages" else VERSION)
    value = json.loads(answer.content)
    assert (answer.status_code, value["type"], value["error"]["type"]) == (status, "error", kind)
    assert value["error"]["message"]
