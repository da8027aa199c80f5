"""A second opinion on the order of candidates (spec C4, D7). Without one, or when it fails, the order stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from carrel.model.errors import ProviderError
from carrel.model.ports import Reranker, RerankerSpec
from carrel.model.types import Hit
from carrel.model_calls.model_call import guarded, within
from carrel.search.retriever import Order


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


def reordered(order: Order, judged: Mapping[int, float], spec: RerankerSpec, pinned: Iterable[str] = ()) -> Order:
    """Return the order by a reranker's scores, given by the candidates' numbers; equal ones stay in order.

    The scores become the relevance, on the scale that `spec` names. What a person pinned stays first, and what wasn't judged
    comes after what was.
    """
    first = frozenset(pinned)
    known = [at for at, found in enumerate(order.ranked) if found.doc in judged]
    others = [at for at, found in enumerate(order.ranked) if found.doc not in judged]
    known.sort(key=lambda at: (order.ranked[at].path not in first, -judged[order.ranked[at].doc]))
    relevances = [relevance(judged[order.ranked[at].doc], spec) for at in known]
    for at in range(len(relevances) - 2, -1, -1):  # a pinned one is never below what follows it
        relevances[at] = max(relevances[at], relevances[at + 1])
    least = relevances[-1] if relevances else 1.0
    relevances += [min(order.relevances[at], least) for at in others]
    return replace(
        order,
        ranked=tuple(order.ranked[at] for at in (*known, *others)),
        scores=tuple(relevances),
        relevances=tuple(relevances),
        reranked=dict(judged),
    )


def relevance(score: float, spec: RerankerSpec) -> float:
    """Return a reranker's score as relevance: 0 at its `floor` and below, 1 from its `sure` on."""
    return round(min(max((score - spec.floor) / max(spec.sure - spec.floor, 1e-9), 0.0), 1.0), 4)
