# ruff: noqa: ARG002 - stand-ins take what they are given
"""Plain objects as Carrel's ports, which pass the contracts of these, and Carrel's ports as plain objects."""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest
from tests.contract import suites
from tests.support.plain_parts import Characters, FixedEmbedder, ScriptedModel, agent, document, streamed

import carrel
from carrel.extensions.stores.memory import MemoryStore
from carrel.model.conversation import Completion, Message
from carrel.model.errors import InvalidInput, ProviderError, StoreError
from carrel.model.fakes import FakeChatModel, FakeEmbedder, FakeSource, faulty
from carrel.model.ports import (
    ChatModel,
    ChatSpec,
    ChunkId,
    Embedder,
    EmbeddingSpec,
    Sampling,
    Source,
    Tokenizer,
    Unavailable,
    VectorRecord,
)
from carrel.model.types import Query
from carrel.model.vectors import Vectors
from carrel.providers.tokenizers import ExactTokenizer
from carrel.rag import (
    ChatModelPort,
    EmbedderPort,
    PlainChatModel,
    PlainEmbedder,
    PlainSource,
    PlainVectorStore,
    RAGAgent,
    RAGAgentConfig,
    SourcePort,
    TokenizerPort,
)

SPEC = EmbeddingSpec("plain words", 64)


class WordCounter:
    """A plain embedder: words in hashed places, one call at a time, blank texts refused."""

    def __init__(self) -> None:
        self._busy = threading.Lock()

    def embed(self, texts: Sequence[str], normalize_embeddings: bool) -> list[list[float]]:
        assert self._busy.acquire(blocking=False), "called while it was busy"
        try:
            time.sleep(0.001)
            return [self._row(text) for text in texts]
        finally:
            self._busy.release()

    def _row(self, text: str) -> list[float]:
        assert text.strip()
        row = [0.0] * SPEC.dim
        for word in re.findall(r"\w+", text.lower()):
            row[sum(map(ord, word)) % SPEC.dim] += 1.0
        return row


class AwaitedEmbedder:
    """One whose service fails or never answers."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def embed(self, texts: Sequence[str], normalize_embeddings: bool) -> list[list[float]]:
        if self._error:
            raise self._error
        await asyncio.Event().wait()
        raise AssertionError


class TestEmbedderPort(suites.EmbedderContract):
    def make(self) -> Embedder:
        return EmbedderPort(WordCounter(), SPEC)

    def broken(self) -> Embedder:
        return EmbedderPort(AwaitedEmbedder(OSError("no network")), SPEC)

    def stuck(self) -> Embedder:
        return EmbedderPort(AwaitedEmbedder(), SPEC)

    @pytest.mark.parametrize("vector", [[1.0], [math.nan] * 64, "text", None])
    def test_vectors_that_can_not_be_used_are_errors(self, vector: Any) -> None:
        with pytest.raises(ProviderError):
            suites.run(EmbedderPort(FixedEmbedder(vector), SPEC).embed(["a"], "query"))


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


class Documents:
    """A plain store that is asked by vectors: cosines with the rows of its own documents."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def similarity_search(self, query_embedding: Any, top_k: int, metadata_filter: Any, similarity_threshold: Any) -> Any:
        asked = Vectors.unit([query_embedding], SPEC.dim).floats(0)
        rows = Vectors.unit([WordCounter()._row(text) for text in self.texts], SPEC.dim)
        scored = [(document(text, path=f"docs/{n}.md"), self._cosine(asked, rows.floats(n))) for n, text in enumerate(self.texts)]
        scored = [
            pair for pair in scored if all(pair[0].metadata.get(key) == value for key, value in (metadata_filter or {}).items())
        ]
        return sorted((pair for pair in scored if pair[1] > 0.1), key=lambda pair: -pair[1])[:top_k]

    def _cosine(self, one: Sequence[float], other: Sequence[float]) -> float:
        return min(1.0, sum(a * b for a, b in zip(one, other, strict=True)))


class TestSourcePort(suites.SourceContract):
    def make(self) -> Source:
        self.store = Documents("password", "the password of a user", "nothing of the kind")
        return SourcePort(self.store, WordCounter(), name="wiki", description="What the team wrote down.")

    def forget(self, source: Source, path: str) -> None:
        self.store.texts[int(path[5])] = "gone"

    def broken(self) -> Source:
        return SourcePort(self.store_of(OSError("no network")), WordCounter(), name="wiki", description="Down.")

    def stuck(self) -> Source:
        return SourcePort(Documents(), AwaitedEmbedder(), name="wiki", description="Slow.")

    @staticmethod
    def store_of(error: Exception) -> Any:
        class Broken:
            async def similarity_search(self, **asked: Any) -> Any:
                raise error

        return Broken()


