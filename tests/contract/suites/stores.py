"""The contracts of stores and sources."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from tests.contract.suites.common import TEXTS, Contract, chunk_id, collected, direction, pack, run, unpack

from carrel.model.errors import InvalidInput
from carrel.model.ports import (
    ChunkId,
    ChunkRef,
    Source,
    Unavailable,
    VectorRecord,
    VectorStore,
    Where,
)
from carrel.model.types import Chunk, Filters, Query


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


class SourceContract(Contract[Source]):
    """`model.ports.Source`. It must find two chunks or more for `question`; `forget` takes one of its paths away."""

    question = "password"

    def forget(self, source: Source, path: str) -> None:  # noqa: ARG002
        """Delete what is at this path, where the source can lose something."""
        pytest.skip("loses nothing")

    def use(self, port: Source) -> Awaitable[Any]:
        return port.candidates(Query(self.question), 5)

    def test_it_says_what_it_is(self) -> None:
        source = self.make()
        assert source.name
        assert source.description.strip()
        assert "\n" not in source.description

    def test_what_it_offers_can_be_read_in_order(self) -> None:
        async def work() -> None:
            source = self.make()
            found = await source.candidates(Query(self.question, limit=1), 5)  # k counts
            assert 2 <= len(found) <= 5
            assert len({candidate.ref for candidate in found}) == len(found)
            assert all(0 <= candidate.relevance <= 1 for candidate in found)
            assert [c.relevance for c in found] == sorted((c.relevance for c in found), reverse=True)
            assert all(candidate.ref.source == source.name for candidate in found)
            assert all(candidate.path and "\\" not in candidate.path for candidate in found)
            backwards = found[::-1]
            for candidate, chunk in zip(backwards, await source.read([c.ref for c in backwards]), strict=True):
                assert isinstance(chunk, Chunk)
                assert (chunk.id, chunk.path) == (candidate.ref.id, candidate.path)
                assert chunk.text.strip()
                assert 1 <= candidate.start_line <= candidate.end_line
                assert 1 <= chunk.span.start_line <= chunk.span.end_line

        run(work())

    def test_no_more_than_asked_for(self) -> None:
        async def work() -> None:
            source = self.make()
            assert len(await source.candidates(Query(self.question), 1)) == 1
            assert list(await source.candidates(Query(self.question), 0)) == []
            assert list(await source.read([])) == []

        run(work())

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_any_question_can_be_asked(self, text: str) -> None:
        assert len(run(self._found(Query(text)))) <= 3

    def test_what_is_excluded_is_not_offered(self) -> None:
        async def work() -> None:
            source = self.make()
            first, *_ = await source.candidates(Query(self.question), 5)
            filters = Filters(exclude=(first.path,))
            assert first.path not in {c.path for c in await source.candidates(Query(self.question, filters=filters), 5)}
            for none in (
                Filters(path_globs=("no/such/path.xyz",)),
                Filters(languages=("rust",)),
                Filters(metadata={"symbol": "no_such_symbol"}),
            ):
                assert list(await source.candidates(Query(self.question, filters=none), 5)) == []

        run(work())

    def test_what_is_not_its_own_or_never_was_is_unavailable(self) -> None:
        async def work() -> None:
            source = self.make()
            (mine, *_) = await source.candidates(Query(self.question), 5)
            other, never = ChunkRef("another source", mine.ref.id), ChunkRef(source.name, ChunkId("0" * 32))
            given = await source.read([other, mine.ref, never, mine.ref])
            assert [isinstance(chunk, Unavailable) for chunk in given] == [True, False, True, False]
            assert [chunk.ref for chunk in given if isinstance(chunk, Unavailable) and chunk.reason] == [other, never]

        run(work())

    def test_what_was_deleted_is_unavailable(self) -> None:
        async def work() -> None:
            source = self.make()
            (first, *_) = await source.candidates(Query(self.question), 5)
            self.forget(source, first.path)
            (gone,) = await source.read([first.ref])
            assert isinstance(gone, Unavailable)
            assert gone.ref == first.ref

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            source = self.make()
            one, other = await asyncio.gather(self.use(source), self.use(source))
            assert one == other

        run(work())

    async def _found(self, query: Query) -> Sequence[Any]:
        return await self.make().candidates(query, 3)
