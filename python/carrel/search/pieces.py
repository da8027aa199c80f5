"""Making the pieces of a pack: neighbours joined into one, chunks shortened to what tells most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from carrel.model.lines import lines_of, rows_of
from carrel.model.types import Chunk, ContextItem, Hit, Span, masks_in

GAP_LINES = 3
"""Neighbours with so few lines between them are shown as one piece."""
MOST_SYMBOLS = 4
"""A joined piece is named by so many of its parts."""
_MORE = ", …"
HEADINGS = " > "
"""Between the headings of a section, the outermost first."""
LARGEST_SIGNATURE = 0.4
"""A signature that is a larger share of its chunk saves too little to be worth the body."""

LEAST_LINES = 2
"""An excerpt of fewer lines says less than a signature."""

LONGEST_HEAD = 12
"""A signature over more lines is left out with the rest."""

LineReader = Callable[[str, int, int], str | None]
"""(path, first line, last line) -> their text as it stands now, or None."""


def follows(first: ContextItem, second: ContextItem) -> bool:
    """Tell whether the second begins at most `GAP_LINES` lines after the first of its file; both are whole, and found
    or both attached."""
    a, b = first.hit.chunk, second.hit.chunk
    alike = not first.elided and not second.elided and first.hit.attached == second.hit.attached
    return alike and a.path == b.path and 0 < b.span.start_line - a.span.end_line <= GAP_LINES + 1


def joined(
    first: ContextItem, second: ContextItem, better: ContextItem, read_lines: LineReader | None
) -> tuple[ContextItem, str] | None:
    """Return both and the lines between them as one item with the identity and score of the better one, and those lines.

    None when the lines between can't be read.
    """
    a, b = first.hit.chunk, second.hit.chunk
    between = ""
    if b.span.start_line - a.span.end_line > 1:
        read = read_lines(a.path, a.span.end_line + 1, b.span.start_line - 1) if read_lines else None
        if read is None:
            return None
        between = _with_line_end(read)
    text = _with_line_end(first.text) + between + second.text
    chunk = replace(
        better.hit.chunk,
        span=Span(a.span.start_line, b.span.end_line, a.span.start_character, b.span.end_character),
        symbol=common_symbol(a.symbol, b.symbol),
        definitions=tuple(dict.fromkeys((*a.definitions, *b.definitions))),
        text=text,
        masked=a.masked + b.masked + masks_in(between),
    )
    return ContextItem(replace(better.hit, chunk=chunk), text), between


def signature_only(hit: Hit) -> ContextItem | None:
    """Return the lines of the signature and a mark in place of the rest; None where that would save little."""
    chunk = hit.chunk
    if not chunk.signature or chunk.text.count("\n") < 3 or len(chunk.signature) > len(chunk.text) * LARGEST_SIGNATURE:
        return None
    rows = rows_of(chunk.text)
    head = head_of(rows, chunk.signature)
    return some_lines(hit, rows, set(head)) if head else None


def excerpt(hit: Hit, budget: int, cost: int, measure: Callable[[str], int]) -> ContextItem | None:
    """Return the lines around the hit's focus, as many as fit, with marks for the rest; None for less than two lines.

    The lines of its signature stand before them. `cost` is about that of the whole text.
    """
    rows = rows_of(hit.chunk.text)
    head = head_of(rows, hit.chunk.signature)
    count = min(len(rows) - 1, int(len(rows) * budget / max(cost, 1)))
    while count >= LEAST_LINES:
        first = _around(hit, count, len(rows))
        item = some_lines(hit, rows, {*head, *range(first, first + count)})
        needed = measure(item.text)
        if needed <= budget:
            return item
        # Tokens are spread unevenly: shrink by what this try cost.
        count = min(count - 1, int(count * budget / needed))
    return None


def _around(hit: Hit, count: int, total: int) -> int:
    """Return where to begin so that `count` of `total` lines hold the focus: its beginning, if they can't hold all of it."""
    if hit.focus is None:
        return 0
    begin = hit.focus[0] - hit.chunk.span.start_line
    spare = count - (hit.focus[1] - hit.focus[0] + 1)
    return min(max(begin - max(spare, 0) // 2, 0), max(total - count, 0))


def head_of(rows: Sequence[str], signature: str) -> range:
    """Return which lines, from 0, hold the signature as it is written; none where it isn't found or is very long."""
    wanted = "".join(signature.split())
    for first, row in enumerate(rows):
        text = "".join(row.split())
        if not text or not (wanted.startswith(text) or text.startswith(wanted)):
            continue
        for last in range(first, min(first + LONGEST_HEAD, len(rows))):
            text += "".join(rows[last].split()) if last > first else ""
            if text.startswith(wanted):
                return range(first, last + 1)
            if not wanted.startswith(text):
                break
    return range(0)


def some_lines(hit: Hit, rows: Sequence[str], wanted: AbstractSet[int]) -> ContextItem:
    """Return these lines of a hit, from 0, each as it stands there, with a mark in place of each run of others."""
    chunk = hit.chunk
    indent = _indent(chunk)
    start, end = chunk.span.start_line, chunk.span.end_line
    parts: list[str] = []
    shown: list[tuple[int, int]] = []
    at = 0
    for first, last in runs_of(wanted):
        if first > at:
            parts.append(_mark(indent, start + at, start + first - 1))
        parts += rows[first : last + 1]
        if not parts[-1].endswith(("\n", "\r")):
            parts.append("\n")
        # A mark never claims a line that the chunk doesn't have.
        shown.append((min(start + first, end), min(start + last, end)))
        at = last + 1
    if at < len(rows):
        parts.append(_mark(indent, start + at, end))
    return ContextItem(hit, "".join(parts), elided=True, shown=tuple(shown))


def runs_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as runs of neighbours: the first and the last of each."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _mark(indent: str, first: int, last: int) -> str:
    return f"{indent}    … (lines {first}-{max(first, last)} left out)\n"


def _indent(chunk: Chunk) -> str:
    first = next((line for line in lines_of(chunk.text) if line.strip()), "")
    return first[: len(first) - len(first.lstrip(" \t"))]


def _with_line_end(text: str) -> str:
    return text if text.endswith(("\n", "\r")) or not text else text + "\n"


def common_symbol(first: str, second: str) -> str:
    """Return the name of two neighbours that are shown as one; headings above both are named once."""
    if not first or not second or first == second:
        return first or second
    names = first.removesuffix(_MORE).split(", ")
    if first.endswith(_MORE) or len(names) >= MOST_SYMBOLS:
        return ", ".join(names) + _MORE
    above = names[0].rpartition(HEADINGS)[0]
    return f"{first}, {second.removeprefix(above + HEADINGS) if above else second}"
