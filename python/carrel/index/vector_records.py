"""Chunks of an index as a store of vectors keeps them: their vector, and what other programs want to know of them."""

from __future__ import annotations

from collections.abc import Sequence

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import ChunkId, Scalar, VectorRecord


def vector_records(view: SnapshotView, ids: Sequence[ChunkId], *, with_content: bool) -> list[VectorRecord]:
    """Return the chunks that are there with a vector, with their text as it stands now, secrets masked, where that is asked.

    Left out are those that are gone, that an unsaved buffer hides, or whose model gave no vector yet. Runs on a thread.
    """
    docs = [doc for doc in view.resolve(ids) if doc is not None]
    texts = [""] * len(docs)
    if with_content:
        texts = ["" if isinstance(chunk, str) else chunk.text for chunk in view.read_current(docs, CancelToken())]
    records = []
    for info, text in zip(view.describe(docs), texts, strict=True):
        vector = view.vector(info.doc)
        if not vector:
            continue
        payload: dict[str, Scalar] = {
            "path": info.path,
            "start_line": info.start_line,
            "end_line": info.end_line,
            "symbol": info.symbol,
            "language": info.language,
            "source": info.source,
            "kind": info.kind,
            "content_hash": info.content_hash,
        }
        records.append(VectorRecord(ChunkId(info.id), vector, payload | ({"content": text} if with_content else {})))
    return records
