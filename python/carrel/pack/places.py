"""Fill a budget with passages, as places of files: a place is a chunk, or chunks of a file that stand side by side.

However many runs of its lines are shown, a place is one item of a pack and counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.lines import rows_of
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Chunk, ContextItem, Hit, Span, masks_in
from carrel.pack.filling import DOES_NOT_FIT, Filling, Piece
from carrel.search.passages import Passage
from carrel.search.pieces import GAP_LINES, LineReader, common_symbol, head_of, some_lines

LEAST_FRESH_LINES = 3
"""A passage that adds fewer lines to what is shown isn't worth a mark."""
FEWEST_HIDDEN = 2
"""So few lines are shown rather than a mark in place of them."""
MOST_MISSES = 30
"""After so many passages in a row that don't fit, the pack is full."""
TOO_LONG = 6
"""Lines of more characters for each unit that is left are not counted: code has about four for each token."""
MORE_LINES = 30
"""What is left of a budget shows so many lines before and after each place."""
STEP = 10
_CLOSING = lazy_pattern(r"\s*(?:[\])}]+[;,]?|end;?)\s*")


class Place(Struct, eq=False):
    """Lines of a file, with what is shown of them. Numbers of lines count from 1, in the file."""

    hit: Hit  # the best of its chunks
    start: int
    rows: list[str]
    parts: list[Chunk]
    is_chunk: bool = True  # its rows are those of its one chunk
    cost: int = 0
    lines: set[int] = field(default_factory=set)

    @property
    def end(self) -> int:
        """Its last line."""
        return self.start + len(self.rows) - 1

    def text(self, numbers: Iterable[int]) -> str:
        """Return lines of it."""
        rows, start = self.rows, self.start
        return "".join([rows[number - start] for number in numbers])

    def item(self) -> ContextItem:
        """Return it as it is shown."""
        hit = self.hit
        if not self.is_chunk:
            first, last = self.parts[0], self.parts[-1]
            text = "".join(self.rows)
            begin = first.span.start_character if self.start == first.span.start_line else 0
            end = last.span.end_character if self.end == last.span.end_line else _width(self.rows[-1])
            named = reduce(common_symbol, (part.symbol for part in self.parts))
            defined = dict.fromkeys(name for part in self.parts for name in part.definitions)
            span = Span(self.start, self.end, begin, end)
            chunk = replace(hit.chunk, span=span, symbol=named, definitions=tuple(defined), text=text, masked=masks_in(text))
            hit = replace(hit, chunk=chunk)
        if len(self.lines) == len(self.rows):
            return ContextItem(hit, hit.chunk.text)
        return some_lines(hit, self.rows, {number - self.start for number in self.lines})


