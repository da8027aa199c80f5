"""The stores of vectors beside the one in memory: their contract, and what each promises beyond it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")

import lancedb
import numpy as np
from qdrant_client import AsyncQdrantClient
from tests.contract import qdrant_server, suites
from tests.contract.edge_client import EdgeClient
from tests.contract.suites.common import chunk_id, collected, pack

from carrel.extensions.stores.lance import LanceStore
from carrel.extensions.stores.qdrant import QdrantStore
from carrel.model.errors import CarrelError, StoreError
from carrel.model.ports import Scalar, VectorRecord, VectorStore, Where

_NUMBERS = count()


def client(url: str) -> AsyncQdrantClient:
    return AsyncQdrantClient(url=url, check_compatibility=False, trust_env=False, timeout=30)


def qdrant(url: str, dim: int = 4, collection: str | None = None) -> QdrantStore:
    return QdrantStore(client(url), collection or f"carrel-test-{os.getpid()}-{next(_NUMBERS)}", dim, leaves_machine=False)


async def ids_of(store: VectorStore) -> set[str]:
    return {chunk for page in await collected(store.ids()) for chunk in page}


class OnDisk:
    """Gives each store a folder, and closes it."""

    @pytest.fixture(autouse=True)
    def _folders(self, tmp_path: Path) -> Iterator[None]:
        self._tmp = tmp_path
        self._opened: list[Any] = []
        yield
        for store in self._opened:
            store.close()

    def folder(self) -> Path:
        return self._tmp / str(next(_NUMBERS))

    def kept(self, store: Any) -> Any:
        self._opened.append(store)
        return store


class TestLanceDB(OnDisk, suites.VectorStoreContract):
    def make(self) -> VectorStore:
        return cast("VectorStore", self.kept(LanceStore(str(self.folder()), "chunks", self.DIM)))

    async def test_a_damaged_table_is_told_as_one(self) -> None:
        """Some bytes make LanceDB panic, others give an error, others do no harm."""
        folder = self.folder()
        await LanceStore(str(folder), "chunks", self.DIM).publish(records(directions(5, self.DIM)))
        manifest = min(folder.glob("chunks.lance/_versions/*.manifest"))  # the newest: LanceDB counts down
        whole, told = manifest.read_bytes(), 0
        for at in range(0, len(whole), 3):
            manifest.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            try:
                await LanceStore(str(folder), "chunks", self.DIM).count()
            except StoreError as error:
                told += str(folder) in str(error)
        assert told > 20


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")  # said once a process
class TestQdrantLocalMode(suites.VectorStoreContract):
    def make(self) -> VectorStore:
        return QdrantStore(AsyncQdrantClient(":memory:"), "carrel-test", self.DIM, leaves_machine=False)


class TestQdrantEngine(OnDisk, suites.VectorStoreContract):
    def make(self) -> VectorStore:
        engine = cast("AsyncQdrantClient", EdgeClient(self.folder()))
        return QdrantStore(engine, "carrel-test", self.DIM, leaves_machine=False)


class TestQdrantServer(suites.VectorStoreContract):
    def make(self) -> VectorStore:
        return qdrant(qdrant_server.server_url(), self.DIM)

    def broken(self) -> VectorStore:
        return qdrant("http://127.0.0.1:1", self.DIM)

    def stuck(self) -> VectorStore:
        listening = socket.create_server(("127.0.0.1", 0))
        self._never_answers = listening
        return qdrant(f"http://127.0.0.1:{listening.getsockname()[1]}", self.DIM)


# --- on disk


def directions(rows: int, dim: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Vectors in clusters, as those of real texts are."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(rows // 50, 1), dim))
    made = centres[random.integers(len(centres), size=rows)] + 0.7 * random.normal(size=(rows, dim))
    scaled: np.ndarray[Any, Any] = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")
    return scaled


def records(rows: np.ndarray[Any, Any], first: int = 0) -> list[VectorRecord]:
    return [VectorRecord(chunk_id(first + n), row.tobytes(), {"even": n % 2 == 0}) for n, row in enumerate(rows)]


async def recall(
    store: VectorStore, rows: np.ndarray[Any, Any], queries: np.ndarray[Any, Any], where: Where | None = None
) -> float:
    """Return the share of the ten exact neighbours that the store finds."""
    allowed = np.arange(len(rows)) if where is None else np.arange(0, len(rows), 2)
    found = 0
    for query in queries:
        best = allowed[np.argsort(-(rows[allowed] @ query))[:10]]
        hits = {chunk for chunk, _ in await store.search(query.tobytes(), 10, where)}
        found += len(hits & {chunk_id(int(number)) for number in best})
    return found / (10 * len(queries))


async def test_another_dimension_in_the_same_place_is_refused(tmp_path: Path) -> None:
    first = LanceStore(str(tmp_path), "chunks", 4)
    await first.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])
    first.close()
    with pytest.raises(StoreError, match=r"holds vectors of 4 values, not 8\. Delete it"):
        await LanceStore(str(tmp_path), "chunks", 8).search(pack(*[1.0] * 8), 1)


async def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CarrelError, match="file"):
        await LanceStore(str(tmp_path / "file"), "chunks", 4).publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 has no twin there")
async def test_a_kill_while_writing_leaves_whole_records(tmp_path: Path) -> None:
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", _WRITE_FOR_EVER, str(tmp_path), stdout=subprocess.PIPE)
    assert writer.stdout is not None
    for _ in range(5):
        await writer.stdout.readline()
    writer.kill()
    await writer.wait()
    store = LanceStore(str(tmp_path), "chunks", 4)
    ids = [chunk for page in await collected(store.ids()) for chunk in page]
    assert set(await store.vectors(ids)) == set(ids)
    store.close()
    batches = Counter(int(chunk, 16) // 20 for chunk in ids)
    assert len(batches) >= 5
    assert set(batches.values()) == {20}, "a batch is there or isn't"


_WRITE_FOR_EVER = """
import asyncio, itertools, struct, sys
from carrel.extensions.stores.lance import LanceStore
from carrel.model.ports import VectorRecord

