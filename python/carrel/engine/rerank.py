"""A second opinion on the order of hits (spec C4, D7). Without one, or when it fails, the order stays as it was."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from carrel.core.errors import place_of
from carrel.core.ports import Reranker
from carrel.core.types import Hit

log = logging.getLogger(__name__)


async def rerank(query: str, hits: Sequence[Hit], reranker: Reranker, *, seconds: float | None = None) -> tuple[Hit, ...]:
    """Order hits by the reranker's scores, which become their relevance; equal ones stay in order.

    Raises nothing but a cancel.
    """
    try:
        async with asyncio.timeout(seconds):
            scores = await _scores(query, [hit.chunk.text for hit in hits], reranker)
    except Exception as error:
        log.warning("The hits were not reranked: %s at %s", type(error).__name__, place_of(error))
        return tuple(hits)
    judged = (
        replace(hit, score=score, signals=replace(hit.signals, rerank=score)) for hit, score in zip(hits, scores, strict=True)
    )
    return tuple(sorted(judged, key=lambda hit: -hit.score))


async def _scores(query: str, texts: Sequence[str], reranker: Reranker) -> list[float]:
    most = reranker.spec.max_texts
    scores: list[float] = []
    for at in range(0, len(texts), most):
        part = texts[at : at + most]
        given = [float(score) for score in await reranker.rerank(query, part)]
        if len(given) != len(part) or not all(0 <= score <= 1 for score in given):
            raise ValueError(f"{reranker.spec.id} didn't give {len(part)} scores from 0 to 1")
        scores += given
    return scores
