"""Where requests go on to: no request of a caller can name another server, which would get the upstream's key."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import httpx

from carrel.model.patterns import lazy_pattern

_RAW = lazy_pattern(rb"/(?!/)[!-~]*")  # printable ASCII from one slash on
_NEVER = lazy_pattern(rb"[#\\]")
_CONTROL = lazy_pattern(rb"[\x00-\x1f\x7f]")
_SEPARATOR = lazy_pattern(rb"[/\\]")


class BadTarget(ValueError):
    """The request's target isn't a plain path; the message is for the caller."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server behind the proxy. Without a key the caller's own Authorization passes."""

    url: str
    key: str | None = None
    token: str | None = None  # what callers of the proxy must send

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
    if not _RAW.fullmatch(raw) or _NEVER.search(raw):
        raise BadTarget("The request's target must be a path that begins with one slash, such as /v1/models.")
    decoded = unquote_to_bytes(raw)
    if _CONTROL.search(decoded) or not {b".", b".."}.isdisjoint(_SEPARATOR.split(decoded)):
        raise BadTarget("The request's path must have no `.` or `..` in it, nor control characters.")
