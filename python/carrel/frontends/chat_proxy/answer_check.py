"""The places that an answer cites, checked against the context that its question was given, while the answer passes unchanged.

A whole answer of JSON has the verdict in the header `X-Carrel-Citations`; a stream of server-sent events has it in a comment
behind its last event, which clients skip. Other forms (Ollama's lines of JSON, what is compressed or too long) have none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from carrel.agent.citations import Citation, check
from carrel.model.plain_data import as_list, as_text, inner, read_json
from carrel.model.types import ContextItem

HEADER = b"x-carrel-citations"
MOST_BYTES = 4 << 20
"""Of an answer that is held back for its header, and of what is read of a stream."""
_MOST_SHOWN = 20
_MOST_VERDICT = 2_000
"""Bytes of a verdict. Some clients refuse an answer whose headers are longer than 8 KB."""


def verdict(text: str, items: Sequence[ContextItem]) -> bytes:
    """Return what the citations of an answer are worth, as JSON in ASCII; nothing where it cites none.

    Work for a thread: an answer may be long.
    """
    citations = check(text, items).citations
    if not citations:
        return b""
    bad = [citation for citation in citations if not citation.ok]
    places = [
        {"place": _place(citation), "ok": citation.ok, **({"reason": citation.reason} if citation.reason else {})}
        for citation in [*bad, *(citation for citation in citations if citation.ok)][:_MOST_SHOWN]
    ]
    while True:
        value = {"cited": len(citations), "unsupported": len(bad), "places": places}
        encoded = json.dumps(value, separators=(",", ":")).encode("ascii")
        if len(encoded) <= _MOST_VERDICT or not places:
            return encoded
        places.pop()


def comment(value: bytes) -> bytes:
    """Return the verdict as a comment of server-sent events."""
    return b": " + HEADER + b" " + value + b"\n\n"


def text_of_answer(body: bytes) -> str:
    """Return what a whole answer says, in any of the known APIs; empty where nothing is understood."""
    answer = read_json(body)
    said = [inner(answer, *path) for path in (("choices", 0, "message", "content"), ("message", "content"), ("response",))]
    for item in as_list(inner(answer, "output")):
        said += [inner(part, "text") for part in as_list(inner(item, "content"))]
    return "\n".join(filter(None, map(as_text, said)))


class StreamText:
    """What a stream of server-sent events says, gathered while it passes."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._said: list[str] = []
        self._read = 0
        self._last = b""

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(self._said)

    @property
    def ended(self) -> bool:
        """Tell whether it ended between two events, where a comment may stand: behind an empty line."""
        return self._last.replace(b"\r\n", b"\n").endswith(b"\n\n")

    def take(self, piece: bytes) -> None:
        """Read a piece, however it was cut. What is beyond the limit is not read."""
        self._read += len(piece)
        self._last = (self._last + piece[-4:])[-4:]
        if self._read > MOST_BYTES:
            self._rest.clear()
            return
        if b"\n" not in piece:
            self._rest += piece  # a line that arrives in many pieces is looked at once
            return
        *lines, rest = (bytes(self._rest) + piece).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            if line.startswith(b"data:"):
                self._said.append(_delta(line[5:]))


def _delta(data: bytes) -> str:
    event = read_json(data)
    if inner(event, "type") == "response.output_text.delta":
        return as_text(inner(event, "delta"))
    return as_text(inner(event, "choices", 0, "delta", "content"))


def _place(citation: Citation) -> str:
    return f"{citation.path}:{citation.start_line}-{citation.end_line}"
