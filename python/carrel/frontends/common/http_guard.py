"""Check callers of Carrel's HTTP servers: programs of this machine. No web page, under whatever name it reaches loopback.

Nor is a request answered whose length is in doubt.
"""

from __future__ import annotations

import hmac
import ipaddress
import re

from carrel.model.patterns import lazy_pattern

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
