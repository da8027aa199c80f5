"""Compare a question with chunks whose vectors are in a store outside of the index, to rank them as its own vectors would.

The store's best alone are not enough: what words and names find besides would have a cosine of 0 and lose against them. So their
vectors are asked for, too. What comes out is a `PreparedQuery` for `retriever.retrieve`.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace

from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken
from carrel.core.ports import ChunkId, VectorStore, Where
from carrel.core.vectors import Vectors
from carrel.engine.candidates import pool_size, search_each
from carrel.engine.indexer import RunNative
from carrel.engine.localize import POOL
from carrel.engine.prepare import PreparedQuery, SearchText


async def compare(
    prepared: PreparedQuery,
    view: SnapshotView,
    store: VectorStore,
    native: RunNative,
    cancel: CancelToken,
    *,
    where: Where | None = None,
) -> PreparedQuery:
    """Return the query with the cosines of the store's best, of what words and names find besides, and of pinned files.

    Nothing waits on a thread; `native` runs the searches of the index. `where` is what of its filters the store can apply;
    of its best, those that don't pass the others are lost. Raises what the store raises.
    """
    asked = {name: text for name, text in prepared.texts.items() if text.vector}
    if not asked:
        return prepared
    query = replace(prepared.query, limit=POOL) if prepared.issue else prepared.query
    most, floor = pool_size(query.limit), prepared.model.floor
    best = await asyncio.gather(*(store.search(text.vector, most, where, floor) for text in asked.values()))
    given = {name: dict(found) for name, found in zip(asked, best, strict=True)}

    def others() -> list[ChunkId]:
        texts = [replace(text, dense=tuple(given[name].items())) for name, text in asked.items()]
        found = search_each(view, texts, query, floor, cancel, quotes=not prepared.issue)
        ids = dict.fromkeys(candidate.id for candidates, _ in found for candidate in candidates)
        ids |= dict.fromkeys(chunk.id for path in query.pinned for chunk in view.file_chunks(path))
        return [ChunkId(chunk_id) for chunk_id in ids if any(chunk_id not in known for known in given.values())]

    vectors = await store.vectors(await native(others))
    texts = {name: _scored(text, given[name], vectors) if name in given else text for name, text in prepared.texts.items()}
    return replace(prepared, texts=texts)


def _scored(text: SearchText, given: Mapping[ChunkId, float], vectors: Mapping[ChunkId, bytes]) -> SearchText:
    asked = Vectors(text.vector, len(text.vector) // 4).floats(0)
    more = {chunk_id: _dot(asked, vector) for chunk_id, vector in vectors.items() if chunk_id not in given}
    return replace(text, dense=(*given.items(), *more.items()))


def _dot(asked: Sequence[float], vector: bytes) -> float:
    return float(sum(map(operator.mul, asked, Vectors(vector, len(asked)).floats(0))))
