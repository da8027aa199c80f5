"""Remember what sessions of agents were given: it stays in their conversations, so what was sent once isn't sent again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from carrel.model.lines import rows_of
from carrel.model.types import ContextItem

MOST_SESSIONS, MOST_LINES = 200, 20_000
FEW = 1 / 3
"""Of a place of which the session has the rest unchanged, so small a share of new lines isn't worth sending all of it again."""

_Lines = dict[tuple[str, int], bytes]
"""Digests of lines by path and number."""


class GivenLines:
    """Lines by session and folder, in memory alone: after a restart something may be sent once more."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], _Lines] = OrderedDict()
        self._cuts: OrderedDict[str, str] = OrderedDict()  # by session

    def new(self, session: str, folder: str, items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
        """Return the items that a session doesn't have yet as they stand now. A session without a name has none."""
        had = self._sessions.get((session, folder))
        return tuple(item for item in items if not had or _is_new(dict(_lines(item)), had))

    def cut(self, session: str, mark: str) -> None:
        """Forget what a session had where its agent has cut the conversation short since: each cut has a mark of its own."""
        if not mark or self._cuts.get(session) == mark:
            return
        self._cuts[session] = mark
        self._cuts.move_to_end(session)
        while len(self._cuts) > MOST_SESSIONS:
            self._cuts.popitem(last=False)
        for key in [key for key in self._sessions if key[0] == session]:
            del self._sessions[key]

    def add(self, session: str, folder: str, items: Iterable[ContextItem]) -> None:
        """Note that a session was given these items."""
        if not session:
            return
        had = self._sessions.setdefault((session, folder), {})
        self._sessions.move_to_end((session, folder))
        for key, digest in (line for item in items for line in _lines(item)):
            had.pop(key, None)  # the newest stand last
            had[key] = digest
        for key in list(had)[: max(len(had) - MOST_LINES, 0)]:
            del had[key]
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)


def _is_new(lines: _Lines, had: _Lines) -> bool:
    unknown = sum(key not in had for key in lines)
    changed = any(had.get(key, digest) != digest for key, digest in lines.items())
    return changed or unknown > FEW * len(lines)


def _lines(item: ContextItem) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Yield the lines that an item shows; where others were left out, a mark stands in their place."""
    rows, path, at = iter(rows_of(item.text)), item.hit.chunk.path, item.hit.chunk.span.start_line
    for first, last in item.runs:
        if item.elided and first > at:
            next(rows, None)
        for number in range(first, last + 1):
            row = next(rows, "").rstrip("\r\n")
            yield (path, number), hashlib.blake2b(row.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        at = last + 1
