"""Query -> hits: search arms, fusion, rules, and texts that are checked at this moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from carrel.core.native import CancelToken, ChunkInfo, Filter, FreshChunk, Ranked, Scene
from carrel.core.ports import Embedder, SnapshotView
from carrel.core.types import Chunk, Dropped, Filters, Hit, Query, Span
from carrel.engine import query_words
from carrel.engine.focus import focus
from carrel.engine.ranking import Asked, rank, relevance, scene_of, signals

CANDIDATES_A_HIT = 5
"""How many candidates each search gives for each hit that is asked for."""
LEFT_OUT = "left out of this question"
MINIMUM_POOL = 60
MAXIMUM_POOL = 250
SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first, and what is needed to explain them."""

    hits: tuple[Hit, ...]
    given: frozenset[int]  # which candidates they are
    dropped: tuple[Dropped, ...]
    ranked: tuple[Ranked, ...]  # every candidate, in the final order
    asked: Asked
    scene: Scene
    stages: dict[str, float]  # milliseconds
    plan: dict[str, object]


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


def retrieve(
    view: SnapshotView, embedder: Embedder, query: Query, cancel: CancelToken, *, without: frozenset[str] = frozenset()
) -> Retrieval:
    """Find the `query.limit` best chunks. `without` names rules of the ranking to leave out.

    Raises `Cancelled`; an empty query finds nothing.
    """
    watch = Stopwatch()
    scene = scene_of(query)
    if not query.text.strip():
        return Retrieval((), frozenset(), (), (), Asked(query_words.read("")), scene, watch.stages, {})
    ranked, asked = search(view, embedder, query, cancel, watch)
    question = asked.question
    order = rank(ranked, asked, scene, without=without)
    watch.lap("rank")
    hits, given, dropped = _take(view, order, asked, query, embedder.floor, cancel)
    watch.lap("read")
    plan: dict[str, object] = {
        "words": list(question.words),
        "names": list(question.names),
        "symbolQuery": question.is_symbol,
        "candidates": {
            "dense": sum(r.dense_rank is not None for r in ranked),
            "lexical": sum(r.lexical_rank is not None for r in ranked),
            "definitions": sum(r.defines > 0 for r in ranked),
        },
        "embedder": embedder.id,
    }
    return Retrieval(tuple(hits), given, tuple(dropped), tuple(order), asked, scene, watch.stages, plan)


def search(
    view: SnapshotView, embedder: Embedder, query: Query, cancel: CancelToken, watch: Stopwatch | None = None
) -> tuple[list[Ranked], Asked]:
    """Ask every search, join what they found, and give each candidate all signals."""
    watch = watch or Stopwatch()
    question = query_words.read(query.text)
    chosen = native_filter(query.filters)
    pool = min(max(CANDIDATES_A_HIT * query.limit, MINIMUM_POOL), max(MAXIMUM_POOL, query.limit))
    vector = embedder.embed_query(question.text)
    watch.lap("embed")
    dense, lexical = view.search(vector, question.search_text, pool, embedder.floor, chosen, cancel)
    watch.lap("search")
    if query.pinned:  # what a person pinned is always a candidate
        only = Filter(path_globs=[literal_glob(path) for path in query.pinned], exclude_globs=query.filters.exclude)
        known = {candidate.doc for candidate in dense}
        dense += [c for c in view.dense(vector, query.limit, -1.0, only, cancel) if c.doc not in known]
        watch.lap("pinned")
    names = question.names or (question.words if len(question.words) == 1 else ())
    defining = view.definitions(names, pool, chosen) if names else []
    watch.lap("definitions")
    docs = list(dict.fromkeys(c.doc for arm in (dense, lexical, defining) for c in arm))
    ranked = view.evidence(question.search_text, vector, docs)
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
    asked = Asked(question, dict(zip(question.words, view.rarities(question.words), strict=True)))
    watch.lap("describe")
    return ranked, asked


def _take(
    view: SnapshotView, order: Sequence[Ranked], asked: Asked, query: Query, floor: float, cancel: CancelToken
) -> tuple[list[Hit], frozenset[int], list[Dropped]]:
    """Read the best candidates; one that can't be given as it stands is replaced by the next."""
    hits: list[Hit] = []
    given: list[int] = []
    dropped: list[Dropped] = []
    wanted = [r for r in order if query.filters.min_score is None or relevance(r, floor) >= query.filters.min_score]
    at = 0
    while len(hits) < query.limit and at < len(wanted):
        batch = wanted[at : at + query.limit - len(hits)]
        at += len(batch)
        for ranked, fresh in zip(batch, view.fresh([r.doc for r in batch], cancel), strict=True):
            start, end = ranked.start_line, ranked.end_line
            if isinstance(fresh, str):
                dropped.append(Dropped(ranked.path, start, end, fresh))
                continue
            chunk = to_chunk(fresh)
            if query.leaves_out(chunk.path, chunk.span.start_line, chunk.span.end_line):
                dropped.append(Dropped(chunk.path, chunk.span.start_line, chunk.span.end_line, LEFT_OUT))
                continue
            if twin := next((h for h in hits if h.chunk.path == chunk.path and h.chunk.span.overlaps(chunk.span)), None):
                span = twin.chunk.span
                dropped.append(Dropped(chunk.path, start, end, f"overlaps lines {span.start_line}-{span.end_line}"))
                continue
            lines = focus(chunk, asked.rarity, sought=ranked.defines > 0)
            given.append(ranked.doc)
            hits.append(Hit(chunk, relevance(ranked, floor), signals(ranked), lines))
    return hits, frozenset(given), dropped


def to_chunk(fresh: FreshChunk) -> Chunk:
    """A native chunk with its checked text as a value of `core`."""
    info: ChunkInfo = fresh.info
    return Chunk(
        id=info.id,
        path=info.path,
        language=info.language,
        source=info.source,
        kind=info.kind,
        symbol=info.symbol,
        container=info.container,
        signature=info.signature,
        definitions=tuple(info.definitions),
        imports=tuple(fresh.imports),
        span=Span(info.start_line, info.end_line, fresh.start_character, fresh.end_character),
        text=fresh.text,
        content_hash=info.content_hash,
        updated_at=info.updated_at,
        masked=fresh.masked,
    )


def literal_glob(path: str) -> str:
    """A glob that matches this path only."""
    literal = "".join(f"[{c}]" if c in "*?[]{},\\" else c for c in path)
    # A pattern without a slash is a name that may be anywhere.
    return literal if "/" in path else f"{{{literal},{literal}/}}"


def native_filter(filters: Filters, *, now: Callable[[], float] = time.time) -> Filter | None:
    """The filter that the index applies while it searches; None when everything may answer."""
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
