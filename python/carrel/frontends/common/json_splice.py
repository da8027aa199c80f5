"""Change one value of a JSON text and leave every other byte as it came.

Encoding all of it again would change what Python has no value for (`1e999`, a key that is there twice) or writes in another way
(`1.50`), and fail where it is too deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from carrel.model.patterns import lazy_pattern

_TOKEN = lazy_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]', re.DOTALL)
_SPACE = b" \t\r\n"

Path = Sequence[str | int]
Span = tuple[int, int]


MOST_SIGNS = 1_000_000
"""Each takes some microseconds; a conversation that fills a window of a million tokens has a third of them."""


def is_too_much(raw: bytes) -> bool:
    """Tell by its quotes, brackets and commas whether it would take seconds to look into a JSON text."""
    return len(raw) > MOST_SIGNS and sum(map(raw.count, (b'"', b"[", b"{", b","))) > MOST_SIGNS


def parse(raw: bytes) -> Any:
    """Return the value of a JSON text in UTF-8; None if it isn't one, or is too deep or large for the parser."""
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def span_of(raw: bytes, path: Path, within: Span | None = None) -> Span | None:
    """Return where the value at a path of keys and indexes stands; None unless it is there exactly once.

    `raw` is valid JSON. The path begins at the value that stands `within` a span, or at the whole.
    """
    return _span_below(raw, within or _trimmed(raw, 0, len(raw)), path)


def item_spans(raw: bytes, path: Path) -> list[Span]:
    """Return where the items of the array at a path stand; nothing where the path isn't there exactly once."""
    span = span_of(raw, path)
    return [member for _, member in _members(raw, span[0])] if span else []


def string_span(raw: bytes, path: Path, text: str, within: Span | None = None) -> Span | None:
    """Return where the string at a path stands, if it is there once and holds `text`."""
    span = span_of(raw, path, within)
    return span if span and json.loads(raw[span[0] : span[1]]) == text else None


def replaced(raw: bytes, span: Span, value: Any) -> bytes:
    """Return the text with another value there."""
    return spliced(raw, {span: encoded(value)})


def spliced(raw: bytes, pieces: Mapping[Span, bytes]) -> bytes:
    """Return the text with other bytes at spans that lie apart."""
    parts, end = [], 0
    for span in sorted(pieces):
        parts += [raw[end : span[0]], pieces[span]]
        end = span[1]
    return b"".join((*parts, raw[end:]))


def with_more_items(raw: bytes, span: Span, items: list[Any]) -> bytes:
    """Return the text with more items at the end of the array there, which isn't empty."""
    return raw[: span[1] - 1] + b"," + encoded(items)[1:-1] + raw[span[1] - 1 :]


def with_first_member(raw: bytes, span: Span, key: str, value: Any) -> bytes:
    """Return the text with one member more in the object there, which isn't empty."""
    return raw[: span[0] + 1] + encoded(key) + b":" + encoded(value) + b"," + raw[span[0] + 1 :]


def encoded(value: Any) -> bytes:
    """Return a value as JSON in ASCII: half a surrogate pair, which JSON allows, survives."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _span_below(raw: bytes, span: Span, path: Path) -> Span | None:
    for step in path:
        spans = [member for name, member in _members(raw, span[0]) if name == step]
        if len(spans) != 1:
            return None
        span = spans[0]
    return span


def _members(raw: bytes, start: int) -> list[tuple[str | int, Span]]:
    """Return the keys or indexes of the object or array that begins at `start`, and where their values stand."""
    members: list[tuple[str | int, Span]] = []
    depth = 0
    begin = start
    name: str | None = None
    last = b""
    for token in _TOKEN.finditer(raw, start):
        kind = token[0][:1]
        if kind == b'"':
            last = token[0] if depth == 1 else last
        elif kind in b"{[":
            depth += 1
            begin = token.end() if depth == 1 else begin
        elif depth > 1:
            depth -= kind in b"}]"
        elif kind == b":":
            name, begin = json.loads(last), token.end()
        else:
            span = _trimmed(raw, begin, token.start())
            if span[0] < span[1]:  # not so in an empty array
                members.append((len(members) if name is None else name, span))
            begin = token.end()
            if kind != b",":
                break
    return members


def _trimmed(raw: bytes, start: int, end: int) -> Span:
    while start < end and raw[start] in _SPACE:
        start += 1
    while end > start and raw[end - 1] in _SPACE:
        end -= 1
    return start, end
