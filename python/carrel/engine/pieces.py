"""Making the pieces of a pack: neighbours joined into one, chunks shortened to what tells most."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from carrel.core.types import Chunk, ContextItem, Hit, Span, masks_in

GAP_LINES = 3
"""Neighbours with so few lines between them are shown as one piece."""
MOST_SYMBOLS = 4
"""A joined piece is named by so many of its parts."""
_MORE = ", …"
LARGEST_SIGNATURE = 0.4
"""A signature that is a larger share of its chunk saves too little to be worth the body."""

LEAST_LINES = 2
"""An excerpt of fewer lines says less than a signature."""

_OPENED = re.compile(r"([(\[])\s+")
_CLOSED = re.compile(r",?\s+([)\]])")

LineReader = Callable[[str, int, int], str | None]
"""(path, first line, last line) -> their text as it stands now, or None."""


def follows(first: ContextItem, second: ContextItem) -> bool:
    """Tell whether the second begins at most `GAP_LINES` lines after the first of the same file, and both are whole."""
    a, b = first.hit.chunk, second.hit.chunk
    whole = not first.elided and not second.elided
    return whole and a.path == b.path and 0 < b.span.start_line - a.span.end_line <= GAP_LINES + 1


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
        symbol=_common_symbol(a.symbol, b.symbol),
        definitions=tuple(dict.fromkeys((*a.definitions, *b.definitions))),
        text=text,
        masked=a.masked + b.masked + masks_in(between),
    )
    return ContextItem(replace(better.hit, chunk=chunk), text), between


def signature_only(hit: Hit) -> ContextItem | None:
    """Return the signature and a mark in place of the body; None where that would save little."""
    chunk = hit.chunk
    if not chunk.signature or chunk.text.count("\n") < 3 or len(chunk.signature) > len(chunk.text) * LARGEST_SIGNATURE:
        return None
    indent = _indent(chunk)
    span = chunk.span
    mark = f"… (lines {span.start_line}-{span.end_line} left out)"
    text = f"{indent}{_one_line(chunk.signature)}\n{indent}    {mark}"
    return ContextItem(hit, text, elided=True, shown=(span.start_line, span.start_line))


def excerpt(hit: Hit, budget: int, cost: int, measure: Callable[[str], int]) -> ContextItem | None:
    """Return the lines around the hit's focus, as many as fit, with marks for the rest; None for less than two lines.

    Where the chunk's first line isn't among them, its signature stands before them. `cost` is about that of the whole text.
    """
    chunk = hit.chunk
    rows = chunk.text.splitlines()
    count = min(len(rows) - 1, int(len(rows) * budget / max(cost, 1)))
    while count >= LEAST_LINES:
        item = some_lines(hit, rows, _around(hit, count, len(rows)), count)
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


def some_lines(hit: Hit, rows: Sequence[str], first: int, count: int) -> ContextItem:
    """Return these lines of a hit, from 0, with marks for the rest, and its signature before them if they don't begin it."""
    chunk = hit.chunk
    indent = _indent(chunk)
    # `splitlines` knows more line ends than editors do; a mark never claims a line that the chunk doesn't have.
    start, end = chunk.span.start_line, chunk.span.end_line
    begin, last = min(start + first, end), min(start + first + count - 1, end)
    text = "\n".join(rows[first : first + count])
    if first > 0:
        head = f"{indent}{_one_line(chunk.signature)}\n" if chunk.signature else ""
        text = f"{head}{indent}    … (lines {start}-{max(begin - 1, start)} left out)\n{text}"
    if first + count < len(rows):
        text = f"{text.rstrip()}\n{indent}    … (lines {min(last + 1, end)}-{end} left out)"
    return ContextItem(hit, text, elided=True, shown=(begin, last))


def _one_line(signature: str) -> str:
    """Join a signature that was written over several lines, as it would be written on one."""
    return _OPENED.sub(r"\1", _CLOSED.sub(r"\1", signature))


def _indent(chunk: Chunk) -> str:
    first = next((line for line in chunk.text.splitlines() if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _with_line_end(text: str) -> str:
    return text if text.endswith(("\n", "\r")) or not text else text + "\n"


def _common_symbol(first: str, second: str) -> str:
    if not first or not second or first == second:
        return first or second
    names = first.removesuffix(_MORE).split(", ")
    if first.endswith(_MORE) or len(names) >= MOST_SYMBOLS:
        return ", ".join(names) + _MORE
    return f"{first}, {second}"
