"""Cosine over whole identifier words, exact: each word has a dimension of its own.

There are as many dimensions as words, so that no index can store such vectors; the index's fallback puts words in hashed places
(`Embedder.hashed` of the core).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from carrel.model.patterns import lazy_pattern

_WORD = lazy_pattern(r"\b[a-z_][a-z0-9_]*\b")


def word_counts(text: str) -> Counter[str]:
    """Count the words of a text, in lower case; `2fa` holds none."""
    return Counter(_WORD.findall(text.lower()))


def cosine(counts: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return the cosine of two counts, from 0 to 1; 0 where one is empty."""
    if len(counts) > len(other):
        counts, other = other, counts
    dot = sum(count * other[word] for word, count in counts.items() if word in other)
    return dot / math.sqrt(_square(counts) * _square(other)) if dot else 0.0


def _square(counts: Mapping[str, int]) -> int:
    return sum(count * count for count in counts.values())