async def write():
    store = LanceStore(sys.argv[1], "chunks", 4)
    for n in itertools.count():
        await store.publish([VectorRecord(f"{20 * n + number:032x}", struct.pack("<4f", 1, 0, 0, 0)) for number in range(20)])
        print(n, flush=True)

asyncio.run(write())
"""


@pytest.mark.parametrize("writes_of_a_process", [40, 1])
async def test_old_versions_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes_of_a_process: int) -> None:
    monkeypatch.setattr("carrel.extensions.stores.lance.TIDY_AFTER", 5)
    monkeypatch.setattr("carrel.extensions.stores.lance.KEPT_VERSIONS", timedelta(milliseconds=1))
    store = LanceStore(str(tmp_path), "chunks", 4)
    for n in range(40):
        if n % writes_of_a_process == 0:
            store.close()
            store = LanceStore(str(tmp_path), "chunks", 4)
        await store.publish([VectorRecord(chunk_id(n), pack(1, 0, 0, 0), {"path": f"{n}.py"})])
        await store.upkeep()
    files = await asyncio.to_thread(lambda: [path for path in tmp_path.rglob("*") if path.is_file()])
    assert len(files) < 40, "each write leaves three files or more"
    assert await store.count() == 40
    store.close()


async def test_a_large_table_has_an_index_of_its_vectors_that_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.extensions.stores.lance.VECTORS_FROM", 1_000)
    monkeypatch.setattr("carrel.extensions.stores.lance.INDEX_FROM", 1_000)
    store = LanceStore(str(tmp_path), "chunks", 16)
    random = np.random.default_rng(5)
    rows = random.standard_normal((6_000, 16)).astype("<f4")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def records(numbers: range) -> list[VectorRecord]:
        return [VectorRecord(chunk_id(n), rows[n].tobytes(), {"path": f"{n // 10}.py"}) for n in numbers]

    async def indexes() -> list[str]:
        return sorted(index.name for index in await store._table.list_indices())

    await store.publish(records(range(1_200)))
    await store.tidy()
    assert await indexes() == ["ids", "labels_idx", "vectors_of_1200"]
    await store.publish(records(range(1_200, 2_000)), [chunk_id(0)])  # they aren't in the index
    hits = 0
    for query in random.standard_normal((20, 16)).astype("<f4"):
        cosines = rows[1:2_000] @ query / np.linalg.norm(query)
        best = {chunk_id(int(n) + 1) for n in np.argsort(-cosines)[:10]}
        found = await store.search(query.tobytes(), 10)
        assert found[0][1] == pytest.approx(float(cosines.max()), abs=1e-5), "cosines are exact"
        hits += len(best & {chunk for chunk, _ in found})
    assert hits >= 196
    in_one = await store.search(rows[50].tobytes(), 20, Where({"path": ("77.py",)}))
    assert {chunk for chunk, _ in in_one} == {chunk_id(n) for n in range(770, 780)}, "however far they are"

    await store.publish(records(range(2_000, 6_000)))
    await store.tidy()
    assert await indexes() == ["ids", "labels_idx", "vectors_of_5999"], "it has grown too much for its partitions"
    store.close()


async def test_rows_have_the_columns_that_other_programs_read(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path), "chunks", 4)
    payload: dict[str, Scalar] = {"path": "src/a.py", "start_line": 3, "end_line": 9, "symbol": "A.f", "content": "def f(): ..."}
    await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0), payload)])
    store.close()
    (row,) = lancedb.connect(str(tmp_path)).open_table("chunks").to_arrow().to_pylist()
    assert row.pop("labels")
    assert row == {
        "id": chunk_id(1),
        "filePath": "src/a.py",
        "content": "def f(): ...",
        "functionName": "A.f",
        "startLine": 3,
        "endLine": 9,
        "vector": [1, 0, 0, 0],
    }


# --- Qdrant
