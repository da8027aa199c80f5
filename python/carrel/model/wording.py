"""Words for what people read."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with what is counted, such as `1 file` and `2,000 files`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
