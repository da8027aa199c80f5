"""Who may call: programs of this machine, and only those with the token where one is set. No web page, by whatever name."""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

Headers = list[tuple[bytes, bytes]]


def header(headers: Headers, name: bytes) -> str | None:
    """The first value of a header (lower-case name)."""
    return next((value.decode("latin-1") for key, value in headers if key == name), None)


def is_loopback(host: str) -> bool:
    """True for addresses of this machine only, and for localhost."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(headers: Headers, token: str | None) -> tuple[int, str] | None:
    """Status and reason if the request must not be answered.

    A web page can reach loopback, by its own name for this address too; its requests name that host, or an origin elsewhere.
    """
    host = urlsplit("//" + (header(headers, b"host") or "")).hostname
    if host is None or not is_loopback(host):
        return 403, "Carrel's proxy answers requests to localhost only."
    origin = header(headers, b"origin")
    if origin is not None and not is_loopback(urlsplit(origin).hostname or ""):
        return 403, "Carrel's proxy answers no web page."
    if token is not None and not (_same(header(headers, b"x-carrel-token"), token) or _same(bearer(headers), token)):
        return 401, "Send the token of Carrel's proxy as a bearer token or in X-Carrel-Token."
    return None


def bearer(headers: Headers) -> str | None:
    """The bearer token of a request."""
    scheme, _, value = (header(headers, b"authorization") or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode("utf-8", "replace"))
