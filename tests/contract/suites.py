"""What every implementation of a port must do: subclass a suite, say how an instance is made, and run pytest.

    class TestMyEmbedder(EmbedderContract):
        def make(self):
            return MyEmbedder(...)

Needs nothing but pytest and Carrel, so that this file can be copied. `broken` and `stuck` are for implementations that ask a
service: instances whose service fails, and never answers. Each test makes its own instance and uses it on one event loop.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import pytest

from carrel.core.conversation import Message, ToolSpec
from carrel.core.errors import CarrelError, InvalidInput
from carrel.core.ports import (
    AuditEvent,
    AuditLog,
    ChatModel,
    ChunkId,
    ChunkRef,
    Delta,
    Embedder,
    Reranker,
    Source,
    Tokenizer,
    Tool,
    ToolResult,
    Unavailable,
    VectorRecord,
    VectorStore,
    Where,
)
from carrel.core.types import Chunk, Filters, Query
from carrel.core.vectors import Vectors

P = TypeVar("P")
T = TypeVar("T")

PATIENCE_S = 20.0
"""No test waits longer: what takes so long hangs."""
TEXTS = (
    "def verify_password(user, password): return hash(password) == user.digest",
    "Größe, 中文, עברית, 😀 and a null \0 byte",
    "half an emoji \ud83d and another \udc00",
    "\ufeff\u202e\x1b[31m",
    "?!",
    "",
    " \r\n\t",
    "word " * 20_000,
)
"""Short, long, empty, in many scripts, and broken."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine; whatever hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    return asyncio.run(limited())


async def collected(stream: AsyncIterator[T]) -> list[T]:
    """All pieces of a stream."""
    return [piece async for piece in stream]


class Contract(Generic[P]):
    """What the suites share."""

    def make(self) -> P:
        """An instance that works."""
        raise NotImplementedError

    def broken(self) -> P:
        """An instance whose service fails."""
        pytest.skip("asks no service")

    def stuck(self) -> P:
        """An instance whose service never answers."""
        pytest.skip("asks no service")

    def use(self, port: P) -> Awaitable[Any]:
        """One ordinary use."""
        raise NotImplementedError

    def test_a_failure_is_an_error_of_the_tree(self) -> None:
        async def work() -> None:
            with pytest.raises(CarrelError):
                await self.use(self.broken())

        run(work())

    def test_a_cancelled_use_ends_at_once(self) -> None:
        run(self._cancelled(self.stuck()))

    def test_a_cancelled_use_leaves_the_next_one_whole(self) -> None:
        async def work() -> None:
            port = self.make()
            task = asyncio.ensure_future(self.use(port))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await self.use(port)

        run(work())

    async def _cancelled(self, port: P) -> None:
        task = asyncio.ensure_future(self.use(port))
        done, _ = await asyncio.wait([task], timeout=0.05)
        assert not done, "answered although the service doesn't"
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 1


class EmbedderContract(Contract[Embedder]):
    """`core.ports.Embedder`."""

    def use(self, port: Embedder) -> Awaitable[Any]:
        return port.embed(["how are passwords checked?"], "query")

    def test_its_spec_can_be_used(self) -> None:
        spec = self.make().spec
        assert spec.id
        assert spec.dim > 0
        assert spec.max_texts > 0
        assert spec.max_tokens is None or spec.max_tokens > 0
        assert -1 <= spec.floor < 1
        assert spec.price >= 0

    @pytest.mark.parametrize("kind", ["query", "document"])
    def test_each_text_gets_a_row_of_length_one_or_zero(self, kind: Any) -> None:
        async def work() -> None:
            embedder = self.make()
            for at in range(0, len(TEXTS), embedder.spec.max_texts):
                part = TEXTS[at : at + embedder.spec.max_texts]
                vectors = await embedder.embed(part, kind)
                assert isinstance(vectors, Vectors)
                assert vectors.fault(embedder.spec.dim, len(part)) is None
            assert len(await embedder.embed([], kind)) == 0

        run(work())

    def test_rows_are_in_the_texts_order(self) -> None:
        async def work() -> None:
            embedder = self.make()
            texts = [f"function number{n} returns colour{n}" for n in range(min(embedder.spec.max_texts, 20))]
            together = await embedder.embed(texts, "document")
            for row, text in enumerate(texts):
                alone = (await embedder.embed([text], "document")).floats(0)
                assert _cosine(alone, together.floats(row)) > 0.999

        run(work())

    def test_as_many_texts_as_a_request_may_have(self) -> None:
        async def work() -> None:
            embedder = self.make()
            texts = [f"text {n}" for n in range(embedder.spec.max_texts)]
            assert len(await embedder.embed(texts, "document")) == len(texts)

        run(work())

    def test_a_text_is_nearer_to_its_like(self) -> None:
        async def work() -> None:
            embedder = self.make()
            (question,) = await embedder.embed(["check the password of a user"], "query")
            near, far = await embedder.embed(["check the password of this user", "draw a red circle"], "document")
            assert _cosine(_unpack(question), _unpack(near)) > _cosine(_unpack(question), _unpack(far))

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            embedder = self.make()
            texts = [f"module number{n}" for n in range(8)]
            together = await asyncio.gather(*(embedder.embed([text], "document") for text in texts))
            for text, vectors in zip(texts, together, strict=True):
                alone = (await embedder.embed([text], "document")).floats(0)
                assert _cosine(vectors.floats(0), alone) > 0.999

        run(work())


