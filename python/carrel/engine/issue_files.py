"""Order the files that come after those of the best chunks, by a linear model over what is known of each.

A file's best chunk decides well which files are first. Further down, where no single chunk is convincing, all chunks of a file
together tell more. The weights were fitted on issues of 56 projects and checked on 23 others by `training/issue_weights.py`;
docs/quality.md has the figures.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from carrel.engine.issue_chunks import FileStanding, FoundChunk

FIRST, LAST = 5, 10
"""The files after the first five, up to the tenth, are ordered here."""
LEAST_BEHIND = -8.0
"""Points behind the best file: further behind are those that a penalty puts there."""
_FEW_WORDS = 400
"""In a file of fewer words each chunk counts as much."""


class FileSignals(NamedTuple):
    """Hold what is known of a file, or the weight of each signal."""

    behind: float  # its score, in points behind the best file's
    path_gain: float  # what its path adds to its score
    chunk_place: float  # minus the logarithm of its place by its best chunk
    odds: float  # the logarithm of the odds of all its chunks together, by what is known of the chunks alone
    chunks: float  # the logarithm of how many of its chunks the parts find
    words: float  # the logarithm of its words, as far as they are more than a few
    whole_covered: float  # how much of the whole text's words its best chunk for that holds
    whole_score: float  # the best score of a chunk for the whole text, as a share of the best file's
    whole_meaning: float  # cosine of the whole text and the nearest of its chunks


FITTED = FileSignals(
    behind=0.42,
    path_gain=0.24,
    chunk_place=0.44,
    odds=0.42,
    chunks=0.43,
    words=-0.36,
    whole_covered=2.64,
    whole_score=1.01,
    whole_meaning=-1.72,
)
"""Together the logarithm of the odds that a fix changes a file, up to a constant. That the meaning of the whole text counts
against a file says that the other signals hold too much of it."""


def file_signals(chunks: Sequence[FoundChunk], standings: Mapping[str, FileStanding]) -> dict[str, FileSignals]:
    """Return what is known of each chunk's file, best chunks first."""
    most = max((found.alone for found in chunks), default=0.0)
    odds: dict[str, float] = defaultdict(float)
    number: dict[str, int] = defaultdict(int)
    words: dict[str, int] = {}
    for found in chunks:
        path = found.path
        odds[path] += math.exp(found.alone - most)
        number[path] += 1
        if path not in words:
            words[path] = found.chunk.file_words
    signals = {}
    for place, path in enumerate(words):
        standing = standings[path]
        signals[path] = FileSignals(
            max(standing.behind, LEAST_BEHIND),
            standing.path_gain,
            -math.log1p(place),
            math.log(odds[path]),
            math.log1p(number[path]),
            math.log(max(words[path] / _FEW_WORDS, 1.0)),
            standing.whole_covered,
            standing.whole_score,
            standing.whole_meaning,
        )
    return signals


def order_files(signals: Mapping[str, FileSignals]) -> list[str]:
    """Return the files, best first."""
    score = {path: sum(map(mul, FITTED, row)) for path, row in signals.items()}
    return sorted(signals, key=score.__getitem__, reverse=True)


def next_files_first(paths: Sequence[str], files: Sequence[str], settled: int = 0) -> Iterator[tuple[int, int]]:
    """Put the files after the first ones in the order of `files`.

    `paths` are those of the chunks, best first; the first `settled` of them stay where they are. Yields the number of a chunk
    and of the chunk whose place it takes: one that would show a file too early waits for the best chunks of those before it.
    """
    best: dict[str, int] = {}
    for number, path in enumerate(paths):
        best.setdefault(path, number)
    waiting = [file for file in files if file in best]
    shown = set(paths[:settled])
    for number, path in enumerate(paths):
        while path not in shown:
            decided = FIRST <= len(shown) < LAST
            entering = next((file for file in waiting if file not in shown), path) if decided else path
            shown.add(entering)
            yield best[entering], number
        if number < settled or number != best[path]:
            yield number, number
