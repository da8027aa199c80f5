"""The local index behind the `Source` port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from carrel.core.errors import Cancelled
from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken
from carrel.core.ports import ChunkId, ChunkRef, Embedder, SourceCandidate, Unavailable
from carrel.core.types import Chunk, Query
from carrel.engine.embedding import QUERY_SECONDS
from carrel.engine.prepare import prepare
from carrel.engine.retriever import retrieve, to_chunk

T = TypeVar("T")
GONE = "isn't in the index any more: it was changed or deleted"
MOST_REMEMBERED = 10_000


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
        self._paths: dict[str, str] = {}  # of chunks that were offered

    @property
    def leaves_machine(self) -> bool:
        """Whether the embedding model sends questions elsewhere."""
        return self._embedder.spec.leaves_machine

    async def candidates(self, query: Query, k: int) -> Sequence[SourceCandidate]:
        """Search as `retrieve` does."""
        if k <= 0:
            return []
        prepared = await prepare(replace(query, limit=k), self._embedder, seconds=self._seconds)
        found = await _on_thread(lambda cancel: retrieve(self._view(), prepared, cancel))
        if len(self._paths) > MOST_REMEMBERED:
            self._paths.clear()
        self._paths |= {hit.chunk.id: hit.chunk.path for hit in found.hits}
        return [
            SourceCandidate(
                ChunkRef(self.name, ChunkId(hit.chunk.id)),
                hit.score,
                hit.chunk.path,
                hit.chunk.span.start_line,
                hit.chunk.span.end_line,
            )
            for hit in found.hits
        ]

    async def read(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk | Unavailable]:
        """Read the chunks from buffers and disk, after the rules for files were asked again."""
        return await _on_thread(lambda cancel: self._read(refs, cancel))

    def _read(self, refs: Sequence[ChunkRef], cancel: CancelToken) -> list[Chunk | Unavailable]:
        view = self._view()
        docs = self._docs(view, {ref.id for ref in refs if ref.source == self.name}, cancel)
        known = [ref for ref in refs if ref.source == self.name and ref.id in docs]
        texts = dict(zip(known, view.read_current([docs[ref.id] for ref in known], cancel), strict=True))
        answer: list[Chunk | Unavailable] = []
        for ref in refs:
            text = texts.get(ref, GONE)
            answer.append(Unavailable(ref, text) if isinstance(text, str) else to_chunk(text))
        return answer

    def _docs(self, view: SnapshotView, ids: set[ChunkId], cancel: CancelToken) -> dict[str, int]:
        """Find chunks by their ids, in the files where they were before any other."""
        docs: dict[str, int] = {}
        likely = dict.fromkeys(self._paths[chunk_id] for chunk_id in ids if chunk_id in self._paths)
        for path in chain(likely, view.paths()):
            if len(docs) == len(ids):
                break
            if cancel.cancelled:
                raise Cancelled
            docs |= {info.id: info.doc for info in view.file_chunks(path) if info.id in ids}
        return docs


async def _on_thread(work: Callable[[CancelToken], T]) -> T:
    """Run blocking work on a thread; it is told when nobody waits any more."""
    cancel = CancelToken()
    try:
        return await asyncio.to_thread(work, cancel)
    except asyncio.CancelledError:
        cancel.cancel()
        raise
