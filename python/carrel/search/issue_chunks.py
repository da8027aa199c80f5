"""The chunks that an issue's fix would change, in order: a linear model over what is known of each.

The weights were fitted on issues of 51 projects and checked on 26 others by `training/issue_weights.py`; docs/quality.md has the
figures.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from carrel.model.native import Candidate
from carrel.model.patterns import lazy_pattern
from carrel.question.issue_text import LEAD, NAMES, OPENING, TITLE, WHOLE, IssueText
from carrel.search.order import Order, Place, sort

Definers = Mapping[str, Sequence[tuple[int, str]]]
"""By name, the chunks that define exactly it, as (number, path)."""


class ChunkSignals(NamedTuple):
    """What is known of a chunk, or the weight of each signal.

    Lexical scores of a part are shares of the best chunk's. The file's score is in points behind the best file, its place counts
    6 / (6 + files before it).
    """

    title_meaning: float
    title_words: float
    opening_words: float
    names_words: float
    whole_words: float
    file_score: float
    file_place: float
    chunks_before: float  # how many chunks of its file the parts find before it, 10 at most
    lines: float  # their logarithm
    is_function: float
    is_private: float
    name_written: float  # the logarithm of how often the text has its name
    last_in_trace: float


FITTED = ChunkSignals(
    title_meaning=1.28,
    title_words=1.08,
    opening_words=0.57,
    names_words=1.5,
    whole_words=1.61,
    file_score=0.43,
    file_place=1.38,
    chunks_before=-0.17,
    lines=0.34,
    is_function=1.14,
    is_private=0.55,
    name_written=0.35,
    last_in_trace=1.34,
)
"""Together the logarithm of the odds that a fix changes a chunk, up to a constant."""

PLACE = 6.0
"""A place in a list counts 6 / (6 + places before it)."""
BEST_CHUNK_BONUS = 0.5
"""For the best chunk of a file, times its file's place, so that good files show early."""
_MOST_BEFORE = 10
_SHORTEST_NAME = 3
"""Characters of a name that counts as written in the text: shorter ones are words."""
_NAME = lazy_pattern(r"\b[A-Za-z_]\w{0,199}")
_LAST_NAME = lazy_pattern(r"\w{1,200}\Z")


class FileStanding(NamedTuple):
    """Where the file of a chunk stands."""

    behind: float  # points behind the best file, 0 or less
    place: float  # 6 / (6 + files before it)


def order_chunks(
    issue: IssueText,
    lists: Mapping[str, Sequence[Candidate]],
    files: Mapping[str, FileStanding],
    definers: Definers,
    relevance: Callable[[Candidate], float],
) -> Order:
    """Return all chunks that a part of the text finds. `files` holds the file of each; a step is what a signal adds."""
    by_part = {part: {r.doc: r for r in ranked} for part, ranked in lists.items()}
    candidates = dict(by_part.get(LEAD, {}))
    for of_part in by_part.values():
        candidates = {**of_part, **candidates}
    # What decides between equal ones.
    docs = sorted(candidates, key=lambda doc: (candidates[doc].path, candidates[doc].start_line))
    places: dict[int, float] = defaultdict(float)
    for of_part in by_part.values():
        for place, doc in enumerate(of_part):
            places[doc] += PLACE / (PLACE + place)
    weighing = _Weighing(issue, by_part, files, definers)
    before: dict[str, int] = defaultdict(int)
    place_of: dict[int, Place] = {}
    for doc in sorted(docs, key=places.__getitem__, reverse=True):
        candidate = candidates[doc]
        path = candidate.path
        steps = tuple(zip(FITTED._fields, map(mul, FITTED, weighing.signals(doc, candidate, path, before[path])), strict=True))
        place_of[doc] = Place(candidate, sum(gain for _, gain in steps), relevance(candidate), steps)
        before[path] += 1
    order = Order(sort(place_of[doc] for doc in docs))
    best_of_file = {place.candidate.path: place.candidate.doc for place in reversed(order.places)}
    bonus = {doc: BEST_CHUNK_BONUS * files[path].place for path, doc in best_of_file.items()}
    return order.moved("best_of_its_file", bonus)


class _Weighing:
    """What the signals of every chunk are told from."""

    def __init__(
        self,
        issue: IssueText,
        by_part: Mapping[str, Mapping[int, Candidate]],
        files: Mapping[str, FileStanding],
        definers: Definers,
    ) -> None:
        self._title = by_part.get(TITLE, {})
        self._opening, self._names, self._whole = (_shares_of_words(by_part.get(part, {})) for part in (OPENING, NAMES, WHOLE))
        self._files = files
        self._written = Counter(_NAME.findall(issue.whole))
        self._last_traced = _last_traced(issue, definers)

    def signals(self, doc: int, r: Candidate, path: str, before: int) -> ChunkSignals:
        """Return those of a chunk, of whose file the parts find `before` chunks ahead of it."""
        title, standing = self._title.get(doc), self._files[path]
        last = _last_name(r.symbol)
        return ChunkSignals(
            title.dense if title else 0.0,
            title.lexical if title else 0.0,
            self._opening.get(doc, 0.0),
            self._names.get(doc, 0.0),
            self._whole.get(doc, 0.0),
            standing.behind,
            standing.place,
            min(before, _MOST_BEFORE),
            math.log1p(r.end_line - r.start_line),
            float(r.callable),
            float(last.startswith("_") and not last.startswith("__")),
            math.log1p(self._written[last]) if len(last) >= _SHORTEST_NAME else 0.0,
            float(doc in self._last_traced),
        )


def _last_name(symbol: str) -> str:
    """Return the name of a symbol without its qualifiers, empty for one that doesn't end with a name."""
    last = symbol.rpartition(".")[2]
    if last.isidentifier():  # of nearly all, and quicker
        return last
    return name[0] if (name := _LAST_NAME.search(last)) else ""


def _shares_of_words(candidates: Mapping[int, Candidate]) -> dict[int, float]:
    """Return the lexical score of each chunk as a share of the best one's."""
    most = max((r.lexical for r in candidates.values()), default=0.0)
    return {doc: r.lexical / most for doc, r in candidates.items()} if most > 0 else {}


def _last_traced(issue: IssueText, definers: Definers) -> frozenset[int]:
    """Find the chunks that define the last function of the trace that is here, in a file that is called like its frame's."""
    for frame in reversed(issue.frames):
        name = frame.path.rpartition("/")[2]
        if frame.function and (there := [doc for doc, path in definers[frame.function] if path.rpartition("/")[2] == name]):
            return frozenset(there)
    return frozenset()
