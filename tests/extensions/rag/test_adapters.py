# ruff: noqa: ARG002 - stand-ins take what they are given
"""Plain objects as Carrel's ports, which pass the contracts of these, and Carrel's ports as plain objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.contract import suites
from tests.support.plain_parts import Characters, ScriptedModel, agent, document, streamed

from carrel.model.conversation import Completion, Message
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeChatModel, FakeEmbedder, faulty
from carrel.model.ports import (
    ChatModel,
    ChatSpec,
    EmbeddingSpec,
    Sampling,
    Tokenizer,
)
from carrel.providers.tokenizers import ExactTokenizer
from carrel.rag import (
    ChatModelPort,
    PlainChatModel,
    PlainEmbedder,
    RAGAgentConfig,
    TokenizerPort,
)


class TestChatModelPort(suites.ChatModelContract):
    def make(self) -> ChatModel:
        return ChatModelPort(ScriptedModel("Hello, you."), ChatSpec("plain"))

    def calling(self) -> ChatModel | None:
        return None

    def broken(self) -> ChatModel:
        return ChatModelPort(ScriptedModel(streamed("a", None)), ChatSpec("plain"))

    def stuck(self) -> ChatModel:
        class Silent:
            async def ask(self, **asked: Any) -> str:
                await asyncio.Event().wait()
                raise AssertionError

        return ChatModelPort(Silent(), ChatSpec("plain"))


class TestAwaitedChatModelPort(TestChatModelPort):
    def make(self) -> ChatModel:
        return ChatModelPort(AwaitedAnswer("Hello, ", "you."), ChatSpec("plain"))

    def broken(self) -> ChatModel:
        return ChatModelPort(AwaitedAnswer("Hello", fail=OSError("reset")), ChatSpec("plain"))


class AwaitedAnswer:
    """Streams asynchronously."""

    def __init__(self, *pieces: str, fail: Exception | None = None) -> None:
        self._pieces, self._fail = pieces, fail

    async def ask(self, **asked: Any) -> AsyncIterator[str]:
        async def answer() -> AsyncIterator[str]:
            for piece in self._pieces:
                yield piece
            if self._fail:
                raise self._fail

        return answer()


def test_a_conversation_becomes_two_prompts() -> None:
    model = ScriptedModel(streamed("Fine", "."))
    port = ChatModelPort(model, ChatSpec("plain", window=4_000, max_output=500))
    said = [Message("system", "Be brief."), Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "How are you?")]

    async def answer(*given: Any) -> str:
        return "".join([delta.text async for delta in port.stream(*given)])

    assert suites.run(answer(said, (), Sampling(0.0, 900, ("\n",)))) == "Fine."
    assert model.last == {
        "system_prompt": "Be brief.",
        "user_prompt": "user: Hello\n\nassistant: Hi\n\nuser: How are you?",
        "temperature": 0.0,
        "max_new_tokens": 500,
        "stream": True,
        "stop": ["\n"],
    }
    suites.run(answer([Message("user", "Hello")]))
    assert (model.last["user_prompt"], model.last["temperature"]) == ("Hello", 0.3)


class TestTokenizerPort(suites.TokenizerContract):
    def make(self) -> Tokenizer:
        class Strict(Characters):
            name = "strict"

            def encode(self, text: str, *, disallowed_special: Any = "all", add_special_tokens: bool = True) -> list[int]:
                if disallowed_special == "all" and "<|" in text:
                    raise ValueError("disallowed special token")
                text.encode()  # as compiled tokenizers do
                return [0] * add_special_tokens + super().encode(text)

        return TokenizerPort(Strict())

    def test_the_text_alone_is_counted(self) -> None:
        assert self.make().count("<|endoftext|>") == 13


# --- Carrel's ports as plain objects


def test_an_agent_runs_over_a_chat_model_port() -> None:
    fake = FakeChatModel(Completion("Three words here."), spec=ChatSpec("fake", window=500, tokenizer=ExactTokenizer()))
    one = agent([document("fact", source="a")], model=PlainChatModel(fake))
    assert one.run("why?", "sys", "{context} {query}") == "Three words here."
    messages, tools, options = fake.requests[-1]
    assert messages == (Message("system", "sys"), Message("user", "Source: a\nfact why?"))
    assert (tools, options.temperature) == ((), 0.3)
    assert one.retrieve("why?").token_budget == 500
    pieces = list(one.run("why?", "", "{query}", ["Hello", "Hi"], top_k=0, stream=True, max_new_tokens=9, stop=["\n"]))
    assert len(pieces) > 1
    assert "".join(pieces) == "Three words here."
    messages, _, options = fake.requests[-1]
    assert messages == (Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "why?"))
    assert options == Sampling(0.3, 9, ("\n",))


def test_a_chat_model_port_that_fails_is_a_provider_error() -> None:
    down = faulty(FakeChatModel(), fail=ProviderError("The quota is used up."))
    one = agent(model=PlainChatModel(down))
    with pytest.raises(ProviderError, match="quota"):
        one.run("q")
    with pytest.raises(ProviderError, match="quota"):
        list(one.run("q", stream=True))
    with pytest.raises(InvalidInput, match="role 'tool'"):
        one.run("q", chat_history=[{"role": "tool", "content": "x"}])


def test_an_embedder_port_gives_plain_rows() -> None:
    plain = PlainEmbedder(FakeEmbedder(EmbeddingSpec("fake", 32, max_texts=2)))
    rows = plain.embed(["one", "two", "one"], normalize_embeddings=True)
    assert (len(rows), len(rows[0]), rows[0] == rows[2], rows[0] == rows[1]) == (3, 32, True, False)
    assert all(type(value) is float for value in rows[0])
    assert plain.embed([]) == []
    down = PlainEmbedder(faulty(FakeEmbedder(), fail=ProviderError("No quota.")))
    with pytest.raises(ProviderError, match="quota"):
        agent(embedder=down).retrieve("q")


def test_the_estimate_needs_no_model() -> None:
    config = RAGAgentConfig(estimate_tokens=True, approx_chars_per_token=2.0, safety_margin_tokens=0)
    result = agent([document("x" * 500)], model=ScriptedModel(window=100), config=config).retrieve("q", "", "{context}")
    assert (result.context_tokens_used, len(result.context)) == (68, 136)


def test_answers_of_threads_are_closed_when_nobody_waits() -> None:
    closed = threading.Event()

    def answer() -> Iterator[str]:
        try:
            while True:
                yield "more"
        finally:
            closed.set()

    port = ChatModelPort(ScriptedModel(answer), ChatSpec("plain"))

    async def first() -> str:
        stream = port.stream([Message("user", "Hello")])
        piece = await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        return piece.text

    assert suites.run(first()) == "more"
    assert closed.wait(10)
