"""Several searches for one question -> one ranking: by rank, each chunk once."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate
from carrel.model.types import CandidateCounts, Hit
from carrel.question.prepare import PreparedQuery
from carrel.search.order import Order, Place
from carrel.search.ranking import RankingContext
from carrel.search.retriever import Ranking, find


def find_each(view: SnapshotView, texts: Sequence[PreparedQuery], cancel: CancelToken) -> Ranking:
    """Find the candidates of several texts that stand for one question, and join them. Raises `Cancelled`."""
    return merged([find(view, text, cancel) for text in texts])


def merged(rankings: Sequence[Ranking]) -> Ranking:
    """Join rankings of one index; the first one says what they were asked about.

    What one search has first comes before what several have tenth: a part of a question mustn't vanish because a mediocre
    chunk fits all parts. Of equal places, that of the earlier ranking comes first. A candidate is as relevant as the search says
    that it answers best.
    """
    if len(rankings) == 1:
        return rankings[0]
    best: dict[int, tuple[int, int, Place, RankingContext]] = {}
    relevance: dict[int, float] = defaultdict(float)
    for number, ranking in enumerate(rankings):
        for at, place in enumerate(ranking.order.places, 1):
            doc = place.candidate.doc
            relevance[doc] = max(relevance[doc], place.relevance)
            if doc not in best or at < best[doc][0]:
                best[doc] = (at, number, place, ranking.context)
    docs = sorted(best, key=lambda doc: best[doc][:2])
    places = (replace(best[doc][2], score=1 / best[doc][0], relevance=relevance[doc]) for doc in docs)
    first = rankings[0]
    return replace(
        first,
        order=Order(tuple(places)),
        contexts={doc: best[doc][3] for doc in docs},
        stands_for=_stands_for(rankings),
        stages=summed([ranking.stages for ranking in rankings]),
        diagnostics=replace(first.diagnostics, candidates=_counted(rankings), problem=_problem(rankings)),
        confidence=max(ranking.confidence for ranking in rankings),
    )


def merge_by_score(lists: Sequence[Sequence[Hit]], most: int, *, first: Callable[[Hit], bool] = lambda _: False) -> list[Hit]:
    """Merge lists of hits by relevance, at most so many; the order of each list stays: its best draws what is before.

    Of equals those that are `first` come first, then those of the earlier list.
    """
    queues = [deque(hits) for hits in lists]
    order: list[Hit] = []
    while len(order) < most and any(queues):
        best = max((queue for queue in queues if queue), key=lambda queue: (max(hit.score for hit in queue), first(queue[0])))
        order.append(best.popleft())
    return order


def summed(stages: Sequence[dict[str, float]]) -> dict[str, float]:
    """Add up milliseconds by stage."""
    sums: dict[str, float] = {}
    for part in stages:
        for stage, milliseconds in part.items():
            sums[stage] = round(sums.get(stage, 0.0) + milliseconds, 3)
    return sums


def _stands_for(rankings: Sequence[Ranking]) -> dict[int, Candidate]:
    """Join what stands for twins: what any of the texts means stays."""
    candidates = {doc: meant for ranking in reversed(rankings) for doc, meant in ranking.stands_for.items()}
    meant = {candidate.doc for ranking in rankings for candidate in ranking.stands_for.values()}
    return {doc: candidate for doc, candidate in candidates.items() if doc not in meant}


def _counted(rankings: Sequence[Ranking]) -> CandidateCounts:
    counts = [ranking.diagnostics.candidates for ranking in rankings]
    return CandidateCounts(
        dense=sum(count.dense for count in counts),
        lexical=sum(count.lexical for count in counts),
        definitions=sum(count.definitions for count in counts),
    )


def _problem(rankings: Sequence[Ranking]) -> str | None:
    return next((ranking.diagnostics.problem for ranking in rankings if ranking.diagnostics.problem), None)
