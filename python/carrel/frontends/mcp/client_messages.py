"""Messages of a client, one a line, and the error that JSON-RPC 2.0 wants for what is none.

The SDK drops what it can't read, and its client waits for ever. It also takes a request whose id it doesn't like for a
notification. So every line is read here first, also once the SDK is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from carrel.model.patterns import lazy_pattern

LONGEST = 64 << 20
_HALF = lazy_pattern("[\ud800-\udfff]")
"""Half of a character: JSON can hold it, UTF-8 and the SDK can't."""
_PARSE_ERROR, _INVALID_REQUEST, _INVALID_PARAMS = -32700, -32600, -32602


class NoMessage(NamedTuple):
    """Something that came in place of a message."""

    code: int
    reason: str
    request: int | str | None = None

    @property
    def answer(self) -> dict[str, Any]:
        """The answer to it."""
        error = {"code": self.code, "message": self.reason}
        return {"jsonrpc": "2.0", "id": self.request, "error": error}


def messages_of(stream: BinaryIO) -> Iterator[dict[str, Any] | NoMessage]:
    """Yield what a client sends, until it leaves. The messages of a batch count as if each had come alone."""
    while line := stream.readline(LONGEST):
        if len(line) == LONGEST and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST)
            yield NoMessage(_INVALID_REQUEST, f"a line of more than {LONGEST >> 20} MB")
        elif line.strip():
            yield from _messages_in(line)


def as_line(message: dict[str, Any]) -> str:
    """Return a message as a line of JSON that the SDK can read, with another sign for half a character."""
    return _HALF.sub("\ufffd", json.dumps(message, ensure_ascii=False)) + "\n"


def unreadable(message: dict[str, Any]) -> NoMessage | None:
    """Return the answer to a message that the SDK can't read; None to one that gets no answer."""
    if "method" not in message or "id" not in message:
        return None
    return NoMessage(_INVALID_PARAMS, "its params can't be read, or are nested too deep", message["id"])


def _messages_in(line: bytes) -> Iterator[dict[str, Any] | NoMessage]:
    try:
        value = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"), parse_int=_whole_number)
    except (ValueError, RecursionError):
        yield NoMessage(_PARSE_ERROR, "a line is no JSON, or is nested too deep")
        return
    for message in value if isinstance(value, list) and value else [value]:
        yield _wrong_with(message) or message


def _whole_number(digits: str) -> int | float:
    """Return a number; one of more digits than Python reads is infinite, so that its request keeps its id."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _wrong_with(message: Any) -> NoMessage | None:
    if not isinstance(message, dict):
        return NoMessage(_INVALID_REQUEST, "it must be an object")
    if "method" not in message and ("result" in message or "error" in message):
        return None  # an error in answer to an answer would be taken for that of another request
    has_id = type(message.get("id")) is int or (isinstance(message.get("id"), str) and not _HALF.search(message["id"]))
    request = message["id"] if has_id else None
    must = (
        (message.get("jsonrpc") == "2.0", _INVALID_REQUEST, 'its jsonrpc must be "2.0"'),
        (isinstance(message.get("method"), str), _INVALID_REQUEST, "its method must be a text"),
        (has_id or "id" not in message, _INVALID_REQUEST, "its id must be a text or a whole number"),
        (not has_id or isinstance(message.get("params"), dict | None), _INVALID_PARAMS, "its params must be an object"),
    )
    return next((NoMessage(code, reason, request) for holds, code, reason in must if not holds), None)
