"""The contracts of models and tokenizers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import pytest
from tests.contract.suites.common import TEXTS, Contract, collected, cosine, run, unpack

from carrel.model.conversation import Message, ToolSpec
from carrel.model.ports import (
    ChatModel,
    Delta,
    Embedder,
    Reranker,
    Tokenizer,
)
from carrel.model.vectors import Vectors


class EmbedderContract(Contract[Embedder]):
    """`model.ports.Embedder`."""

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
                assert cosine(alone, together.floats(row)) > 0.999

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
            assert cosine(unpack(question), unpack(near)) > cosine(unpack(question), unpack(far))

        run(work())

    def test_calls_may_overlap(self) -> None:
        async def work() -> None:
            embedder = self.make()
            texts = [f"module number{n}" for n in range(8)]
            together = await asyncio.gather(*(embedder.embed([text], "document") for text in texts))
            for text, vectors in zip(texts, together, strict=True):
                alone = (await embedder.embed([text], "document")).floats(0)
                assert cosine(vectors.floats(0), alone) > 0.999

        run(work())


class RerankerContract(Contract[Reranker]):
    """`model.ports.Reranker`."""

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
    """`model.ports.Tokenizer`."""

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
    """`model.ports.ChatModel`. The model of `make` answers words to "Say hello.", whatever they are.

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
