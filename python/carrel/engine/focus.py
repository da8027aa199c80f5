"""Which lines of a long chunk to read first: those around the words of the question."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from carrel.core.types import Chunk

FOCUS_LINES = 20
"""A chunk of up to half as many more lines is its own focus: less would save too little to be worth what it hides."""
NAME_WEIGHT = 1.0
"""What the line that names the chunk is worth, as a share of the whole question: it says what one is looking at."""

SOUGHT_WEIGHT = 4.0
"""The same when that name is what was asked for."""


def focus(chunk: Chunk, rarity: Mapping[str, float], *, sought: bool = False, lines: int = FOCUS_LINES) -> tuple[int, int]:
    """First and last line (1-based, inclusive) of the part of a chunk that says most about the question.

    A window of `lines` lines, the one whose words weigh most: each word of the question counts its rarity, and by the
    logarithm of how often it occurs. `sought` says that the question is for the chunk's name. Without any such word it is
    the first lines, and all of a chunk that is short.
    """
    span = chunk.span
    rows = chunk.text.splitlines()
    if len(rows) <= lines * 3 // 2:
        return span.start_line, span.end_line
    found = _words_by_row(chunk.text, rows, rarity)
    bonus = (SOUGHT_WEIGHT if sought else NAME_WEIGHT) * sum(rarity.values())
    start = best_window(found, rarity, (_name_row(rows, chunk), bonus), lines)
    return span.start_line + start, min(span.start_line + start + lines - 1, span.end_line)


def _words_by_row(text: str, rows: Sequence[str], stems: Iterable[str]) -> list[list[str]]:
    """Which stems begin a word, or a piece of an identifier, in each row. Searches instead of splitting: it is called often."""
    found: list[list[str]] = [[] for _ in rows]
    lower = text.lower()
    if len(lower) != len(text):  # a letter that changes its length moves all that follow
        text = lower
    starts = list(accumulate((len(row) for row in text.splitlines(keepends=True)), initial=0))
    for word in stems:
        at = lower.find(word)
        while at >= 0:
            if not text[at - 1 : at].isalpha() or (text[at].isupper() and not text[at - 1].isupper()):
                found[bisect_right(starts, at) - 1].append(word)
            at = lower.find(word, at + len(word))
    return found


def best_window(rows: Sequence[list[str]], rarity: Mapping[str, float], name: tuple[int | None, float], lines: int) -> int:
    """Where the best window of `lines` rows begins, as an index from 0; the first of equally good ones.

    `name` is the row that names the chunk and what having it is worth.
    """
    name_row, bonus = name
    counts: dict[str, int] = dict.fromkeys(rarity, 0)
    value = 0.0
    best, best_value = 0, 0.0
    for last, words in enumerate(rows):
        value += _change(counts, words, rarity, 1)
        first = last - lines + 1
        if first > 0:
            value += _change(counts, rows[first - 1], rarity, -1)
        first = max(first, 0)
        here = value + (bonus if name_row is not None and first <= name_row <= last else 0.0)
        # A window that is not full yet is part of the one that begins at 0.
        if (last >= lines - 1 or last == len(rows) - 1) and here > best_value + 1e-9:
            best, best_value = first, here
    return best


def _change(counts: dict[str, int], words: Sequence[str], rarity: Mapping[str, float], by: int) -> float:
    total = 0.0
    for word in words:
        before = counts[word]
        counts[word] = before + by
        total += rarity[word] * (math.log1p(before + by) - math.log1p(before))
    return total


def _name_row(rows: Sequence[str], chunk: Chunk) -> int | None:
    """The line that the definition begins on, which may come after a long comment; else the first one with the name."""
    name = re.split(r"[.:#]+", chunk.symbol.removesuffix(" (header)"))[-1]
    if not name:
        return None
    before, found, _ = chunk.signature.strip().partition(name)
    for sign in (f"{before}{name}" if found else "", name):
        if sign and (row := next((i for i, text in enumerate(rows) if sign in text), None)) is not None:
            return row
    return None
