"""MCP over streamable HTTP, for clients on this machine only.

The socket is bound to 127.0.0.1. A web page that the user visits could still reach it under a name of its own (DNS
rebinding), so the Host and Origin headers must name this very address and port, once each; a bearer token keeps out other
users of the machine, and a limit on requests an agent that went round in circles.
"""

from __future__ import annotations

import hmac
import json
import math
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from carrel.frontends.common.http_guard import RateLimit, framing_refusal, listen, refusal
from carrel.model.errors import CarrelError
from carrel.model.lines import single_line

HOST = "127.0.0.1"
PATH = "/mcp"
_LIMITED = -32029
"""Among the codes that JSON-RPC leaves to servers; it has none for this."""

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Loopback:
    """Where to listen; port 0 means any that is free. `token` is what clients must present, if anything."""

    port: int
    token: str | None = None
    limit: RateLimit = field(default_factory=RateLimit)


async def serve_http(server: Server[Any], loopback: Loopback, started: Callable[[str], None]) -> None:
    """Serve until a signal comes; `started` gets the address."""
    with _bound(loopback.port) as listener:
        port = listener.getsockname()[1]
        names = (f"{HOST}:{port}", f"localhost:{port}")
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=list(names),
            allowed_origins=[f"http://{name}" for name in names],
        )
        app: _App = server.streamable_http_app(streamable_http_path=PATH, host=HOST, transport_security=security)
        app = RateLimited(SingleLineEvents(app), loopback.limit)
        if loopback.token:
            app = RequireToken(app, loopback.token)
        app = LocalRequestsOnly(app)
        config = uvicorn.Config(
            app,
            http="h11",  # another parser, where one is installed, takes other requests
            ws="none",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=1,
            lifespan="on",
        )
        started(f"http://{HOST}:{port}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


class SingleLineEvents:
    """Writes each message of an event stream on one line for every reader."""

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Escape what an event holds; other answers aren't read by lines, and have told their length."""
        events = False

        async def escaped(message: MutableMapping[str, Any]) -> None:
            nonlocal events
            if message["type"] == "http.response.start":
                events = any(name == b"content-type" and b"event-stream" in value for name, value in message["headers"])
            elif events and message["type"] == "http.response.body":
                message = {**message, "body": single_line(message.get("body", b""))}
            await send(message)

        await self._app(scope, receive, escaped)


class LocalRequestsOnly:
    """Lets only programs of this machine through. The SDK compares the first Host and Origin with its lists, and no others."""

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Refuse what comes from elsewhere before it counts as somebody's request."""
        if scope["type"] == "http" and (unclear := framing_refusal(scope["headers"], scope["http_version"])):
            await _refuse(send, unclear[0], [(b"content-type", b"text/plain"), (b"connection", b"close")], unclear[1].encode())
            return
        if scope["type"] == "http" and (refused := refusal(scope["headers"])):
            status, reason = refused
            await _refuse(send, status, [(b"content-type", b"text/plain")], reason.encode())
            return
        await self._app(scope, receive, send)


class RequireToken:
    """Lets only requests with the right bearer token through."""

    def __init__(self, app: _App, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer 401 without the token; compares in constant time."""
        if scope["type"] == "http":
            credentials = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(credentials) != 1 or not hmac.compare_digest(credentials[0], self._expected):
                await _refuse(send, 401, [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")], b"")
                return
        await self._app(scope, receive, send)


class RateLimited:
    """Lets only so many requests a minute through."""

    def __init__(self, app: _App, limit: RateLimit) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer 429 past the limit, with an error as JSON-RPC has them: its request was not read, so it names no id."""
        if scope["type"] == "http" and (wait := math.ceil(self._limit.take())):
            message = (
                f"Carrel's own limit of {self._limit.per_minute} requests a minute was reached: try again in {wait} s, "
                "or start `carrel mcp` with a higher --rate-limit (0: none)."
            )
            error = {"code": _LIMITED, "message": message, "data": {"retryAfter": wait}}
            body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            headers = [(b"retry-after", str(wait).encode()), (b"content-type", b"application/json")]
            await _refuse(send, 429, headers, body)
            return
        await self._app(scope, receive, send)


async def _refuse(send: _Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _bound(port: int) -> socket.socket:
    try:
        return listen(port)
    except OSError as error:
        raise CarrelError(f"Port {port} of {HOST} can't be used ({error.strerror})", "Choose another, or 0 for any.") from None
