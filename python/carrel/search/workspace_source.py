"""The local index behind the `Source` port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from string import hexdigits
from typing import TypeVar

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import ChunkId, ChunkRef, Embedder, SourceCandidate, Unavailable
from carrel.model.types import Chunk, Query
from carrel.model_calls.embedding import QUERY_SECONDS
from carrel.question.prepare import prepare
from carrel.search.retriever import retrieve, to_chunk

T = TypeVar("T")
GONE = "isn't in the index any more: it was changed or deleted"


class WorkspaceSource:
    """Answers from the index of one workspace. `view` gives the snapshot of the moment; searches run on a thread."""

    def __init__(
        self,
        view: Callable[[], SnapshotView],
        embedder: Embedder,
        *,
        name: str = "workspace",
        description: str = "The code and documents of the user's workspace.",
        seconds: float = QUERY_SECONDS,
    ) -> None:
        """`seconds` is how long a question's embedding is waited for; it is answered by its words then."""
        self.name = name
        self.description = description
        self._view = view
        self._embedder = embedder
        self._seconds = seconds

    @property
    def leaves_machine(self) -> bool:
        """Whether the embedding model sends questions elsewhere."""
        return self._embedder.spec.leaves_machine

    async def candidates(self, query: Query, k: int) -> Sequence[SourceCandidate]:
        """Search as `retrieve` does."""
        if k <= 0:
            return []
        prepared = await prepare(replace(query, limit=k), self._embedder, seconds=self._seconds)
        retrieval = await _on_thread(lambda cancel: retrieve(self._view(), prepared, cancel))
        return [
            SourceCandidate(
                ChunkRef(self.name, ChunkId(hit.chunk.id)),
                hit.score,
                hit.chunk.path,
                hit.chunk.span.start_line,
                hit.chunk.span.end_line,
            )
            for hit in retrieval.hits
        ]

    async def read(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk | Unavailable]:
        """Read the chunks from buffers and disk, after the rules for files were asked again."""
        return await _on_thread(lambda cancel: self._read(refs, cancel))

    def _read(self, refs: Sequence[ChunkRef], cancel: CancelToken) -> list[Chunk | Unavailable]:
        view = self._view()
        ours = [ref for ref in refs if ref.source == self.name and _is_id(ref.id)]
        docs = {ref: doc for ref, doc in zip(ours, view.resolve([ref.id for ref in ours]), strict=True) if doc is not None}
        texts = dict(zip(docs, view.read_current(list(docs.values()), cancel), strict=True))
        answer: list[Chunk | Unavailable] = []
        for ref in refs:
            text = texts.get(ref, GONE)
            answer.append(Unavailable(ref, text) if isinstance(text, str) else to_chunk(text))
        return answer


def _is_id(text: str) -> bool:
    """Tell whether a text is a chunk's id, 128 bits in hexadecimal: the core takes nothing else."""
    return len(text) == 32 and not text.strip(hexdigits)


async def _on_thread(work: Callable[[CancelToken], T]) -> T:
    """Run blocking work on a thread; it is told when nobody waits any more."""
    cancel = CancelToken()
    try:
        return await asyncio.to_thread(work, cancel)
    except asyncio.CancelledError:
        cancel.cancel()
        raise
