"""Plain models, stores, embedders and tokenizers, as a person would bring them: they inherit from nothing of Carrel's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from carrel.rag import RAGAgent, RAGAgentConfig


class Characters:
    """One token a character, by the method that tokenizers have."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]


class CountedBy:
    """As many tokens as a function says."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count

    def encode(self, text: str) -> list[int]:
        return [0] * self.count(text)


class Templated:
    """A chat template of its own: five tokens for each message, three to begin the answer, blanks at the edges not counted."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [1] * add_special_tokens + [ord(char) for char in text] + [2] * add_special_tokens

    def apply_chat_template(
        self, messages: Sequence[dict[str, str]], tokenize: bool = False, add_generation_prompt: bool = False
    ) -> Any:
        assert tokenize
        assert add_generation_prompt
        return {"input_ids": [[0] * (3 + sum(5 + len(message["content"].strip()) for message in messages))]}


class ScriptedModel:
    """Gives its answer, and keeps what it was asked."""

    def __init__(self, answer: Any = "an answer", window: Any = 1_000, tokenizer: Any = None) -> None:
        self.max_seq_length = window
        self.tokenizer = tokenizer
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def ask(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return self.answer() if callable(self.answer) else self.answer

    @property
    def last(self) -> dict[str, Any]:
        return self.asked[-1]


class FixedStore:
    """Finds the same every time, and keeps what it was asked."""

    def __init__(self, found: Any = ()) -> None:
        self.found = found
        self.asked: list[dict[str, Any]] = []

    def similarity_search(self, query_embedding: Any, top_k: Any, metadata_filter: Any, similarity_threshold: Any) -> Any:
        self.asked.append(
            {
                "query_embedding": query_embedding,
                "top_k": top_k,
                "metadata_filter": metadata_filter,
                "similarity_threshold": similarity_threshold,
            }
        )
        return self.found() if callable(self.found) else self.found


@dataclass
class FixedEmbedder:
    """Gives the same vector for every text."""

    vector: Any = field(default_factory=lambda: [0.6, 0.8])
    asked: list[tuple[list[str], bool]] = field(default_factory=list)

    def embed(self, texts: Sequence[str], normalize_embeddings: bool) -> Any:
        self.asked.append((list(texts), normalize_embeddings))
        return [self.vector for _ in texts]


def document(text: str, **metadata: Any) -> SimpleNamespace:
    return SimpleNamespace(text=text, metadata=metadata)


def agent(
    found: Any = (), *, model: Any = None, embedder: Any = None, config: RAGAgentConfig | None = None, **more: Any
) -> RAGAgent:
    store = found if hasattr(found, "similarity_search") else FixedStore(found)
    return RAGAgent(model or ScriptedModel(), store, embedder or FixedEmbedder(), config=config, **more)


def streamed(*pieces: Any) -> Callable[[], Iterator[Any]]:
    return lambda: iter(pieces)