class RerankerContract(Contract[Reranker]):
    """`core.ports.Reranker`."""

    def use(self, port: Reranker) -> Awaitable[Any]:
        return port.rerank("password", ["check the password"])

    def test_each_text_gets_a_score_from_0_to_1(self) -> None:
        async def work() -> None:
            reranker = self.make()
            assert reranker.spec.id
            for query in ("password", *TEXTS):
                scores = await reranker.rerank(query, TEXTS)
                assert len(scores) == len(TEXTS)
                assert all(0 <= score <= 1 for score in scores)
            assert list(await reranker.rerank("password", [])) == []

        run(work())

    def test_what_answers_scores_higher_wherever_it_stands(self) -> None:
        async def work() -> None:
            reranker = self.make()
            good, bad = "check the password of a user", "draw a red circle"
            first, second = await reranker.rerank("how is the password of a user checked", [good, bad])
            assert first > second
            first, second = await reranker.rerank("how is the password of a user checked", [bad, good])
            assert first < second

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            reranker = self.make()
            counts = [1, 3, 2]
            answers = await asyncio.gather(*(reranker.rerank("password", ["a password"] * n) for n in counts))
            assert [len(answer) for answer in answers] == counts

        run(work())


class TokenizerContract:
    """`core.ports.Tokenizer`."""

    def make(self) -> Tokenizer:
        """An instance."""
        raise NotImplementedError

    def test_a_text_has_tokens_and_no_text_has_none(self) -> None:
        tokenizer = self.make()
        assert tokenizer.name
        assert tokenizer.count("") == 0
        assert all(tokenizer.count(text) > 0 for text in TEXTS if text)
        assert tokenizer.count(TEXTS[-1]) > tokenizer.count(TEXTS[0])

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_a_trimmed_text_is_the_longest_beginning_that_fits(self, text: str) -> None:
        tokenizer = self.make()
        assert tokenizer.trim(text, tokenizer.count(text)) == text
        assert tokenizer.trim(text, -1) == tokenizer.trim(text, 0) == ""
        before = ""
        for most in (1, 2, 3, 7, 50):
            trimmed = tokenizer.trim(text, most)
            assert text.startswith(trimmed)
            assert tokenizer.count(trimmed) <= most
            assert len(trimmed) >= len(before)
            before = trimmed


class ChatModelContract(Contract[ChatModel]):
    """`core.ports.ChatModel`. The model of `make` answers words to "Say hello.", whatever they are.

    That of `calling` calls the tool `search_code` when it is asked "Search for login."; None where the model knows no tools.
    """

    def calling(self) -> ChatModel | None:
        """An instance that calls a tool."""
        raise NotImplementedError

    def use(self, port: ChatModel) -> Awaitable[Any]:
        return collected(port.stream([Message("user", "Say hello.")]))

    def test_its_spec_can_be_used(self) -> None:
        spec = self.make().spec
        assert spec.id
        assert spec.window > 0
        assert spec.max_output is None or spec.max_output > 0

    def test_an_answer_ends_once_and_last(self) -> None:
        async def work() -> None:
            pieces: list[Delta] = await self.use(self.make())
            assert "".join(piece.text for piece in pieces).strip()
            assert [piece.finish is not None for piece in pieces] == [False] * (len(pieces) - 1) + [True]

        run(work())

    def test_calls_come_whole_and_the_answer_ends_with_them(self) -> None:
        async def work() -> None:
            if (model := self.calling()) is None:
                pytest.skip("knows no tools")
            tool = ToolSpec("search_code", "Finds code.", {"type": "object", "properties": {"query": {"type": "string"}}})
            pieces = await collected(model.stream([Message("user", "Search for login.")], [tool]))
            calls = [call for piece in pieces for call in piece.calls]
            assert [call.name for call in calls] == ["search_code"]
            assert all(call.id for call in calls)
            json.dumps(dict(calls[0].arguments))
            assert pieces[-1].finish == "tools"
            # What came of it is said to the same model.
            result = Message("tool", "No relevant code found.", call_id=calls[0].id)
            asked = [Message("user", "Search for login."), Message("assistant", "", tuple(calls)), result]
            assert (await collected(model.stream(asked, [tool])))[-1].finish is not None

        run(work())

    @pytest.mark.parametrize("text", TEXTS[:5], ids=range(5))
    def test_any_text_can_be_said(self, text: str) -> None:
        async def work() -> None:
            messages = [Message("system", text), Message("user", text)]
            assert (await collected(self.make().stream(messages)))[-1].finish is not None

        run(work())

    def test_answers_may_overlap(self) -> None:
        async def work() -> None:
            model = self.make()
            for pieces in await asyncio.gather(self.use(model), self.use(model)):
                assert pieces[-1].finish is not None

        run(work())


