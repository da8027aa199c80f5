"""The contract of stores."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from tests.contract.suites.common import TEXTS, Contract, chunk_id, collected, direction, pack, run, unpack

from carrel.model.errors import InvalidInput
from carrel.model.ports import (
    ChunkId,
    VectorRecord,
    VectorStore,
    Where,
)


class VectorStoreContract(Contract[VectorStore]):
    """`model.ports.VectorStore`. `make` gives an empty one each time, of `DIM` values; its cosines are exact to `tolerance`."""

    DIM = 4
    tolerance = 1e-3

    def use(self, port: VectorStore) -> Awaitable[Any]:
        return port.search(pack(1, 0, 0, 0), 3)

    def test_the_best_come_first_with_their_cosines(self) -> None:
        async def work() -> None:
            store = await self._filled()
            assert store.dim == self.DIM
            found = await store.search(pack(1, 0, 0, 0), 10)
            assert [i for i, _ in found] == [chunk_id(1), chunk_id(2), chunk_id(3)]
            assert [score for _, score in found] == pytest.approx([1.0, 0.8, 0.0], abs=self.tolerance)
            assert [i for i, _ in await store.search(pack(1, 0, 0, 0), 1)] == [chunk_id(1)]
            assert list(await store.search(pack(1, 0, 0, 0), 0)) == []
            assert [i for i, _ in await store.search(pack(1, 0, 0, 0), 10, floor=0.5)] == [chunk_id(1), chunk_id(2)]
            assert list(await store.search(pack(0, 0, 0, 0), 10)) == []

        run(work())

    def test_a_filter_is_applied_before_the_best_are_chosen(self) -> None:
        async def work() -> None:
            store = await self._filled()
            for equals, expected in (
                ({"language": ("python",)}, [1, 3]),
                ({"language": ("rust",)}, [2]),
                ({"language": ("python", "rust"), "size": (20, 30)}, [2, 3]),
                ({"draft": (True,)}, [3]),
                ({"language": ("cobol",)}, []),
                ({"colour": ("red",)}, []),
            ):
                found = await store.search(pack(1, 0, 0, 0), len(expected) or 1, Where(equals))  # type: ignore[arg-type]
                assert [i for i, _ in found] == [chunk_id(n) for n in expected], equals

        run(work())

    def test_records_are_replaced_and_deleted(self) -> None:
        async def work() -> None:
            store = await self._filled()
            await store.publish([VectorRecord(chunk_id(1), pack(0, 1, 0, 0), {"language": "go"})], [chunk_id(2), chunk_id(99)])
            assert [i for i, _ in await store.search(pack(0, 1, 0, 0), 9, floor=0.9)] == [chunk_id(1)]
            assert [i for i, _ in await store.search(pack(0, 1, 0, 0), 9, Where({"language": ("go",)}))] == [chunk_id(1)]
            assert sorted(await self._ids(store)) == [chunk_id(1), chunk_id(3)]
            await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0))], [chunk_id(1)])  # deleting has the last word
            assert await self._ids(store) == [chunk_id(3)]
            await store.publish([VectorRecord(chunk_id(4), pack(1, 0, 0, 0)), VectorRecord(chunk_id(4), pack(0, 0, 1, 0))])
            assert [i for i, _ in await store.search(pack(0, 0, 1, 0), 9, floor=0.9)] == [chunk_id(4)]
            await store.publish([], await self._ids(store))
            assert await self._ids(store) == []
            assert list(await store.search(pack(1, 0, 0, 0), 9)) == []
            await store.publish([])

        run(work())

    def test_vectors_are_given_back(self) -> None:
        async def work() -> None:
            store = await self._filled()
            kept = await store.vectors([chunk_id(2), chunk_id(99), chunk_id(1)])
            assert set(kept) == {chunk_id(1), chunk_id(2)}
            assert unpack(kept[chunk_id(2)]) == pytest.approx((0.8, 0.6, 0, 0), abs=self.tolerance)
            assert await store.vectors([]) == {}

        run(work())

    def test_another_dimension_is_refused_and_nothing_kept(self) -> None:
        async def work() -> None:
            store = self.make()
            with pytest.raises(InvalidInput):
                await store.publish([VectorRecord(chunk_id(1), pack(1, 0, 0, 0)), VectorRecord(chunk_id(2), pack(1))])
            with pytest.raises(InvalidInput):
                await store.search(pack(1, 0), 1)
            assert await self._ids(store) == []

        run(work())

    def test_many_records_are_published_at_once_and_listed(self) -> None:
        async def work() -> None:
            store = self.make()
            records = [VectorRecord(chunk_id(n), pack(*direction(n)), {"n": n}) for n in range(1_000)]
            await store.publish(records)
            listed = await self._ids(store)
            assert len(listed) == len(set(listed)) == 1_000
            assert [i for i, _ in await store.search(pack(*direction(417)), 1)] == [chunk_id(417)]

        run(work())

    def test_payloads_hold_any_text(self) -> None:
        async def work() -> None:
            store = self.make()
            texts = [text[:1_000] for text in TEXTS[:2]]
            await store.publish([VectorRecord(chunk_id(n), pack(1, 0, 0, 0), {"path": text}) for n, text in enumerate(texts)])
            for n, text in enumerate(texts):
                assert [i for i, _ in await store.search(pack(1, 0, 0, 0), 9, Where({"path": (text,)}))] == [chunk_id(n)]

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            store = self.make()
            await asyncio.gather(*(store.publish([VectorRecord(chunk_id(n), pack(1, 0, 0, 0))]) for n in range(10)))
            assert len(await self._ids(store)) == 10

        run(work())

    async def _filled(self) -> VectorStore:
        store = self.make()
        await store.publish(
            [
                VectorRecord(chunk_id(1), pack(1, 0, 0, 0), {"language": "python", "size": 10, "draft": False}),
                VectorRecord(chunk_id(2), pack(0.8, 0.6, 0, 0), {"language": "rust", "size": 20}),
                VectorRecord(chunk_id(3), pack(0, 0, 0, 1), {"language": "python", "size": 30, "draft": True}),
            ]
        )
        return store

    @staticmethod
    async def _ids(store: VectorStore) -> list[ChunkId]:
        return [chunk_id for page in await collected(store.ids()) for chunk_id in page]
