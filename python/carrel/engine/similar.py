"""Code like this code."""

from __future__ import annotations

from carrel.core.native import CancelToken, ChunkInfo
from carrel.core.ports import Embedder, SnapshotView
from carrel.core.types import Filters, Hit, Signals
from carrel.engine.candidates import native_filter
from carrel.engine.retriever import to_chunk


def similar(
    view: SnapshotView,
    embedder: Embedder,
    path: str,
    lines: tuple[int, int],
    text: str,
    cancel: CancelToken,
    *,
    limit: int = 10,
    filters: Filters | None = None,
) -> list[Hit]:
    """Chunks whose vectors are most like the code in `lines` (1-based, inclusive) of `path`, that code itself left out.

    Where the lines are one chunk of the index, its stored vector is used; else `text` is embedded.
    """
    here = [info for info in view.file_chunks(path) if info.start_line <= lines[1] and lines[0] <= info.end_line]
    own = next((info for info in here if _is(info, lines)), None)
    vector = (view.vector(own.doc) if own else b"") or embedder.embed_query(text)
    found = view.dense(vector, limit + len(here) + 5, embedder.floor, native_filter(filters or Filters()), cancel)
    skip = {info.doc for info in here}
    found = [candidate for candidate in found if candidate.doc not in skip]
    hits: list[Hit] = []
    for rank, (candidate, fresh) in enumerate(zip(found, view.fresh([c.doc for c in found], cancel), strict=True), 1):
        if not isinstance(fresh, str) and len(hits) < limit:
            score = round(min(max(candidate.score, 0.0), 1.0), 4)
            hits.append(Hit(to_chunk(fresh), score, Signals(dense=candidate.score, dense_rank=rank)))
    return hits


def _is(info: ChunkInfo, lines: tuple[int, int]) -> bool:
    """The selection is this chunk, give or take a line at each end."""
    return abs(info.start_line - lines[0]) <= 1 and abs(info.end_line - lines[1]) <= 1
