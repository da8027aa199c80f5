"""Vectors outside of the index give the order that its own would give."""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.indexing import run_index_blocking

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.fakes import MemoryStore
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.ports import ChunkId, PublishedVectors, VectorRecord, VectorStore, Where
from carrel.model.types import Filters, Query
from carrel.model.vectors import Vectors
from carrel.providers.local import bundled
from carrel.question.prepare import PreparedQuery, prepare_blocking
from carrel.search.external_vectors import compare, compare_outside, store_filter
from carrel.search.retriever import Retrieval, retrieve

EMBEDDER = bundled()
VERBS = ("open", "close", "read", "write", "retry", "cancel", "count", "merge", "split")
NOUNS = (
    "session",
    "password",
    "connection",
    "buffer",
    "index",
    "socket",
    "order",
    "invoice",
    "token",
    "cache",
    "queue",
    "report",
)
ISSUE = """Cancelled orders keep their connection

When I cancel an order, `merge_queue` keeps the socket open:

```
Traceback (most recent call last):
  File "cancel.py", line 2, in cancel_order
ValueError: the connection of the order was closed
```
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for place, verb in enumerate(VERBS):
        other = VERBS[(place + 4) % len(VERBS)]
        functions = [
            f"def {verb}_{noun}(value, reason):\n    '''{verb.title()} the {noun} when the {NOUNS[number - 3]} asks for it.'''\n"
            f"    return {other}_{noun}(value.{NOUNS[number - 5]}, reason)\n"
            for number, noun in enumerate(NOUNS)
        ]
        (root / f"{verb}.py").write_text("\n\n".join(functions))
    return root


async def at_once(work: Callable[[CancelToken], Any]) -> Any:
    return work(CancelToken())


def indexed(root: Path, directory: Path, dim: int) -> Store:
    store = Store.open(str(directory), str(root), embedder_id=EMBEDDER.spec.id, dim=dim, walk=WalkOptions(), cut=CutOptions())
    if dim:
        run_index_blocking(store, EMBEDDER, CancelToken())
    else:
        plan = store.scan(CancelToken())
        while batch := store.cut(plan, CancelToken()):
            store.commit(batch, CancelToken())
    return store


@pytest.fixture(scope="module")
def own(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    store = indexed(root, tmp_path_factory.mktemp("own"), EMBEDDER.spec.dim)
    yield store.snapshot()
    store.close()


@pytest.fixture(scope="module")
def words(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    store = indexed(root, tmp_path_factory.mktemp("words"), 0)
    yield store.snapshot()
    store.close()


def records(own: Snapshot) -> list[VectorRecord]:
    chunks = [chunk for path in own.paths() for chunk in own.file_chunks(path)]
    assert len(chunks) == len(VERBS) * len(NOUNS)
    return [VectorRecord(ChunkId(chunk.id), own.vector(chunk.doc), {"path": chunk.path}) for chunk in chunks]


class IndexVectors(MemoryStore):
    """Compares with the index's vectors as they are: rounded to bytes, they are a thousandth longer or shorter than 1."""

    async def search(
        self, vector: bytes, k: int, where: Where | None = None, floor: float | None = None
    ) -> Sequence[tuple[ChunkId, float]]:
        lengths = {chunk_id: math.hypot(*struct.unpack(f"<{self.dim}f", kept)) for chunk_id, kept in self._vectors().items()}
        asked = math.hypot(*struct.unpack(f"<{self.dim}f", vector))
        found = [(i, score * lengths[i] * asked) for i, score in await super().search(vector, 10_000, where)]
        return sorted((one for one in found if floor is None or one[1] >= floor), key=lambda one: -one[1])[:k]

    def _vectors(self) -> dict[ChunkId, bytes]:
        return {chunk_id: record.vector for chunk_id, record in self._records.items()}


@pytest.fixture(scope="module")
def outside(own: Snapshot) -> VectorStore:
    store = IndexVectors(EMBEDDER.spec.dim)
    asyncio.run(store.publish(records(own)))
    return store


def told(found: Retrieval) -> tuple[list[str], list[float]]:
    return [f"{r.path}:{r.start_line}" for r in found.ranked], [
        *(place.score for place in found.order.places),
        *(r.dense for r in found.ranked),
    ]


