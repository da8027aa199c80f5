"""Compare a question with chunks whose vectors are in a store outside of the index, to rank them as its own vectors would.

The store's best alone are not enough: what words and names find besides would have a cosine of 0 and lose against them. So these
are compared, too: by the vectors that the index keeps, or else by those of the store. What comes out is a `PreparedQuery` for
`retriever.retrieve`.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Filter
from carrel.model.ports import ChunkId, PublishedVectors, VectorStore, Where
from carrel.model.types import Filters
from carrel.model.vectors import Vectors
from carrel.question.prepare import PreparedQuery, SearchText
from carrel.search.candidates import literal_glob, pool_size, search_each
from carrel.search.localize import POOL

STORE_SECONDS = 1.0
"""How long a store may take for a question; the index's own vectors answer then."""
Scores = dict[ChunkId, float]


class OutsideVectors(Protocol):
    """Vectors of an index that are kept elsewhere, too."""

    def usable(self) -> PublishedVectors | None:
        """Return the store; None where it doesn't answer, or lacks too much. Never waits."""

    def failed(self, error: CarrelError) -> None:
        """Note that it didn't answer."""


async def compare_outside(
    prepared: PreparedQuery,
    view: SnapshotView,
    outside: OutsideVectors,
    run: Callable[[Callable[[CancelToken], list[Scores]]], Awaitable[list[Scores]]],
    *,
    seconds: float = STORE_SECONDS,
) -> PreparedQuery:
    """Return the query with the store's cosines, or as it is, to be answered by the index's own vectors. Raises nothing but a
    cancel: a store that fails or is too slow is told of, and left alone until it answers again.
    """
    published = outside.usable()
    where = store_filter(prepared.query.filters)
    if published is None or where is None:
        return prepared
    try:
        async with asyncio.timeout(seconds):
            return await compare(prepared, view, published.store, run, where=where, unpublished=published.unpublished)
    except TimeoutError:
        error: CarrelError = ProviderError(
            f"{published.name} didn't answer within {seconds:g} s", published.remedy, retryable=True
        )
    except CarrelError as failure:
        error = failure
    outside.failed(error)
    by = "its words alone" if view.chunks_without_vectors == view.chunks else "the vectors of the index itself"
    notice = f"{str(error).rstrip('.')}. The question was answered by {by}."
    return replace(prepared, problem=" ".join(filter(None, (prepared.problem, notice))))


def store_filter(filters: Filters) -> Where | None:
    """Return the filters as a store can apply them; None where only the index can."""
    if filters != Filters(languages=filters.languages, sources=filters.sources, min_score=filters.min_score):
        return None
    named = {"language": tuple(filters.languages), "source": tuple(filters.sources)}
    return Where({key: values for key, values in named.items() if values})


async def compare(
    prepared: PreparedQuery,
    view: SnapshotView,
    store: VectorStore,
    run: Callable[[Callable[[CancelToken], list[Scores]]], Awaitable[list[Scores]]],
    *,
    where: Where | None = None,
    unpublished: Sequence[str] = (),
) -> PreparedQuery:
    """Return the query with the cosines of the store's best, of what words and names find besides, of pinned files, and of the
    best of files that the store doesn't have as they stand.

    Nothing waits on a thread; `run` runs the searches of the index. `where` is what of its filters the store can apply; of its
    best, those that don't pass the others are lost. Raises what the store raises.
    """
    texts_with_vectors = {name: text for name, text in prepared.texts.items() if text.vector}
    if not texts_with_vectors:
        return prepared
    query = replace(prepared.query, limit=POOL) if prepared.issue else prepared.query
    most, floor = pool_size(query.limit), prepared.model.floor
    best = await asyncio.gather(*(store.search(text.vector, most, where, floor) for text in texts_with_vectors.values()))
    cosines_of = {name: dict(scores) for name, scores in zip(texts_with_vectors, best, strict=True)}
    lacking: set[ChunkId] = set()  # of which the index has no vectors

    def others(cancel: CancelToken) -> list[Scores]:
        """Return for each text the cosines of what it must be compared with besides, as far as the index has vectors."""
        texts = [replace(text, dense=tuple(cosines_of[name].items())) for name, text in texts_with_vectors.items()]
        results = search_each(view, texts, query, floor, cancel, quotes=not prepared.issue)
        docs = {candidate.doc: ChunkId(candidate.id) for candidates, _ in results for candidate in candidates}
        docs |= {chunk.doc: ChunkId(chunk.id) for path in query.pinned for chunk in view.file_chunks(path)}
        docs = {doc: chunk for doc, chunk in docs.items() if any(chunk not in cosines for cosines in cosines_of.values())}
        lacking.update(chunk for doc, chunk in docs.items() if not view.vector(doc))
        scores: list[Scores] = []
        changed = Filter(path_globs=[literal_glob(path) for path in unpublished]) if unpublished else None
        for text, cosines in zip(texts_with_vectors.values(), cosines_of.values(), strict=True):
            near = view.dense(text.vector, most, floor, changed, cancel) if changed else []
            kept = (doc for doc, chunk in docs.items() if chunk not in cosines and chunk not in lacking)
            wanted = list(dict.fromkeys([*kept, *(scored.doc for scored in near)]))
            compared = view.evidence(replace(text, dense=None).parsed(quotes=False), wanted)
            scores.append({ChunkId(candidate.id): candidate.dense for candidate in compared})
        return scores

    more = await run(others)
    if lacking:
        vectors = await store.vectors(list(lacking))
        more = [scores | _scored(text, vectors) for text, scores in zip(texts_with_vectors.values(), more, strict=True)]
    compared = {
        name: replace(text, dense=tuple((scores | cosines_of[name]).items()))
        for (name, text), scores in zip(texts_with_vectors.items(), more, strict=True)
    }
    return replace(prepared, texts={**prepared.texts, **compared})


def _scored(text: SearchText, vectors: Mapping[ChunkId, bytes]) -> Scores:
    floats = Vectors(text.vector, len(text.vector) // 4).floats(0)
    return {chunk: _dot(floats, vector) for chunk, vector in vectors.items()}


def _dot(floats: Sequence[float], vector: bytes) -> float:
    return float(sum(map(operator.mul, floats, Vectors(vector, len(floats)).floats(0))))
