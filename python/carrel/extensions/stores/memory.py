"""Vectors in memory behind the `VectorStore` port: exact and simple, for tests and for some thousand vectors."""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import AsyncIterator, Mapping, Sequence

from carrel.model.errors import InvalidInput
from carrel.model.ports import ChunkId, VectorRecord, Where
from carrel.model.vectors import BYTES_A_VALUE


class MemoryStore:
    """Keeps records in a dict and looks at all of them."""

    leaves_machine = False

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._records: dict[ChunkId, VectorRecord] = {}

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add records, then delete ids."""
        for record in upsert:
            self._unpack(record.vector)
        self._records |= {record.id: record for record in upsert}
        for chunk_id in delete:
            self._records.pop(chunk_id, None)

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Compare the vector with every record that may answer; equal ones are ordered by id."""
        sought = self._unpack(vector)
        if not any(sought):
            return []
        allowed = (record for record in self._records.values() if where is None or where.matches(record.payload))
        scored = ((record.id, _cosine(sought, self._unpack(record.vector))) for record in allowed)
        good = (pair for pair in scored if floor is None or pair[1] >= floor)
        return heapq.nsmallest(max(k, 0), good, key=lambda pair: (-pair[1], pair[0]))

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""
        return {chunk_id: self._records[chunk_id].vector for chunk_id in ids if chunk_id in self._records}

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give all ids, as one page."""
        if self._records:
            yield tuple(self._records)

    def _unpack(self, vector: bytes) -> tuple[float, ...]:
        if len(vector) != BYTES_A_VALUE * self.dim:
            raise InvalidInput("vector", f"has {len(vector)} bytes; {self.dim} values of float32 are {BYTES_A_VALUE * self.dim}")
        return struct.unpack(f"<{self.dim}f", vector)


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    lengths = math.hypot(*left) * math.hypot(*right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / lengths if lengths else 0.0
