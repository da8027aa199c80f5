"""The proxy as an ASGI application: guard, rewrite, pass on, stream back. Logs no token and no content."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from carrel.frontends.chat_proxy.guard import Headers, bearer, header, refusal
from carrel.frontends.chat_proxy.pages import Pages
from carrel.frontends.chat_proxy.questions import field_of

log = logging.getLogger(__name__)

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_QUESTION = 64 << 20
_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host expect".split()
)
_WORKSPACE = b"x-carrel-workspace"


class Gone(Exception):
    """The caller went away."""


class Cut(Exception):
    """The upstream broke off in mid-answer. Leaving the application by it makes the server cut the caller's connection too."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where requests go on to. Without a key the caller's own Authorization passes."""

    url: str
    key: str | None = None
    token: str | None = None  # what callers of the proxy must send

    def target(self, path: str, query: bytes) -> str:
        """The upstream's URL for a path; a base that ends in /v1 works for paths with and without it, and for Ollama's."""
        base = self.url.rstrip("/")
        if base.endswith("/v1") and path.startswith(("/v1/", "/api/")):
            base = base.removesuffix("/v1")
        return base + path + ("?" + query.decode("latin-1") if query else "")


class ChatProxy:
    """The application. One instance a process; requests share the client's connections."""

    def __init__(self, upstream: Upstream, pages: Pages, client: httpx.AsyncClient) -> None:
        self._upstream = upstream
        self._pages = pages
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers: Headers = scope["headers"]
        if refused := refusal(headers, self._upstream.token):
            await _fail(send, refused[0], "carrel_refused", refused[1])
            return
        raw_path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        name, path = _split(raw_path)
        name = header(headers, _WORKSPACE) or name
        try:
            await self._pass(scope, path, name, receive, send)
        except Gone:
            log.debug("A caller went away")

    async def _pass(self, scope: Scope, path: str, name: str | None, receive: Receive, send: Send) -> None:
        headers = self._forwarded(scope["headers"])
        note = None
        content: bytes | AsyncIterator[bytes]
        if scope["method"] == "POST" and field_of(path) and not header(headers, b"content-encoding"):
            whole = bytearray()
            async for piece in _body(receive):
                whole += piece
                if len(whole) > LARGEST_QUESTION:
                    await _fail(send, 413, "carrel_too_large", f"A request of more than {LARGEST_QUESTION >> 20} MB.")
                    return
            content, note = await _while_wanted(self._pages.rewritten(path, bytes(whole), name), receive)
            headers = [(key, value) for key, value in headers if key != b"content-length"]
        else:
            has_body = any(key in (b"content-length", b"transfer-encoding") for key, _ in scope["headers"])
            content = _body(receive) if has_body else b""
        # Not `build_request`: that adds headers of its own, and would ask for a compression that the caller can't read.
        url = self._upstream.target(path, scope["query_string"])
        extensions = {"timeout": self._client.timeout.as_dict()}
        request = httpx.Request(scope["method"], url, headers=headers, content=content, extensions=extensions)
        sending = self._client.send(request, stream=True)
        try:
            # While a body is being passed on, the server's messages are its pieces: whoever leaves then is noticed by those.
            response = await (sending if not isinstance(content, bytes) else _while_wanted(sending, receive))
        except httpx.HTTPError as error:
            log.warning("The upstream can't be reached: %s", type(error).__name__)
            status = 504 if isinstance(error, httpx.TimeoutException) else 502
            await _fail(send, status, "carrel_upstream_unreachable", f"The upstream can't be reached ({type(error).__name__}).")
            return
        try:
            await _while_wanted(_relay(response, note, send), receive)
        finally:
            await response.aclose()

    def _forwarded(self, headers: Headers) -> Headers:
        dropped = _HOP | {named.strip().lower().encode() for named in (header(headers, b"connection") or "").split(",")}
        kept = [(key, value) for key, value in headers if key not in dropped and not key.startswith(b"x-carrel-")]
        if self._upstream.token is not None and bearer(headers) == self._upstream.token:
            kept = [(key, value) for key, value in kept if key != b"authorization"]  # it was for us
        if self._upstream.key is not None:
            kept = [(key, value) for key, value in kept if key != b"authorization"]
            kept.append((b"authorization", b"Bearer " + self._upstream.key.encode()))
        return kept


def _split(path: str) -> tuple[str | None, str]:
    """`/w/NAME/v1/…` to NAME and `/v1/…`: for programs that can set a base URL but no header."""
    if path.startswith("/w/"):
        name, _, rest = path[3:].partition("/")
        return httpx.URL("http://x/" + name).path[1:], "/" + rest
    return None, path


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        more = message.get("more_body", False)
        if piece := message.get("body", b""):
            yield piece


async def _while_wanted(work: Awaitable[T], receive: Receive) -> T:
    """Await something as long as the caller is there; cancel it and raise `Gone` otherwise."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone
        return task.result()
    finally:
        for future in (task, leaving):
            future.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _relay(response: httpx.Response, note: str | None, send: Send) -> None:
    """Status, headers and bytes as the upstream sends them, each piece at once."""
    headers = [(key.lower(), value) for key, value in response.headers.raw if key.lower() not in _HOP]
    if note:
        headers.append((b"x-carrel-context", note.encode("ascii", "replace")))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    try:
        async for piece in response.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except httpx.HTTPError as error:
        log.warning("The upstream broke off: %s", type(error).__name__)
        raise Cut from None
    await send({"type": "http.response.body", "body": b""})


async def _fail(send: Send, status: int, kind: str, message: str) -> None:
    body = json.dumps({"error": {"message": message, "type": kind, "code": None, "param": None}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
