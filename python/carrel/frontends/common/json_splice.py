"""Change one value of a JSON text and leave every other byte as it came.

Encoding all of it again would change what Python has no value for (`1e999`, a key that is there twice) or writes in another way
(`1.50`), and fail where it is too deep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]', re.DOTALL)
_SPACE = b" \t\r\n"

Path = Sequence[str | int]
Span = tuple[int, int]


def parse(raw: bytes) -> Any:
    """Return the value of a JSON text in UTF-8; None if it isn't one, or is too deep or large for the parser."""
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def span_of(raw: bytes, path: Path) -> Span | None:
    """Return where the value at a path of keys and indexes stands; None unless it is there exactly once.

    `raw` is valid JSON.
    """
    start, end = _trimmed(raw, 0, len(raw))
    for step in path:
        spans = _members(raw, start, step)
        if len(spans) != 1:
            return None
        start, end = spans[0]
    return start, end


def string_span(raw: bytes, path: Path, text: str) -> Span | None:
    """Return where the string at a path stands, if it is there once and holds `text`."""
    span = span_of(raw, path)
    return span if span and json.loads(raw[span[0] : span[1]]) == text else None


def replaced(raw: bytes, span: Span, value: Any) -> bytes:
    """Return the text with another value there, in ASCII: half a surrogate pair, which JSON allows, survives."""
    return raw[: span[0]] + _encoded(value) + raw[span[1] :]


def with_more_items(raw: bytes, span: Span, items: list[Any]) -> bytes:
    """Return the text with more items at the end of the array there, which isn't empty."""
    return raw[: span[1] - 1] + b"," + _encoded(items)[1:-1] + raw[span[1] - 1 :]


def with_first_member(raw: bytes, span: Span, key: str, value: Any) -> bytes:
    """Return the text with one member more in the object there, which isn't empty."""
    return raw[: span[0] + 1] + _encoded(key) + b":" + _encoded(value) + b"," + raw[span[0] + 1 :]


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _members(raw: bytes, start: int, step: str | int) -> list[Span]:
    """Return where the values under a key, or at an index, stand in the object or array that begins at `start`."""
    found = []
    depth = index = 0
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
            if step == (index if name is None else name):
                found.append(_trimmed(raw, begin, token.start()))
            index, begin = index + 1, token.end()
            if kind != b",":
                break
    return found


def _trimmed(raw: bytes, start: int, end: int) -> Span:
    while start < end and raw[start] in _SPACE:
        start += 1
    while end > start and raw[end - 1] in _SPACE:
        end -= 1
    return start, end
