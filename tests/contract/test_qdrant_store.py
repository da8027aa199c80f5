"""What is of Qdrant's store alone."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")

from tests.contract import qdrant_server
from tests.contract.suites.common import chunk_id, collected, pack
from tests.contract.test_vector_stores import client, qdrant

from carrel.extensions.stores.qdrant import QdrantStore
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.ports import Scalar, VectorRecord, Where

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")


async def test_a_point_has_the_payload_that_other_programs_read() -> None:
    asked = client(qdrant_server.server_url())
    store = QdrantStore(asked, f"carrel-test-{os.getpid()}-payload", 4, leaves_machine=False)
    payload: dict[str, Scalar] = {
        "path": "a.py",
        "start_line": 3,
        "end_line": 9,
        "symbol": "A.f",
        "content": "x",
        "content_hash": "ff",
    }
    await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0), payload)])
    ((point,), _) = await asked.scroll(store.collection, with_payload=True)
    assert str(point.id) == "00000000-0000-0000-0000-000000000001"
    assert point.payload == {
        "filePath": "a.py",
        "startLine": 3,
        "endLine": 9,
        "symbolName": "A.f",
        "content": "x",
        "contentHash": "ff",
    }
    assert [page async for page in store.scroll()] == [[(chunk_id(1), payload)]]
    await store.drop()


async def test_points_are_deleted_by_what_they_say() -> None:
    store = qdrant(qdrant_server.server_url())
    await store.publish([VectorRecord(chunk_id(n), pack(1, 0, 0, 0), {"path": f"{n % 2}.py"}) for n in range(10)])
    await store.delete_where(Where({"path": ("1.py",)}))
    assert await store.count() == 5
    assert {item["path"] for page in await collected(store.scroll()) for _, item in page} == {"0.py"}
    await store.drop()


async def test_a_collection_of_another_dimension_is_told() -> None:
    url = qdrant_server.server_url()
    first = qdrant(url, 4)
    await first.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])
    with pytest.raises(ProviderError, match="holds vectors of 4 values; the model gives 8"):
        await qdrant(url, 8, first.collection).open()
    await first.drop()


async def test_a_collection_that_was_deleted_is_told_once_and_made_again() -> None:
    url = qdrant_server.server_url()
    store = qdrant(url)
    await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])
    await client(url).delete_collection(store.collection)
    with pytest.raises(ProviderError, match="no such collection any more") as raised:
        await store.search(pack(1, 0, 0, 0), 1)
    assert raised.value.retryable
    assert list(await store.search(pack(1, 0, 0, 0), 1)) == []
    await store.drop()


async def test_nothing_is_sent_where_nobody_allowed_it() -> None:
    def refuse() -> None:
        raise NotAllowed("qdrant", "db.example:6333")

    store = QdrantStore(client("http://127.0.0.1:1"), "x", 4, leaves_machine=True, permit=refuse)
    with pytest.raises(NotAllowed, match="carrel confirm qdrant"):
        await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))])