def prepared_for(query: Query) -> PreparedQuery:
    """Round the question as the scan of the index does, so that nearly equal cosines have one order everywhere."""
    prepared = prepare_blocking(query, EMBEDDER)

    def rounded(vector: bytes) -> bytes:
        values = Vectors(vector, EMBEDDER.spec.dim).floats(0)
        step = max(map(abs, values)) / 127
        return Vectors.of([[round(value / step) * step for value in values]], EMBEDDER.spec.dim).data

    texts = {name: replace(text, vector=rounded(text.vector)) for name, text in prepared.texts.items() if text.vector}
    return replace(prepared, texts={**prepared.texts, **texts})


QUERIES = (
    Query("how is the session of a connection closed"),
    Query("password token", limit=3, pinned=("count.py", "merge.py")),
    Query("retry_socket"),
    Query("cancel the order when the invoice asks for it", active_path="split.py"),
    Query(ISSUE, limit=5),
)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.text[:20])
def test_the_order_is_that_of_the_index_with_vectors_of_its_own(
    own: Snapshot, words: Snapshot, outside: VectorStore, query: Query
) -> None:
    prepared = prepared_for(query)
    elsewhere = asyncio.run(compare(prepared, words, outside, at_once))
    expected, found = told(retrieve(own, prepared, CancelToken())), told(retrieve(words, elsewhere, CancelToken()))
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=1e-3)


def test_the_best_of_the_store_alone_would_give_another_order(own: Snapshot, words: Snapshot, outside: VectorStore) -> None:
    """Without this the test above would not show anything."""
    prepared = prepared_for(QUERIES[3])
    best = asyncio.run(outside.search(prepared.texts[""].vector, 60, None, EMBEDDER.spec.floor))
    alone = replace(prepared, texts={"": replace(prepared.texts[""], dense=best)})
    assert told(retrieve(words, alone, CancelToken()))[0] != told(retrieve(own, prepared, CancelToken()))[0]


def test_vectors_that_the_store_lacks_are_no_fault(words: Snapshot) -> None:
    prepared = prepare_blocking(QUERIES[0], EMBEDDER)
    elsewhere = asyncio.run(compare(prepared, words, MemoryStore(EMBEDDER.spec.dim), at_once))
    assert retrieve(words, elsewhere, CancelToken()).hits


def test_the_vectors_of_the_index_itself_are_used_where_it_has_them(own: Snapshot, outside: VectorStore) -> None:
    """What the store doesn't have yet counts as much as what it has; nothing is asked from it but its best."""
    half = IndexVectors(EMBEDDER.spec.dim)
    kept = [record for record in records(own) if str(record.payload["path"]) < "open.py"]
    asyncio.run(half.publish(kept))
    published = {str(record.payload["path"]) for record in kept}
    for query in QUERIES:
        prepared = prepared_for(query)
        missing = [path for path in own.paths() if path not in published]
        elsewhere = asyncio.run(compare(prepared, own, half, at_once, unpublished=missing))
        expected, found = told(retrieve(own, prepared, CancelToken())), told(retrieve(own, elsewhere, CancelToken()))
        assert found[0] == expected[0]
        assert found[1] == pytest.approx(expected[1], abs=1e-3)


class Broken(MemoryStore):
    async def search(self, *_: Any) -> Any:
        raise ProviderError("Qdrant can't be reached")


class Hangs(MemoryStore):
    async def search(self, *_: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("kind", [Broken, Hangs])
def test_a_store_that_fails_costs_its_vectors_only(own: Snapshot, kind: type[MemoryStore]) -> None:
    failures: list[CarrelError] = []

    class Outside:
        def usable(self) -> PublishedVectors:
            return PublishedVectors(kind(EMBEDDER.spec.dim), (), "The store", "Restart it.")

        def failed(self, error: CarrelError) -> None:
            failures.append(error)

    prepared = prepare_blocking(QUERIES[0], EMBEDDER)
    answered = asyncio.run(compare_outside(prepared, own, Outside(), at_once, seconds=0.05))
    assert told(retrieve(own, answered, CancelToken())) == told(retrieve(own, prepared, CancelToken()))
    assert len(failures) == 1
    assert "answered by the vectors of the index itself" in str(answered.problem)
    why = {Broken: "Qdrant can't be reached", Hangs: "The store didn't answer within 0.05 s. Restart it."}
    assert str(failures[0]) == why[kind]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), Where({})),
        (Filters(languages=("python",), min_score=0.2), Where({"language": ("python",)})),
        (Filters(sources=("docs",)), Where({"source": ("docs",)})),
        (Filters(path_globs=("src/**",)), None),
        (Filters(languages=("python",), symbol="Order"), None),
    ],
)
def test_filters_that_a_store_cannot_apply_leave_the_question_to_the_index(filters: Filters, expected: Where | None) -> None:
    assert store_filter(filters) == expected
