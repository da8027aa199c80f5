"""Vectors in LanceDB: a folder (`.carrel/lancedb`, extra `lancedb`).

One table a model, with the columns that other programs read. Whatever may be filtered by is also in `labels`,
a list of texts with an index. A large table has an index of its vectors, too: quantised to bytes, in partitions, of which the
nearest ones are searched; the best rows are compared again exactly. Rows that came since are compared exactly.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

# Read by the import; it warns of each empty partition, on the standard error output.
os.environ.setdefault("LANCEDB_LOG", "error")

import lancedb
import pyarrow as pa
from lancedb.index import BTree, IvfSq, LabelList

from carrel.extensions.stores.payload import check_dimension, check_dimensions, label, last_of_each
from carrel.model.errors import StoreError
from carrel.model.ports import ChunkId, VectorRecord, Where
from carrel.model.structs import whole_characters

T = TypeVar("T")

TIDY_AFTER = 32
"""Writes after which small files are joined and old versions deleted; each write leaves one of both."""
KEPT_VERSIONS = timedelta(minutes=5)
"""Whoever began to read an older version has finished by then."""
INDEX_FROM = 10_000
"""Rows from which indexes of the labels and the ids pay: a filter, and a change of some rows, would read these columns whole."""
VECTORS_FROM = 20_000
"""Rows from which an index of the vectors pays: without one a search reads them all from the disk."""
GROWN = 4
"""The vectors' index is made anew, with partitions as fit, when the table has so many times the rows, or so small a part."""
PARTITIONS = 20
"""How many partitions are searched at least; more where a filter leaves too few rows in these."""
COMPARED = 5
"""So many times the rows that are asked for are compared again exactly."""
PAGE = 5_000
_LABELS, _IDS, _VECTORS = "labels_idx", "ids", "vectors_of_"
"""Names of the indexes."""
_TEXTS = {"path": "filePath", "content": "content", "symbol": "functionName"}
_NUMBERS = {"start_line": "startLine", "end_line": "endLine"}