class PlaceFilling:
    """The places of a pack that is being filled; at most `most` beside what it holds already.

    Places stand as their chunks do in `order`; of others, the more relevant comes first. `read_lines` gives lines between and
    around places; without it only chunks that touch are one place.
    """

    def __init__(self, filling: Filling, most: int, read_lines: LineReader | None, order: Sequence[str] = ()) -> None:
        self._numbers = {chunk: number for number, chunk in enumerate(order)}
        self.refused: dict[str, str] = {}  # chunk id -> why nothing of it is shown; empty where there is no room for more places
        self._filling = filling
        self._most = most
        self._read_lines = read_lines
        self._places: list[Place] = []
        self._of_chunk: dict[str, Place] = {}
        self._rows: dict[str, list[str]] = {}  # of a chunk: most are offered in several passages
        self._shortened: set[str] = set()  # chunks of which no more than a part fits
        self._taken: dict[str, set[int]] = {}
        for piece in filling.pieces:
            self._take(piece.item)
        self._mark = filling.measure("    … (lines 1000-1000 left out)\n") + 1

    def begin(self, passage: Passage) -> None:
        """Show a passage that must not be missing, shortened if need be."""
        self.offer(passage)
        chunk = passage.hit.chunk
        if chunk.id in self._of_chunk or self.refused.get(chunk.id) != DOES_NOT_FIT:
            return
        before = len(self._filling.pieces)
        first = chunk.span.start_line + passage.first
        if not self._filling.fill([replace(passage.hit, focus=(first, first + passage.count - 1))]):
            self._shortened.add(chunk.id)
            self._most -= 1
            del self.refused[chunk.id]
            for piece in self._filling.pieces[before:]:
                self._take(piece.item)

    def close(self) -> None:
        """Show the closing brackets right below the places: no chunk has those of a class after its last method."""
        for place in self._places.copy():
            while place in self._places and self._read_lines is not None:
                below = self._read_lines(place.hit.chunk.path, place.end + 1, place.end + 1)
                if not below or not _CLOSING.fullmatch(below) or not self._extend(place, place.end + 1, place.end + 1):
                    break

    def fill(self, passages: Sequence[Passage]) -> None:
        """Show passages in their order until nothing more fits."""
        misses = 0
        for passage in passages:
            fits = self.offer(passage)
            misses = misses if fits is None else 0 if fits else misses + 1
            if misses == MOST_MISSES:
                break

    def offer(self, passage: Passage) -> bool | None:
        """Show a passage if it fits; None where it would add nothing, or one place too many."""
        hit = passage.hit
        if hit.chunk.id in self._shortened:
            return None
        place = self._of_chunk.get(hit.chunk.id) or self._unshown(hit)
        first = hit.chunk.span.start_line + passage.first
        wanted = {*range(first, first + passage.count)} - place.lines - self._taken.get(hit.chunk.path, set())
        if not wanted or len(wanted) < min(LEAST_FRESH_LINES, passage.count):
            return None
        is_new = not place.lines
        if is_new and len(self._places) >= self._most and not self._would_join(place, sorted(wanted)):
            self.refused.setdefault(hit.chunk.id, "")
            return None
        # What is shown with it is looked for only where it may fit itself: most offers end here.
        if self._is_too_long(place.text(wanted)) or not self._show(place, self._fresh(place, wanted)):
            self.refused[hit.chunk.id] = DOES_NOT_FIT
            return False
        self.refused.pop(hit.chunk.id, None)
        self._of_chunk[hit.chunk.id] = place
        if is_new:
            self._places.append(place)
        self._merge(place)
        if len(self._places) > self._most:  # the lines between it and its neighbour don't fit
            self._places.remove(place)
            del self._of_chunk[hit.chunk.id]
            self._filling.used -= place.cost
            self.refused[hit.chunk.id] = DOES_NOT_FIT
            return False
        return True

    def grow(self, last_line: Callable[[str], int]) -> None:
        """Spend what is left on more lines around the places, the best first. `last_line` gives the number of a file's."""
        for place in sorted(self._places, key=lambda place: self._order(place.hit)):
            end = last_line(place.hit.chunk.path)
            for _ in range(0, MORE_LINES, STEP):
                if place not in self._places:  # it has become part of another
                    break
                below = self._extend(place, place.end + 1, min(place.end + STEP, end))
                above = self._extend(place, max(place.start - STEP, 1), place.start - 1)
                if not below and not above:
                    break

    def finish(self) -> None:
        """Hand the places over to the pack, all in the order of their scores."""
        filling = self._filling
        filling.pieces += [Piece(place.item(), place.cost) for place in self._places]
        filling.pieces.sort(key=lambda piece: self._order(piece.item.hit))

    def _unshown(self, hit: Hit) -> Place:
        """Return a chunk as a place of which nothing is shown yet."""
        chunk = hit.chunk
        if (rows := self._rows.get(chunk.id)) is None:
            rows = self._rows[chunk.id] = rows_of(chunk.text)
        return Place(hit, chunk.span.start_line, rows.copy(), [chunk])

    def _take(self, item: ContextItem) -> None:
        lines = self._taken.setdefault(item.hit.chunk.path, set())
        lines.update(number for first, last in item.runs for number in range(first, last + 1))

    def _fresh(self, place: Place, wanted: Iterable[int]) -> list[int]:
        """Return the lines that aren't shown yet, a new place's signature, and those between that a mark would hardly save."""
        taken = self._taken.get(place.hit.chunk.path, set())
        lines = set(wanted)
        if not place.lines:
            lines.update(place.start + row for row in head_of(place.rows, place.hit.chunk.signature))
        numbers = sorted({place.start - 1, *place.lines, *lines, place.end + 1})
        for before, after in pairwise(numbers):
            if after - before <= FEWEST_HIDDEN + 1:
                lines.update(range(before + 1, after))
        return sorted(lines - place.lines - taken)

    def _show(self, place: Place, fresh: Sequence[int]) -> bool:
        """Show lines of a place, if they fit."""
        filling = self._filling
        text = place.text(fresh)
        if self._is_too_long(text):
            return False
        if place.lines:
            touches = any(number - 1 in place.lines or number + 1 in place.lines for number in (fresh[0], fresh[-1]))
            cost = filling.measure(text) + 1 + (0 if touches else self._mark)
        else:
            place.lines.update(fresh)
            cost = filling.piece(place.item()).cost
        if not filling.spend(cost):
            if place.cost == 0:
                place.lines.clear()
            return False
        place.cost += cost
        place.lines.update(fresh)
        return True

    def _is_too_long(self, text: str) -> bool:
        """Tell whether a text can't fit what is left, so that it isn't worth the counting."""
        return len(text) > TOO_LONG * (self._filling.amount - self._filling.used)

    def _beside(self, place: Place, numbers: Sequence[int]) -> list[Place]:
        """Return the other places of the file that these lines follow, or that follow them."""
        near = GAP_LINES + 1
        return [
            other
            for other in self._places
            if other is not place
            and other.hit.chunk.path == place.hit.chunk.path
            and (0 < min(numbers) - max(other.lines) <= near or 0 < min(other.lines) - max(numbers) <= near)
        ]

    def _would_join(self, place: Place, fresh: Sequence[int]) -> bool:
        return any(self._between(*_in_order(place, other)) is not None for other in self._beside(place, fresh))

    def _between(self, first: Place, second: Place) -> list[str] | None:
        """Return the lines between two places; None where they can't be read or were given elsewhere."""
        if second.start == first.end + 1:
            return []
        if self._read_lines is None or second.start <= first.end:
            return None
        taken = self._taken.get(first.hit.chunk.path, set())
        if second.start - first.end > GAP_LINES + 1 or any(n in taken for n in range(first.end + 1, second.start)):
            return None
        text = self._read_lines(first.hit.chunk.path, first.end + 1, second.start - 1)
        return None if text is None else rows_of(text)

    def _merge(self, place: Place) -> None:
        """Make one place of those that stand side by side, if the lines between them fit."""
        for other in self._beside(place, sorted(place.lines)):
            first, second = _in_order(place, other)
            between = self._between(first, second)
            if between is None:
                continue
            hidden = range(max(first.lines) + 1, min(second.lines))
            rows = [*first.rows, *between, *second.rows]
            if not rows[len(first.rows) - 1].endswith(("\n", "\r")):
                rows[len(first.rows) - 1] += "\n"
            extra = self._filling.measure("".join(rows[number - first.start] for number in hidden))
            if not self._filling.spend(extra):
                continue
            taken = self._taken.get(first.hit.chunk.path, set())
            better = min((first, second), key=lambda side: self._order(side.hit))
            best = max(first.hit.score, second.hit.score)
            first.hit, first.rows, first.is_chunk = replace(better.hit, score=best), rows, False
            first.parts = [*first.parts, *second.parts]
            first.lines |= second.lines | {number for number in hidden if number not in taken}
            first.cost += second.cost + extra
            self._places.remove(second)
            self._of_chunk = {chunk: first if held is second else held for chunk, held in self._of_chunk.items()}
            place = first

    def _order(self, hit: Hit) -> tuple[bool, float, float]:
        return (False, 0.0, 0.0) if hit.attached else (True, self._numbers.get(hit.chunk.id, math.inf), -hit.score)

    def _extend(self, place: Place, first: int, last: int) -> bool:
        """Show lines right before or after a place, up to what is shown elsewhere, if they fit."""
        path = place.hit.chunk.path
        taken = self._taken.get(path, set())
        others = [other for other in self._places if other is not place and other.hit.chunk.path == path]
        inside = any(number not in place.lines for number in ((place.end,) if first > place.end else (place.start,)))
        if first > last or inside or self._read_lines is None:
            return False
        if any(n in taken or any(other.start <= n <= other.end for other in others) for n in range(first, last + 1)):
            return False
        text = self._read_lines(path, first, last)
        if text is None:
            return False
        cost = self._filling.measure(text) + 1
        if not self._filling.spend(cost):
            return False
        place.cost += cost
        rows = rows_of(text)
        if first > place.end:
            if not place.rows[-1].endswith(("\n", "\r")):
                place.rows[-1] += "\n"
            place.rows += rows
        else:
            place.rows[:0] = rows
            place.start = first
        place.is_chunk = False
        place.lines.update(range(first, first + len(rows)))
        return True


def _width(row: str) -> int:
    return len(row.rstrip("\r\n").encode("utf-16-le", "surrogatepass")) // 2


def _in_order(place: Place, other: Place) -> tuple[Place, Place]:
    return (place, other) if place.start < other.start else (other, place)
