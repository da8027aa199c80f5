"""A second opinion on the order of candidates (spec C4, D7). Without one, or when it fails, the order stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from carrel.model.errors import ProviderError
from carrel.model.ports import Reranker, RerankerSpec
from carrel.model.types import Hit
from carrel.model_calls.chat_model import guarded, within
from carrel.search.order import Order, Place

WEIGHT = 1.3
"""Of a verdict of 1 that is wholly trusted, as a share of the best score that a candidate has by itself."""


def text_for_reranker(hit: Hit) -> str:
    """Return what a reranker is shown of a hit: its path says what its lines often don't."""
    return f"{hit.chunk.path}\n{hit.chunk.text}"


async def rerank(query: str, texts: Sequence[str], reranker: Reranker, *, seconds: float | None = None) -> tuple[float, ...]:
    """Return the reranker's score of each text, in order.

    Raises `ProviderError` where it fails, is late, or gives something else than a number from 0 to 1 a text.
    """
    most, name = max(reranker.spec.max_texts, 1), f"The reranker {reranker.spec.id}"
    parts = [texts[at : at + most] for at in range(0, len(texts), most)]

    async def judge(part: Sequence[str]) -> list[float]:
        given = [float(score) for score in await reranker.rerank(query, part)]
        if len(given) != len(part) or not all(0 <= score <= 1 for score in given):
            raise ProviderError(f"{name} didn't give {len(part)} scores from 0 to 1.")
        return given

    async def judge_all() -> tuple[float, ...]:
        return tuple(score for scores in await asyncio.gather(*map(judge, parts)) for score in scores)

    return await within(guarded(judge_all(), name), seconds, name)


def reordered(
    order: Order, judged: Mapping[int, float], spec: RerankerSpec, *, confidence: float, pinned: Iterable[str] = ()
) -> Order:
    """Return the order with a reranker's scores, given by the candidates' numbers, added to it.

    A file gains by the best verdict on one of its places, once. A verdict counts as far as the reranker agrees with the evidence,
    or as the search isn't sure: `confidence` is its own. Relevances follow as far. What is `pinned` stays first.
    """
    verdicts = {doc: relevance(score, spec) for doc, score in judged.items()}
    of_file: dict[str, float] = {}
    first: dict[str, Place] = {}
    for place in order.places:
        doc, path = place.candidate.doc, place.candidate.path
        if doc in verdicts:
            first.setdefault(path, place)
            of_file[path] = max(of_file.get(path, 0.0), verdicts[doc])
    trust = max(agreement([(place.score, of_file[path]) for path, place in first.items()]), 0.0) ** 2
    trust = max(trust, (1.0 - confidence) ** 2)
    best = max((place.candidate.own_score for place in first.values()), default=0.0)
    gains = {place.candidate.doc: WEIGHT * trust * best * of_file[path] for path, place in first.items()}
    moved = order.moved("reranker", gains).lifted("pinned", {first[path].candidate.doc: 1 for path in pinned if path in first})

    def seen(place: Place) -> Place:
        verdict = verdicts.get(place.candidate.doc)
        if verdict is None:
            return place
        return replace(place, relevance=round(place.relevance + trust * (verdict - place.relevance), 4))

    return replace(moved, places=tuple(map(seen, moved.places)), reranked=dict(judged))


def agreement(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Goodman and Kruskal's gamma of two scores: 1 where they order alike, -1 where each contradicts the other."""
    alike = unlike = 0
    for (one, verdict), (other, another) in combinations(pairs, 2):
        direction = (one - other) * (verdict - another)
        alike, unlike = alike + (direction > 0), unlike + (direction < 0)
    return (alike - unlike) / (alike + unlike) if alike + unlike else 0.0


def relevance(score: float, spec: RerankerSpec) -> float:
    """Return a reranker's score as relevance: 0 at its `floor` and below, 1 from its `sure` on."""
    return round(min(max((score - spec.floor) / max(spec.sure - spec.floor, 1e-9), 0.0), 1.0), 4)
