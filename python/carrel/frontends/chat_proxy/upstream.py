"""Send requests on to the upstream, over connections of their own, and know the windows of its models.

No request of a caller can name another server, which would get the upstream's key.

Each request has a connection to itself, and leaves it to a later one. httpx's own pool hands one free connection to several
requests that wait. All but one of them try again, so in a crowd some wait for seconds though the upstream is idle, and each
attempt looks at every connection.

The list of models is fetched beside the questions: none waits for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
from msgspec import Struct

from carrel.frontends.chat_proxy.http_guard import Headers, is_loopback
from carrel.model.outbound import Secret
from carrel.model.patterns import lazy_pattern
from carrel.model.plain_data import as_list, inner

_MOST_IDLE = 64
_IDLE_SECONDS = 5.0
"""httpcore closes a connection that was idle for longer when it is used next."""


class OwnConnections(httpx.AsyncBaseTransport):
    """Gives each request a transport of one connection, which no other uses at the same time."""

    def __init__(self, make: Callable[[], httpx.AsyncBaseTransport]) -> None:
        """Take what makes a transport of one connection."""
        self._make = make
        self._idle: deque[tuple[httpx.AsyncBaseTransport, float]] = deque()
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its transport is free again when the answer is closed.

        The transport of one that failed or was left is not used again: its connection may still count as taken, and a later
        request would wait for it.
        """
        transport = self._idle.pop()[0] if self._idle else self._make()

        async def give_back() -> None:
            self._idle.append((transport, time.monotonic()))
            await self._trim()

        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            await transport.aclose()
            raise
        response.stream = _Answer(cast("httpx.AsyncByteStream", response.stream), give_back)
        return response

    async def aclose(self) -> None:
        """Close what is idle, and the rest when its answer ends."""
        self._closed = True
        await self._trim()

    async def _trim(self) -> None:
        while self._idle and (
            self._closed or len(self._idle) > _MOST_IDLE or time.monotonic() - self._idle[0][1] > _IDLE_SECONDS
        ):
            await self._idle.popleft()[0].aclose()


class _Answer(httpx.AsyncByteStream):
    """The bytes of an answer, and what is to be done when it is closed."""

    def __init__(self, stream: httpx.AsyncByteStream, closed: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._closed = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()
        await self._closed()


def connections_to(url: str) -> OwnConnections:
    """Return connections for an upstream: by the proxy that the environment names, but never to this machine."""
    local = is_loopback(urlsplit(url).hostname or "")
    context = httpx.create_ssl_context(trust_env=not local)  # loading the certificates takes longer than many a request
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_IDLE_SECONDS)
    proxy = None if local else proxy_for(url)
    return OwnConnections(lambda: httpx.AsyncHTTPTransport(verify=context, limits=limits, proxy=proxy, trust_env=False))


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment or the system names for a URL."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


log = logging.getLogger(__name__)

_FIELDS = ("context_length", "max_model_len", "context_window", "max_context_length")
"""OpenRouter, LiteLLM; vLLM; Groq; LM Studio."""
_AGAIN_SECONDS = 600.0
_TIMEOUT_SECONDS = 10.0
_LARGEST = 16 << 20
_KEYS = (b"authorization", b"api-key", b"x-api-key")


class UpstreamModels:
    """Know the windows that `GET /v1/models` lists: asked with the key of a question that wants them, again after ten minutes."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._windows: dict[str, int] = {}
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    def window(self, model: str) -> int | None:
        """Return a model's window, as far as the upstream told it until now."""
        return self._windows.get(model)

    def want(self, url: httpx.URL, headers: Headers) -> None:
        """Ask for the list in the background, unless that was done lately."""
        if time.monotonic() - self._asked_at < _AGAIN_SECONDS:
            return
        self._asked_at = time.monotonic()
        kept = [(key, value) for key, value in headers if key in _KEYS]
        self._asking = asyncio.get_running_loop().create_task(self._ask(url, kept))

    async def close(self) -> None:
        """Stop asking."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask(self, url: httpx.URL, headers: Headers) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                request_headers = [*headers, (b"accept-encoding", b"identity"), (b"user-agent", b"carrel")]
                async with self._client.stream("GET", url, headers=request_headers, follow_redirects=False) as response:
                    body = bytearray()
                    async for piece in response.aiter_raw():
                        body += piece
                        if len(body) > _LARGEST:
                            return
            if response.is_success:
                self._windows = windows_in(json.loads(bytes(body)))
        except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            log.debug("The upstream's list of models can't be read: %s", type(error).__name__)


def windows_in(listed: Any) -> dict[str, int]:
    """Return the windows that a list of models names, by the models' ids."""
    windows: dict[str, int] = {}
    for entry in as_list(inner(listed, "data")):
        if isinstance(entry, dict) and isinstance(name := entry.get("id"), str):
            sizes = (entry.get(field) for field in _FIELDS)
            window = next((size for size in sizes if type(size) is int and size > 0), None)
            if window:
                windows[name] = window
    return windows


_RAW = lazy_pattern(rb"/(?!/)[!\"$-\[\]-~]*")  # printable ASCII from one slash on, without # and a backslash


class BadTarget(ValueError):
    """The request's target isn't a plain path; the message is for the caller."""


class Upstream(Struct, frozen=True):
    """The server behind the proxy. Without a key the caller's own Authorization passes."""

    url: str
    key: Secret | None = None
    token: Secret | None = None  # what callers of the proxy must send

    def target(self, path: str, query: bytes) -> httpx.URL:
        """Return the upstream's URL for a path. A base that ends in /v1 works for paths with and without it, and for Ollama's."""
        base = httpx.URL(self.url)
        prefix = base.path.rstrip("/")
        if prefix.endswith("/v1") and path.startswith(("/v1/", "/api/")):
            prefix = prefix.removesuffix("/v1")
        raw_path = (prefix + path).encode("ascii") + (b"?" + query if query else b"")
        url = base.copy_with(raw_path=raw_path)
        if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
            raise BadTarget("The request's target names another server.")
        return url


def path_of(raw: bytes) -> tuple[str | None, str]:
    """Return the workspace's name, if any, and the upstream's path in a request's raw path. Raises `BadTarget`.

    `/w/NAME/v1/…` is NAME and `/v1/…`: for programs that can set a base URL but no header.
    """
    _check(raw)
    if not raw.startswith(b"/w/"):
        return None, raw.decode("ascii")
    name, _, rest = raw[3:].partition(b"/")
    _check(b"/" + rest)
    return unquote_to_bytes(name).decode("utf-8", "replace"), "/" + rest.decode("ascii")


def _check(raw: bytes) -> None:
    """Refuse what isn't in origin form, and steps out of the upstream's own path however they are written."""
    if not _RAW.fullmatch(raw):
        raise BadTarget("The request's target must be a path that begins with one slash, such as /v1/models.")
    decoded = unquote_to_bytes(raw)
    has_control = any(byte < 0x20 or byte == 0x7F for byte in decoded)
    if has_control or not {b".", b".."}.isdisjoint(decoded.replace(b"\\", b"/").split(b"/")):
        raise BadTarget("The request's path must have no `.` or `..` in it, nor control characters.")