class VectorStoreContract(Contract[VectorStore]):
    """`core.ports.VectorStore`. `make` gives an empty one each time, of `DIM` values; its cosines are exact to `tolerance`."""

    DIM = 4
    tolerance = 1e-3

    def use(self, port: VectorStore) -> Awaitable[Any]:
        return port.search(_pack(1, 0, 0, 0), 3)

    def test_the_best_come_first_with_their_cosines(self) -> None:
        async def work() -> None:
            store = await self._filled()
            assert store.dim == self.DIM
            found = await store.search(_pack(1, 0, 0, 0), 10)
            assert [i for i, _ in found] == [_id(1), _id(2), _id(3)]
            assert [score for _, score in found] == pytest.approx([1.0, 0.8, 0.0], abs=self.tolerance)
            assert [i for i, _ in await store.search(_pack(1, 0, 0, 0), 1)] == [_id(1)]
            assert list(await store.search(_pack(1, 0, 0, 0), 0)) == []
            assert [i for i, _ in await store.search(_pack(1, 0, 0, 0), 10, floor=0.5)] == [_id(1), _id(2)]
            assert list(await store.search(_pack(0, 0, 0, 0), 10)) == []

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
                found = await store.search(_pack(1, 0, 0, 0), len(expected) or 1, Where(equals))  # type: ignore[arg-type]
                assert [i for i, _ in found] == [_id(n) for n in expected], equals

        run(work())

    def test_records_are_replaced_and_deleted(self) -> None:
        async def work() -> None:
            store = await self._filled()
            await store.publish([VectorRecord(_id(1), _pack(0, 1, 0, 0), {"language": "go"})], [_id(2), _id(99)])
            assert [i for i, _ in await store.search(_pack(0, 1, 0, 0), 9, floor=0.9)] == [_id(1)]
            assert [i for i, _ in await store.search(_pack(0, 1, 0, 0), 9, Where({"language": ("go",)}))] == [_id(1)]
            assert sorted(await self._ids(store)) == [_id(1), _id(3)]
            await store.publish([VectorRecord(_id(1), _pack(1, 0, 0, 0))], [_id(1)])  # deleting has the last word
            assert await self._ids(store) == [_id(3)]
            await store.publish([VectorRecord(_id(4), _pack(1, 0, 0, 0)), VectorRecord(_id(4), _pack(0, 0, 1, 0))])
            assert [i for i, _ in await store.search(_pack(0, 0, 1, 0), 9, floor=0.9)] == [_id(4)]
            await store.publish([], await self._ids(store))
            assert await self._ids(store) == []
            assert list(await store.search(_pack(1, 0, 0, 0), 9)) == []
            await store.publish([])

        run(work())

    def test_vectors_are_given_back(self) -> None:
        async def work() -> None:
            store = await self._filled()
            kept = await store.vectors([_id(2), _id(99), _id(1)])
            assert set(kept) == {_id(1), _id(2)}
            assert _unpack(kept[_id(2)]) == pytest.approx((0.8, 0.6, 0, 0), abs=self.tolerance)
            assert await store.vectors([]) == {}

        run(work())

    def test_another_dimension_is_refused_and_nothing_kept(self) -> None:
        async def work() -> None:
            store = self.make()
            with pytest.raises(InvalidInput):
                await store.publish([VectorRecord(_id(1), _pack(1, 0, 0, 0)), VectorRecord(_id(2), _pack(1))])
            with pytest.raises(InvalidInput):
                await store.search(_pack(1, 0), 1)
            assert await self._ids(store) == []

        run(work())

    def test_many_records_are_published_at_once_and_listed(self) -> None:
        async def work() -> None:
            store = self.make()
            records = [VectorRecord(_id(n), _pack(*_around(n)), {"n": n}) for n in range(1_000)]
            await store.publish(records)
            listed = await self._ids(store)
            assert len(listed) == len(set(listed)) == 1_000
            assert [i for i, _ in await store.search(_pack(*_around(417)), 1)] == [_id(417)]

        run(work())

    def test_payloads_hold_any_text(self) -> None:
        async def work() -> None:
            store = self.make()
            texts = [text[:1_000] for text in TEXTS[:2]]
            await store.publish([VectorRecord(_id(n), _pack(1, 0, 0, 0), {"path": text}) for n, text in enumerate(texts)])
            for n, text in enumerate(texts):
                assert [i for i, _ in await store.search(_pack(1, 0, 0, 0), 9, Where({"path": (text,)}))] == [_id(n)]

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            store = self.make()
            await asyncio.gather(*(store.publish([VectorRecord(_id(n), _pack(1, 0, 0, 0))]) for n in range(10)))
            assert len(await self._ids(store)) == 10

        run(work())

    async def _filled(self) -> VectorStore:
        store = self.make()
        await store.publish(
            [
                VectorRecord(_id(1), _pack(1, 0, 0, 0), {"language": "python", "size": 10, "draft": False}),
                VectorRecord(_id(2), _pack(0.8, 0.6, 0, 0), {"language": "rust", "size": 20}),
                VectorRecord(_id(3), _pack(0, 0, 0, 1), {"language": "python", "size": 30, "draft": True}),
            ]
        )
        return store

    @staticmethod
    async def _ids(store: VectorStore) -> list[ChunkId]:
        return [chunk_id for page in await collected(store.ids()) for chunk_id in page]


