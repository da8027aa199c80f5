"""Vectors in a folder behind the `VectorStore` port, by the segments and the database of Carrel's own index.

Every live vector is compared: by its quantised bytes first, the best ones by nearly all that float32 says (a component is exact
to a part in 28,000 of the largest one of its vector). What `publish` returned for survives a kill. One process writes; others
read what it committed, and write once it is gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from carrel.core.errors import InvalidInput
from carrel.core.native import CancelToken, CutOptions, Filter, Snapshot, Store, WalkOptions
from carrel.core.ports import ChunkId, Scalar, VectorRecord, Where
from carrel.core.vectors import BYTES_A_VALUE

_IDS_A_PAGE = 10_000
_LOWEST = -2.0
"""Below every cosine."""
_PREFIX = "payload."
"""Keeps keys apart from the fields that a filter of the core knows, such as `language`."""


class SegmentStore:
    """Keeps the vectors of one model in a folder of its own. Vectors of another model there are as if they weren't."""

    leaves_machine = False

    def __init__(self, directory: str | Path, model_id: str, dim: int) -> None:
        """Open or make the store. Raises `StoreError` where the folder can't be used."""
        self.dim = dim
        place = str(Path(directory))
        self._store = Store.open(place, place, embedder_id=model_id, dim=dim, walk=WalkOptions(), cut=CutOptions())
        self._writing = ThreadPoolExecutor(1, "carrel-vectors")  # one publication after the other, in their order

    def close(self) -> None:
        """Release the folder. What was begun is finished first."""
        self._writing.shutdown()
        self._store.close()

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add records, then delete ids, in one commit."""
        for record in upsert:
            self._check(record.vector)
        records = [(record.id, record.vector, _metadata(record.payload)) for record in upsert]
        if records or delete:
            await asyncio.get_running_loop().run_in_executor(self._writing, self._put, records, list(delete))

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Compare the vector with every record that may answer; equal ones are ordered by id."""
        self._check(vector)
        filtered = (
            Filter(metadata={_PREFIX + key: [*map(_text, values)] for key, values in where.equals.items()}) if where else None
        )
        token = CancelToken()
        least = _LOWEST if floor is None else floor
        try:
            found = await asyncio.to_thread(lambda: self._current().nearest(vector, max(k, 0), least, filtered, token))
        except asyncio.CancelledError:
            token.cancel()
            raise
        return [(ChunkId(chunk_id), score) for chunk_id, score in found]

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""
        found = await asyncio.to_thread(lambda: self._current().record_vectors(ids))
        return {chunk_id: vector for chunk_id, vector in zip(ids, found, strict=True) if vector is not None}

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give all ids that were kept when the first page was asked for."""
        kept = await asyncio.to_thread(lambda: self._current().record_ids())
        for first in range(0, len(kept), _IDS_A_PAGE):
            yield [ChunkId(chunk_id) for chunk_id in kept[first : first + _IDS_A_PAGE]]

    def _put(self, records: list[tuple[ChunkId, bytes, dict[str, str]]], delete: list[ChunkId]) -> None:
        self._store.try_become_writer()
        self._store.put_records(records, delete)
        self._store.compact(CancelToken())

    def _current(self) -> Snapshot:
        self._store.follow()
        return self._store.snapshot()

    def _check(self, vector: bytes) -> None:
        if len(vector) != BYTES_A_VALUE * self.dim:
            raise InvalidInput("vector", f"has {len(vector)} bytes; {self.dim} values of float32 are {BYTES_A_VALUE * self.dim}")


def _metadata(payload: Mapping[str, Scalar]) -> dict[str, str]:
    return {_PREFIX + key: _text(value) for key, value in payload.items()}


def _text(value: Scalar) -> str:
    """Write a value so that equal ones have one text, as `Where` compares them: 1, 1.0 and True are equal, "1" is another."""
    if isinstance(value, str):
        return json.dumps(value)
    return str(int(value)) if value == value // 1 else repr(value)
