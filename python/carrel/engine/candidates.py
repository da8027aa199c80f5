"""What every search finds for a question, each candidate with all signals."""

from __future__ import annotations

import time
from collections.abc import Callable

from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken, Filter, Ranked
from carrel.core.types import Filters, Query
from carrel.engine.prepare import SearchText
from carrel.engine.ranking import RankingContext

CANDIDATES_A_HIT = 5
"""How many candidates each search gives for each hit that is asked for."""
MINIMUM_POOL = 60
MAXIMUM_POOL = 250
SECONDS_A_DAY = 86_400


class Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on `stage`."""
        now = time.perf_counter()
        self.stages[stage] = round(self.stages.get(stage, 0.0) + 1000 * (now - self._last), 3)
        self._last = now


def search(
    view: SnapshotView,
    text: SearchText,
    query: Query,
    floor: float,
    cancel: CancelToken,
    watch: Stopwatch | None = None,
    *,
    quotes: bool = True,
) -> tuple[list[Ranked], RankingContext]:
    """Ask every search for a text, join what they found, and give each candidate all signals.

    Limit, filters and files are those of `query`; `floor` is the cosine below which a dense hit is noise. With `quotes` the texts
    of those that hold most of the question are read for what they hold of it word for word.
    """
    watch = watch or Stopwatch()
    question, vector = text.question, text.vector
    chosen = native_filter(query.filters)
    pool = min(max(CANDIDATES_A_HIT * query.limit, MINIMUM_POOL), max(MAXIMUM_POOL, query.limit))
    dense, lexical = view.search(vector, question.search_text, pool, floor, chosen, cancel)
    watch.lap("search")
    if query.pinned:  # what a person pinned is always a candidate
        only = Filter(path_globs=[literal_glob(path) for path in query.pinned], exclude_globs=query.filters.exclude)
        known = {candidate.doc for candidate in dense}
        dense += [c for c in view.dense(vector, query.limit, -1.0, only, cancel) if c.doc not in known]
        watch.lap("pinned")
    names = question.names or (question.words if len(question.words) == 1 else ())
    defining = view.definitions(names, pool, chosen) if names else []
    watch.lap("definitions")
    # What is pasted from a text stands there word for word; a wish for a change stands nowhere yet.
    quoted = question.quoted if quotes and not question.is_change else ""
    holding = view.holders(question.search_text, MINIMUM_POOL, chosen, cancel) if quoted else []
    watch.lap("holders")
    docs = list(dict.fromkeys(c.doc for arm in (dense, lexical, defining, holding) for c in arm))
    ranked = view.evidence(question.search_text, vector, docs, quoted)
    by_doc = {r.doc: r for r in ranked}
    for place, candidate in enumerate(dense, 1):
        if found := by_doc.get(candidate.doc):
            found.dense_rank = place
    for place, candidate in enumerate(lexical, 1):
        if found := by_doc.get(candidate.doc):
            found.lexical_rank = place
    for candidate in defining:
        if found := by_doc.get(candidate.doc):
            found.defines = candidate.score
    if query.active_path is not None:
        for found, tie in zip(ranked, view.ties(query.active_path, list(by_doc)), strict=True):
            found.tied = tie
    context = RankingContext(question, dict(zip(question.words, view.rarities(question.words), strict=True)))
    watch.lap("describe")
    return ranked, context


def literal_glob(path: str) -> str:
    """Return a glob that matches this path only."""
    literal = "".join(f"[{c}]" if c in "*?[]{},\\" else c for c in path)
    # A pattern without a slash is a name that may be anywhere.
    return literal if "/" in path else f"{{{literal},{literal}/}}"


def native_filter(filters: Filters, *, now: Callable[[], float] = time.time) -> Filter | None:
    """Return the filter that the index applies while it searches; None when everything may answer."""
    if filters == Filters(min_score=filters.min_score):
        return None
    age = filters.max_age_days
    return Filter(
        path_globs=filters.path_globs,
        exclude_globs=filters.exclude,
        languages=filters.languages,
        symbol=filters.symbol,
        sources=filters.sources,
        updated_after=None if age is None else int(now() - age * SECONDS_A_DAY),
        metadata={name: [value] if isinstance(value, str) else value for name, value in filters.metadata.items()},
    )
