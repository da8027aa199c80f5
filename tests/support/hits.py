"""Hits made of plain data, for tests of what comes after the search."""

from __future__ import annotations

from carrel.model.types import Chunk, Hit, Signals, Span


def hit(
    path: str = "a.py",
    start: int = 1,
    text: str = "def f():\n    return 1\n",
    *,
    score: float = 0.5,
    symbol: str = "f",
    signature: str = "",
) -> Hit:
    """A hit whose last line follows from its text."""
    end = start + max(len(text.splitlines()), 1) - 1
    chunk = Chunk(
        id=f"{path}:{start}",
        path=path,
        language="python",
        source="code",
        kind="function",
        symbol=symbol,
        container="",
        signature=signature,
        definitions=(symbol,) if symbol else (),
        imports=(),
        span=Span(start, end),
        text=text,
        content_hash="0",
        updated_at=0,
    )
    return Hit(chunk, score, Signals())
