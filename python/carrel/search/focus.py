"""Which lines of a long chunk to read first: those around the words of the question."""

from __future__ import annotations

from collections.abc import Mapping

from carrel.model.native import best_lines
from carrel.model.types import Chunk

FOCUS_LINES = 20
"""A chunk of up to half as many more lines is its own focus: less would save too little to be worth what it hides."""


def focus(chunk: Chunk, rarity: Mapping[str, float], *, sought: bool = False) -> tuple[int, int]:
    """Return the first and last line (1-based, inclusive) of the part of a chunk that says most about the question.

    A window of `FOCUS_LINES` lines, the one whose words weigh most: each word of the question counts its rarity, and by the
    logarithm of how often it occurs. `sought` says that the question is for the chunk's name. Without any such word it is
    the first lines, and all of a chunk that is short.
    """
    span = chunk.span
    if span.end_line - span.start_line < FOCUS_LINES * 3 // 2:
        return span.start_line, span.end_line
    start = span.start_line + best_lines(chunk.text, chunk.symbol, chunk.signature, rarity, FOCUS_LINES, sought=sought)
    return start, min(start + FOCUS_LINES - 1, span.end_line)
