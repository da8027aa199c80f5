"""Code like this code."""

from __future__ import annotations

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, ChunkInfo
from carrel.model.types import Filters, Hit, Signals
from carrel.search.candidates import native_filter
from carrel.search.retriever import to_chunk


def similar(
    view: SnapshotView,
    path: str,
    lines: tuple[int, int],
    vector: bytes,
    floor: float,
    cancel: CancelToken,
    *,
    limit: int = 10,
    filters: Filters | None = None,
) -> list[Hit]:
    """Find chunks whose vectors are most like `vector`, that of `lines` (1-based, inclusive) of `path`; those lines are left out.

    `floor` is the cosine below which the model's hits are noise.
    """
    here = [info for info in view.file_chunks(path) if info.start_line <= lines[1] and lines[0] <= info.end_line]
    candidates = view.dense(vector, limit + len(here) + 5, floor, native_filter(filters or Filters()), cancel)
    skip = {info.doc for info in here}
    candidates = [candidate for candidate in candidates if candidate.doc not in skip]
    hits: list[Hit] = []
    current_texts = view.read_current([candidate.doc for candidate in candidates], cancel)
    for rank, (candidate, current) in enumerate(zip(candidates, current_texts, strict=True), 1):
        if not isinstance(current, str) and len(hits) < limit:
            score = round(min(max(candidate.score, 0.0), 1.0), 4)
            hits.append(Hit(to_chunk(current), score, Signals(dense=candidate.score, dense_rank=rank)))
    return hits


def stored_vector(view: SnapshotView, path: str, lines: tuple[int, int]) -> bytes:
    """Return the vector of the chunk that these lines are; empty where they are none, and have to be embedded."""
    chunk = next((info for info in view.file_chunks(path) if _is(info, lines)), None)
    return view.vector(chunk.doc) if chunk else b""


def _is(info: ChunkInfo, lines: tuple[int, int]) -> bool:
    """Tell whether the selection is this chunk, give or take a line at each end."""
    return abs(info.start_line - lines[0]) <= 1 and abs(info.end_line - lines[1]) <= 1