class LanceStore:
    """One table in a folder."""

    leaves_machine = False

    def __init__(self, folder: str, table: str, dim: int) -> None:
        self.dim = dim
        self._folder = folder
        self._name = table
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()  # two writers of one table would try again and again
        self._table: Any = None
        self._written: int | None = None  # since it was tidied, by whichever process; None where it isn't known yet
        self._schema = pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                *(pa.field(name, pa.string()) for name in _TEXTS.values()),
                *(pa.field(name, pa.int32()) for name in _NUMBERS.values()),
                pa.field("labels", pa.list_(pa.string())),
                pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            ]
        )

    async def open(self) -> None:
        """Make the table where it is missing. Raises `StoreError`, also where it has another dimension."""
        async with self._opening:
            if self._table is not None:
                return
            connection = await self._done(lancedb.connect_async(self._folder))
            if self._name in (await self._done(connection.list_tables())).tables:
                table = await self._done(connection.open_table(self._name))
            else:
                table = await self._done(connection.create_table(self._name, schema=self._schema, exist_ok=True))
            held = getattr((await self._done(table.schema())).field("vector").type, "list_size", None)
            if held != self.dim:
                raise StoreError(
                    f"The table {self._name} in {self._folder} holds vectors of {held} values, not {self.dim}",
                    "Delete it with `carrel store migrate`, which fills it anew.",
                )
            self._table = table

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add rows, then delete ids: one version each, so that a kill leaves none half written."""
        check_dimensions(list(upsert), self.dim)
        kept = last_of_each(list(upsert), set(delete))
        await self.open()
        async with self._writing:
            if self._written is None:
                self._written = len(await self._done(self._table.list_versions()))
            if kept:
                rows = pa.Table.from_pylist([self._row(record) for record in kept], schema=self._schema)
                merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                await self._done(merge.execute(rows))
            for at in range(0, len(delete), PAGE):
                await self._done(self._table.delete(_among(delete[at : at + PAGE])))
            self._written += bool(kept) + bool(delete)

    async def upkeep(self) -> None:
        """Tidy the table where enough was written. Takes minutes of a large one: no publication waits for it."""
        if self._written is not None and self._written >= TIDY_AFTER:
            await self.tidy()

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return the nearest rows that may answer, by their exact cosines; equal ones are ordered by id."""
        check_dimension(vector, self.dim)
        if k <= 0 or not any(vector) or (where and not all(where.equals.values())):
            return []
        await self.open()
        query = self._table.vector_search(list(struct.unpack(f"<{self.dim}f", vector))).distance_type("cosine")
        query = query.maximum_nprobes(0).minimum_nprobes(PARTITIONS).refine_factor(COMPARED)
        query = query.select(["id", "_distance"]).limit(k)
        if where and where.equals:
            query = query.where(_condition(where))
        rows = (await self._done(query.to_arrow())).to_pylist()
        pairs = ((ChunkId(row["id"]), 1.0 - row["_distance"]) for row in rows if row["_distance"] is not None)
        good = [(chunk, min(max(cosine, -1.0), 1.0)) for chunk, cosine in pairs if cosine == cosine]  # noqa: PLR0124 - NaN of zero vectors
        return sorted((pair for pair in good if floor is None or pair[1] >= floor), key=lambda pair: (-pair[1], pair[0]))

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""
        await self.open()
        vectors: dict[ChunkId, bytes] = {}
        for at in range(0, len(ids), PAGE):
            query = self._table.query().where(_among(ids[at : at + PAGE])).select(["id", "vector"])
            for row in (await self._done(query.to_arrow())).to_pylist():
                vectors[ChunkId(row["id"])] = struct.pack(f"<{self.dim}f", *row["vector"])
        return vectors

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give the ids of all rows, in pages."""
        await self.open()
        batches = await self._done(self._table.query().select(["id"]).to_batches(max_batch_length=PAGE))
        while (batch := await self._done(anext(batches, None))) is not None:
            if batch.num_rows:
                yield [ChunkId(chunk) for chunk in batch.column("id").to_pylist()]

    async def count(self) -> int:
        """Return the number of rows."""
        await self.open()
        return int(await self._done(self._table.count_rows()))

    async def tidy(self) -> None:
        """Join small files, bring the indexes up to date, and delete versions that nobody reads any more."""
        await self.open()
        async with self._writing:
            self._written = 0  # also where it fails: it is tried again after as many writes
            await self._tidy()

    async def _tidy(self) -> None:
        rows, names = await self.count(), {index.name for index in await self._done(self._table.list_indices())}
        if rows >= INDEX_FROM:
            for column, kind, name in (("labels", LabelList(), _LABELS), ("id", BTree(), _IDS)):
                if name not in names:
                    await self._done(self._table.create_index(column, config=kind, name=name))
        await self._index_vectors(rows, {name for name in names if name.startswith(_VECTORS)})
        await self._done(self._table.optimize(cleanup_older_than=KEPT_VERSIONS))

    async def _index_vectors(self, rows: int, names: set[str]) -> None:
        """Make the index of the vectors where it is due. Its name says how many rows its partitions were made for."""
        fitting = {name for name in names if rows < GROWN * int(name.removeprefix(_VECTORS)) < GROWN**2 * rows}
        if rows >= VECTORS_FROM and not fitting:
            made = IvfSq(distance_type="cosine")
            await self._done(self._table.create_index("vector", config=made, name=f"{_VECTORS}{rows}"))
            fitting = {f"{_VECTORS}{rows}"}
        for name in names - fitting:
            await self._done(self._table.drop_index(name))

    def close(self) -> None:
        """Release the table."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _row(self, record: VectorRecord) -> dict[str, Any]:
        payload = record.payload
        texts = {column: _text(payload.get(key)) for key, column in _TEXTS.items()}
        numbers = {column: payload[key] if isinstance(payload.get(key), int) else None for key, column in _NUMBERS.items()}
        labels = [label(key, value) for key, value in payload.items() if key != "content"]
        return {
            "id": record.id,
            **texts,
            **numbers,
            "labels": labels,
            "vector": list(struct.unpack(f"<{self.dim}f", record.vector)),
        }

    async def _done(self, work: Awaitable[T]) -> T:
        """Await LanceDB; its errors and panics, which have no common class but are never ours, become `StoreError`s."""
        try:
            return await work
        except Exception as error:
            # What LanceDB says quotes too much to be shown.
            full = "No space left" in str(error)
            reason = "found no space left" if full else f"failed ({type(error).__name__})"
            remedy = "Make some on the disk." if full else "Look at the disk, or delete the folder."
            raise StoreError(f"LanceDB at {self._folder} {reason}", remedy) from error


def _text(value: object) -> str | None:
    return whole_characters(value) if isinstance(value, str) else None


def _among(ids: Sequence[ChunkId]) -> str:
    return f"id IN ({', '.join(map(_quoted, ids))})"


def _condition(where: Where) -> str:
    """Return the filter as SQL: for each key one of its labels must be there."""
    parts = (
        " OR ".join(f"array_has(labels, {_quoted(label(key, value))})" for value in values)
        for key, values in where.equals.items()
    )
    return " AND ".join(f"({part})" for part in parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
