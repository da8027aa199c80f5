"""Vectors on this disk with an approximate search: usearch's HNSW graph over int8, for a million chunks (extra `usearch`).

SQLite keeps the records and is the truth; the graph is made of them, saved beside them, and made again where it is missing,
damaged or worn. Until there is a graph, an exact scan answers. What the graph finds is compared again by the kept vectors,
so that cosines are exact.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index, MetricKind, ScalarKind  # type: ignore[attr-defined]

from carrel.extensions.stores.payload import check_dimension, check_dimensions, label, last_of_each
from carrel.model.errors import StoreError
from carrel.model.ports import ChunkId, VectorRecord, Where

log = logging.getLogger(__name__)
T = TypeVar("T")
Floats = NDArray[np.float32]

GRAPH_FROM = 2_000
"""Records from which a graph pays: an exact scan of fewer takes some milliseconds."""
WORN = 0.3
"""The share of deleted places of the graph from which it is made again: they cost time and recall."""
SLICE = 2_000
"""Records of one transaction: between two, questions are answered."""
SPARE = 12
"""The graph gives so many times what is asked for, to compare again by exact cosines."""
FILTERED = 20
"""With a filter the graph gives so many times more; where that isn't enough, all that fits the filter is compared."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (key INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS labels (label TEXT NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (label, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_key ON labels (key);
"""


class HnswStore:
    """One folder of vectors. One process writes it; close it."""

    leaves_machine = False

    def __init__(self, folder: Path, dim: int, *, graph_from: int = GRAPH_FROM) -> None:
        """Open or make the store. Raises `StoreError` where the folder can't be used or holds another dimension."""
        self.dim = dim
        self._folder = folder
        self._graph_from = graph_from
        self._turn = threading.Lock()  # of the graph and the database: calls are short
        self._writer = ThreadPoolExecutor(1, "carrel-hnsw")
        self._closed = False
        self._graph: Index | None = None
        self._changed = 0  # changes since the graph was saved
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(folder / "records.sqlite", check_same_thread=False)
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{folder} can't be used for vectors ({error})", "Delete it, or make it writable.") from None
        held = self._meta("dim")
        if held is not None and int(held) != dim:
            self._database.close()
            raise StoreError(f"{folder} holds vectors of {held} values, not {dim}", "Delete it: it is filled again.")
        with self._transaction():
            self._set_meta("dim", str(dim))
        self._writer.submit(self._load_graph)

    @property
    def graph_size(self) -> int:
        """Return how many records the graph holds; 0 while an exact scan answers."""
        graph = self._graph
        return 0 if graph is None else len(graph)

    async def publish(self, upsert: Sequence[VectorRecord], delete: Sequence[ChunkId] = ()) -> None:
        """Replace or add records, then delete ids; the graph follows at once where there is one."""
        check_dimensions(list(upsert), self.dim)
        kept = last_of_each(list(upsert), set(delete))
        for at in range(0, len(kept), SLICE):
            await self._on_writer(partial(self._write, kept[at : at + SLICE], ()))
        for at in range(0, len(delete), SLICE):
            await self._on_writer(partial(self._write, (), delete[at : at + SLICE]))
        self._writer.submit(self._tend_graph)

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        """Return the nearest records that may answer; equal ones are ordered by id."""
        check_dimension(vector, self.dim)
        sought = _unit(np.frombuffer(vector, "<f4"))
        if k <= 0 or not sought.any() or (where and not all(where.equals.values())):
            return []
        return await asyncio.to_thread(self._search, sought, k, where, -1.0 if floor is None else floor)

    async def vectors(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, bytes]:
        """Return the vectors of those ids that are kept."""

        def look() -> dict[ChunkId, bytes]:
            with self._turn:
                rows = [(chunk, self._vector_of(chunk)) for chunk in ids]
            return {chunk: row for chunk, row in rows if row is not None}

        return await asyncio.to_thread(look)

    async def ids(self) -> AsyncIterator[Sequence[ChunkId]]:
        """Give the ids of all records, in pages."""
        after = 0
        while True:
            page = await asyncio.to_thread(self._page, after)
            if not page:
                return
            after = page[-1][0]
            yield [ChunkId(chunk.hex()) for _, chunk in page]

    async def settled(self) -> None:
        """Wait until the graph is what the records are."""
        await self._on_writer(lambda: None)

    def close(self) -> None:
        """Save the graph and close all files."""
        if self._closed:
            return
        self._closed = True
        self._writer.submit(self._save_graph)
        self._writer.shutdown()
        with self._turn:
            self._graph = None
            self._database.close()

    # --- on the writer's thread

    async def _on_writer(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._writer.submit(work))

    def _write(self, records: Sequence[VectorRecord], delete: Sequence[ChunkId]) -> None:
        rows = [(bytes.fromhex(record.id), record.vector) for record in records]
        gone = [(bytes.fromhex(chunk),) for chunk in (*(record.id for record in records), *delete)]
        with self._turn, self._transaction():
            keys: list[int] = []
            for one in gone:
                keys += [key for (key,) in self._database.execute("SELECT key FROM records WHERE id = ?", one)]
            self._database.executemany("DELETE FROM labels WHERE key = ?", [(key,) for key in keys])
            self._database.executemany("DELETE FROM records WHERE key = ?", [(key,) for key in keys])
            added: list[int] = []
            for record, (identity, vector) in zip(records, rows, strict=True):
                key = self._database.execute("INSERT INTO records (id, vector) VALUES (?, ?)", (identity, vector)).lastrowid
                assert key is not None  # noqa: S101 - sqlite3's types allow None for other statements
                added.append(key)
                labels = [(label(name, value), key) for name, value in record.payload.items()]
                self._database.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?)", labels)
            self._follow(keys, added, [vector for _, vector in rows])

    def _follow(self, gone: Sequence[int], added: Sequence[int], vectors: Sequence[bytes]) -> None:
        """Have the graph take a change over. Its turn is held."""
        graph = self._graph
        if graph is None:
            return
        if gone:
            graph.remove(np.array(gone, np.uint64))
        if added:
            _add(graph, added, vectors)
        self._changed += len(gone) + len(added)

    def _load_graph(self) -> None:
        """Take the saved graph up, and bring it to what the records are."""
        try:
            graph = self._empty_graph()
            if not (self._folder / "graph.usearch").exists():
                self._tend_graph()
                return
            graph.load(str(self._folder / "graph.usearch"))
            held = {int(key) for key in graph.keys}
            with self._turn:
                known = {key for (key,) in self._database.execute("SELECT key FROM records")}
            missing, gone = sorted(known - held), sorted(held - known)
            if gone:
                graph.remove(np.array(gone, np.uint64))
            for keys in _slices(missing):
                _add(graph, keys, self._vectors_of(keys))
            with self._turn:
                self._graph, self._changed = graph, len(missing) + len(gone)
        except Exception as error:  # the package's own errors are RuntimeErrors of many kinds
            log.warning("The graph in %s can't be used and is made again: %s", self._folder, error)
            with contextlib.suppress(OSError):
                (self._folder / "graph.usearch").unlink(missing_ok=True)
            self._tend_graph()

    def _tend_graph(self) -> None:
        """Make the graph where it is due: the first time, and when it is worn. Until then the old one answers, or a scan."""
        if self._closed:
            return
        with self._turn:
            (count,) = self._database.execute("SELECT COUNT(*) FROM records").fetchone()
            (last,) = self._database.execute("SELECT COALESCE(MAX(key), 0) FROM records").fetchone()
            graph = self._graph
        if count < self._graph_from:
            return
        if graph is not None and graph.size and 1 - count / max(graph.size, 1) < WORN:
            return
        new = self._empty_graph()
        after = 0
        while after < last and not self._closed:
            with self._turn:
                rows = self._database.execute(
                    "SELECT key, vector FROM records WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (after, last, SLICE)
                ).fetchall()
            if not rows:
                break
            after = rows[-1][0]
            _add(new, [key for key, _ in rows], [vector for _, vector in rows])
        with self._turn:  # this thread is the only one that writes: nothing was added meanwhile
            self._graph, self._changed = new, len(new)
        self._save_graph()

    def _save_graph(self) -> None:
        graph = self._graph
        if graph is None or not self._changed:
            return
        place = self._folder / "graph.usearch"
        try:
            graph.save(str(place.with_suffix(".new")))
            place.with_suffix(".new").replace(place)
            self._changed = 0
        except (OSError, RuntimeError) as error:
            log.warning("The graph in %s was not saved and is made again next time: %s", self._folder, error)

    def _empty_graph(self) -> Index:
        return Index(
            ndim=self.dim, metric=MetricKind.Cos, dtype=ScalarKind.I8, connectivity=32, expansion_add=128, expansion_search=256
        )

    # --- questions, on any thread

    def _search(self, sought: Floats, k: int, where: Where | None, floor: float) -> list[tuple[ChunkId, float]]:
        with self._turn:
            graph = self._graph
            if graph is None or not len(graph):
                return self._best(sought, self._fitting(where), k, floor)
            wanted = max(k * (FILTERED if where else SPARE), 100)
            keys = [int(key) for key in graph.search(sought, wanted).keys]
            fitting = self._fitting(where)
            if fitting is not None:
                near = [key for key in keys if key in fitting]
                if len(near) < min(k, len(fitting)):
                    near = list(fitting)
                keys = near
            return self._best(sought, keys, k, floor)

    def _best(self, sought: Floats, keys: Any, k: int, floor: float) -> list[tuple[ChunkId, float]]:
        """Compare the vectors of these records exactly, of all where `keys` is None. The turn is held."""
        found: list[tuple[float, bytes]] = []
        for rows in self._rows(keys):
            cosines = np.clip(_floats([vector for _, vector in rows]) @ sought, -1.0, 1.0)
            take = np.flatnonzero(cosines >= floor)
            if len(take) > k:
                take = take[np.argpartition(-cosines[take], k - 1)[:k]]
            found += [(float(cosines[row]), rows[row][0]) for row in take]
            found = sorted(found, key=lambda pair: (-pair[0], pair[1]))[:k]
        return [(ChunkId(identity.hex()), cosine) for cosine, identity in found]

    def _rows(self, keys: Any) -> Iterator[list[tuple[bytes, bytes]]]:
        if keys is None:
            cursor = self._database.execute("SELECT id, vector FROM records")
            while rows := cursor.fetchmany(20_000):
                yield rows
            return
        for some in _slices(list(keys), 500):
            marks = ",".join("?" * len(some))
            rows = self._database.execute(f"SELECT id, vector FROM records WHERE key IN ({marks})", some).fetchall()  # noqa: S608
            if rows:
                yield rows

    def _fitting(self, where: Where | None) -> set[int] | None:
        """Return the keys of the records that fit; None for all. The turn is held."""
        if where is None or not where.equals:
            return None
        fitting: set[int] | None = None
        for name, values in where.equals.items():
            labels = [label(name, value) for value in values]
            marks = ",".join("?" * len(labels))
            rows = self._database.execute(f"SELECT key FROM labels WHERE label IN ({marks})", labels)  # noqa: S608
            these = {key for (key,) in rows}
            fitting = these if fitting is None else fitting & these
        return fitting

    def _page(self, after: int) -> list[tuple[int, bytes]]:
        with self._turn:
            return self._database.execute(
                "SELECT key, id FROM records WHERE key > ? ORDER BY key LIMIT 5000", (after,)
            ).fetchall()

    def _vector_of(self, chunk: ChunkId) -> bytes | None:
        row = self._database.execute("SELECT vector FROM records WHERE id = ?", (bytes.fromhex(chunk),)).fetchone()
        return None if row is None else bytes(row[0])

    def _vectors_of(self, keys: Sequence[int]) -> list[bytes]:
        with self._turn:
            marks = ",".join("?" * len(keys))
            rows = self._database.execute(f"SELECT vector FROM records WHERE key IN ({marks}) ORDER BY key", list(keys))  # noqa: S608
            return [vector for (vector,) in rows]

    # --- the database

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:
                yield
        except sqlite3.Error as error:
            raise StoreError(
                f"Vectors can't be kept in {self._folder} ({error})", "Free some space, or delete the folder."
            ) from None

    def _meta(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _set_meta(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _add(graph: Index, keys: Sequence[int], vectors: Sequence[bytes]) -> None:
    """Add vectors on one thread.

    Threads that add side by side miss each other's places, the more so where they have to share cores: of 6,000 vectors,
    ten nearest each, 25 graphs made on 16 threads of 2 cores found .958 to 1.0, on 2 threads .99 to 1.0, on one 1.0.
    """
    graph.add(np.array(keys, np.uint64), _floats(vectors), threads=1)


def _slices(items: Sequence[int], size: int = SLICE) -> Iterator[Sequence[int]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _floats(vectors: Sequence[bytes]) -> Floats:
    count = len(vectors)
    rows: Floats = np.frombuffer(b"".join(vectors), "<f4")
    return rows.reshape(count, -1) if count else rows


def _unit(vector: Any) -> Floats:
    length = float(np.linalg.norm(vector))
    scaled: Floats = np.asarray(vector / length if length else vector, np.float32)
    return scaled
