"""Listen for programs of this machine, and check who calls the proxy, and how often.

No web page is answered, under whatever name it reaches loopback, nor a request whose length is in doubt.

The rate is a bucket of tokens that fills at an even pace. A process that listens serves this machine's user only, so one bucket
holds for all callers together. The default is far above what people and agents do; it ends loops that went wrong before they
take the machine.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import socket
import time
from collections.abc import Callable

from carrel.model.patterns import lazy_pattern


def listen(port: int) -> socket.socket:
    """Listen on this machine's 127.0.0.1; port 0 is any that is free. Raises `OSError`.

    It names its protocol, which `socket.create_server` doesn't: asyncio switches Nagle's algorithm off only then. With it on,
    a second answer over a kept connection waits 40 ms for the client's delayed acknowledgement.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows the option would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


PER_MINUTE = 600
"""Requests a minute, unless the person who starts the process sets another number."""

_BURST_SECONDS = 10
"""So much of the pace may be asked at once after a pause: 100 requests by default."""


class RateLimit:
    """A token bucket. Used on one event loop; 0 a minute is no limit, None the default."""

    def __init__(self, per_minute: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = PER_MINUTE if per_minute is None else per_minute
        self._per_second = self.per_minute / 60
        self._most = max(1.0, self._per_second * _BURST_SECONDS)
        self._tokens = self._most
        self._clock = clock
        self._filled = clock()

    def take(self) -> float:
        """Take a token and give 0.0, or give the seconds until there is one."""
        if not self.per_minute:
            return 0.0
        now = self._clock()
        self._tokens = min(self._most, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self._per_second


Headers = list[tuple[bytes, bytes]]

_PLACE = r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?"
_HOST = lazy_pattern(_PLACE)
_ORIGIN = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://" + _PLACE)


def header(headers: Headers, name: bytes) -> str | None:
    """Return the first value of a header (lower-case name)."""
    return next(iter(_values(headers, name)), None)


def is_loopback(host: str) -> bool:
    """Return true for addresses of this machine only, and for localhost."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def framing_refusal(headers: Headers, version: str) -> tuple[int, str] | None:
    """Return status and reason if it isn't clear where the request's body ends (RFC 9112, 6.1 and 6.3).

    The server has refused repeated and unknown codings already. A connection on which this was sent must be closed.
    """
    if not _values(headers, b"transfer-encoding"):
        return None
    if _values(headers, b"content-length"):
        return 400, "The request has both Content-Length and Transfer-Encoding: send only one of them."
    if version != "1.1":
        return 400, f"The request is of HTTP/{version}, which has no Transfer-Encoding: send Content-Length, or HTTP/1.1."
    return None


def refusal(headers: Headers) -> tuple[int, str] | None:
    """Return status and reason if the request may come from elsewhere, or doesn't clearly say where it comes from.

    A web page can reach loopback, by its own name for this address too; its requests name that host, or an origin elsewhere.
    Requests without an origin, as for pictures and links, say whether they come from another site.
    """
    hosts, origins = _values(headers, b"host"), _values(headers, b"origin")
    if len(hosts) != 1 or len(origins) > 1:
        return 400, "Send one Host header and at most one Origin header."
    if not _is_here(_HOST.fullmatch(hosts[0])):
        return 403, "Carrel answers requests to localhost only."
    if origins and not _is_here(_ORIGIN.fullmatch(origins[0])):
        return 403, "Carrel answers no web page of another machine."
    if not origins and any(value.lower() == "cross-site" for value in _values(headers, b"sec-fetch-site")):
        return 403, "Carrel answers no web page of another site."
    return None


def bearer(value: str | None) -> str | None:
    """Return the bearer token in the value of an Authorization header."""
    scheme, _, token = (value or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def same_token(sent: str | None, token: str) -> bool:
    """Compare in constant time."""
    return sent is not None and hmac.compare_digest(sent.encode("utf-8", "replace"), token.encode("utf-8", "replace"))


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in headers if key == name]


def _is_here(match: re.Match[str] | None) -> bool:
    return match is not None and is_loopback(match["ipv6"] or match["name"]) and int(match["port"] or 0) < 1 << 16