def test_a_store_of_texts_is_a_source_and_distances_give_way_to_places() -> None:
    class Store:
        def text_search(self, query: str, top_k: int, metadata_filter: Any, similarity_threshold: Any) -> Any:
            return [(document(f"text {n} of {query}", source=f"{n}.md"), 3.0 + n) for n in range(4)]

    source = SourcePort(Store(), None, name="wiki", description="Notes.")
    found = suites.run(source.candidates(Query("q"), 4))
    assert [(candidate.path, candidate.relevance) for candidate in found] == [
        ("0.md", 1.0),
        ("1.md", 0.75),
        ("2.md", 0.5),
        ("3.md", 0.25),
    ]


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


def vector(*values: float) -> bytes:
    return Vectors.unit([values], len(values)).data


@pytest.fixture
def notes() -> PlainVectorStore:
    store, ids = MemoryStore(2), [ChunkId(f"{n:032x}") for n in range(4)]
    records = [
        VectorRecord(ids[0], vector(1, 0), {"collection": "docs", "year": 2024}),
        VectorRecord(ids[1], vector(1, 1), {"collection": "docs", "year": 2025}),
        VectorRecord(ids[2], vector(1, 0.1), {"collection": "mail"}),
        VectorRecord(ids[3], vector(1, 0.2), {"collection": "docs"}),
    ]
    suites.run(store.publish(records))
    texts = ("first", "second", "a mail")  # the fourth has none
    return PlainVectorStore(store, {chunk_id: document(text, source=text) for chunk_id, text in zip(ids, texts, strict=False)})


def test_an_agent_runs_over_a_vector_store_port(notes: PlainVectorStore) -> None:
    one = agent(notes, embedder=FixedEmbedder([2.0, 0.0]))

    def found(**asked: Any) -> list[str]:
        return [doc.text for doc in one.retrieve("q", **asked).docs]

    assert found() == ["first", "a mail", "second"]
    assert found(metadata_filter={"collection": "docs"}) == ["first", "second"]
    assert found(metadata_filter={"collection": "docs", "year": [2025, 2026]}) == ["second"]
    assert found(similarity_threshold=0.9) == ["first", "a mail"]
    assert found(top_k=1) == ["first"]
    assert one.retrieve("q").distances[0] == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match=r"metadata_filter: 'year' is a value of type dict"):
        found(metadata_filter={"year": {"$gt": 2024}})
    with pytest.raises(InvalidInput, match=r"query_embedding.*Embed the question by the model"):
        agent(notes, embedder=FixedEmbedder([1.0, 0.0, 0.0])).retrieve("q")


def test_a_vector_store_port_that_fails_is_a_store_error() -> None:
    down = faulty(MemoryStore(2), fail=StoreError("The file is damaged."))
    with pytest.raises(StoreError, match="damaged"):
        agent(PlainVectorStore(down, {})).retrieve("q")


def test_an_agent_runs_over_a_source_and_asks_it_by_text() -> None:
    texts = {"a.md": "The password is checked.", "b.md": "password", "c.md": "nothing"}
    source = FakeSource(texts)
    one = RAGAgent(ScriptedModel(), PlainSource(source), None)
    result = one.retrieve("password checked")
    assert result.context == "Source: a.md:1-1\nThe password is checked.\n\n---\n\nSource: b.md:1-1\npassword"
    assert result.distances == [1.0, 0.5]
    assert one.retrieve("password checked", similarity_threshold=0.6).distances == [1.0]
    assert one.retrieve("password", metadata_filter={"kind": "page"}).docs == []

    class Forgets(FakeSource):
        async def read(self, refs: Any) -> Any:
            return [Unavailable(ref, "was deleted") for ref in refs]

    assert RAGAgent(ScriptedModel(), PlainSource(Forgets(texts)), None).retrieve("password").docs == []
    down = faulty(source, fail=ProviderError("The wiki is down."))
    with pytest.raises(ProviderError, match="down"):
        RAGAgent(ScriptedModel(), PlainSource(down), None).retrieve("password")


def test_an_embedder_port_gives_plain_rows() -> None:
    plain = PlainEmbedder(FakeEmbedder(EmbeddingSpec("fake", 32, max_texts=2)))
    rows = plain.embed(["one", "two", "one"], normalize_embeddings=True)
    assert (len(rows), len(rows[0]), rows[0] == rows[2], rows[0] == rows[1]) == (3, 32, True, False)
    assert all(type(value) is float for value in rows[0])
    assert plain.embed([]) == []
    down = PlainEmbedder(faulty(FakeEmbedder(), fail=ProviderError("No quota.")))
    with pytest.raises(ProviderError, match="quota"):
        agent(embedder=down).retrieve("q")


def test_a_plain_embedder_makes_an_index() -> None:
    with carrel.Index(embedder=EmbedderPort(WordCounter(), SPEC)) as index:
        index.add_file("login.py", "def check_password(user, password):\n    return hash(password) == user.digest\n")
        index.add_file("circle.py", "def draw_circle(radius, colour):\n    return Circle(radius, colour).draw()\n")
        assert index.search("check password")[0].file_path == "login.py"


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