class SourceContract(Contract[Source]):
    """`core.ports.Source`. It must find two chunks or more for `question`; `forget` takes one of its paths away."""

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


class ToolContract(Contract[Tool]):
    """`core.ports.Tool`. `arguments` are such as its schema allows."""

    arguments: dict[str, Any]

    def failing(self) -> Tool:
        """An instance that can't do it, for a cause that the model may do something about."""
        pytest.skip("never fails")

    def use(self, port: Tool) -> Awaitable[Any]:
        return port.run(self.arguments)

    def test_its_spec_can_be_offered(self) -> None:
        spec = self.make().spec
        assert spec.name.replace("_", "").replace("-", "").isalnum()
        assert spec.description.strip()
        assert spec.schema["type"] == "object"
        json.dumps(dict(spec.schema))

    def test_it_gives_text_and_says_when_it_failed(self) -> None:
        async def work() -> None:
            result = await self.use(self.make())
            assert isinstance(result, ToolResult)
            assert not result.is_error
            failed = await self.use(self.failing())
            assert failed.is_error
            assert failed.text.strip()

        run(work())

    def test_runs_may_overlap(self) -> None:
        async def work() -> None:
            tool = self.make()
            assert all(isinstance(result, ToolResult) for result in await asyncio.gather(self.use(tool), self.use(tool)))

        run(work())


class AuditLogContract:
    """`core.ports.AuditLog`. `kept` gives what a log has kept, in order."""

    def make(self) -> AuditLog:
        """An empty one."""
        raise NotImplementedError

    def kept(self, log: AuditLog) -> Sequence[AuditEvent]:
        """What it has kept so far."""
        raise NotImplementedError

    def test_events_are_kept_in_order(self) -> None:
        log = self.make()
        events = [AuditEvent("search", 1.0 + n, "somebody", {"hits": n, "scores": [0.5, 0.25]}) for n in range(20)]
        for event in events:
            log.record(event)
        assert list(self.kept(log)) == events

    def test_nothing_is_raised_and_nothing_waited_for(self) -> None:
        log = self.make()
        began = time.monotonic()
        for details in ({}, {"text": TEXTS[2]}, {"not JSON": object()}, {"nan": math.nan}):
            log.record(AuditEvent("", -1.0, TEXTS[2], details))
        assert time.monotonic() - began < 1


def _id(number: int) -> ChunkId:
    return ChunkId(f"{number:032x}")


def _pack(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def _unpack(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def _around(number: int) -> tuple[float, ...]:
    """A thousand directions, each its own."""
    angle = number * math.pi / 1_000
    return (math.cos(angle), math.sin(angle), 0.0, 0.0)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else float(one == other)
