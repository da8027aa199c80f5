"""Connections to the upstream: each request has one to itself, and leaves it to a later one.

httpx's own pool hands one free connection to several requests that wait. All but one of them try again, so in a crowd some
wait for seconds though the upstream is idle, and each attempt looks at every connection.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from carrel.frontends.common.http_guard import is_loopback

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
        """Send a request; its transport is free again when the answer is closed."""
        transport = self._idle.pop()[0] if self._idle else self._make()

        async def give_back() -> None:
            self._idle.append((transport, time.monotonic()))
            await self._trim()

        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            await give_back()  # its connection is closed by now
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
        try:
            await self._stream.aclose()
        finally:
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
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return found if "://" in found else f"http://{found}"
