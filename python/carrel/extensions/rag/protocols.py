"""What the retrieval core asks of a model, a store, an embedder and a tokenizer that somebody brings (spec E1).

Duck typing: an object with these methods is enough, it inherits from nothing. They are plain calls. Each may also be a coroutine
function, and `ask` an asynchronous generator: these run on Carrel's background loop (`system.background`), so that an agent works
inside a notebook's running loop too. Arguments are passed by name, but for `texts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

ChatHistory = str | Sequence[str | Mapping[str, Any]]
"""Earlier messages, oldest first: mappings with `role` and `content`, or texts, of which the last is an assistant's, the one
before it a user's, and so on."""


class AskModel(Protocol):
    """A chat model.

    May have `max_seq_length`, tokens of prompt and answer together, and `tokenizer`: one with `encode(text)`, and
    `apply_chat_template(messages)` where it has a chat template, or a `carrel.model.ports.Tokenizer`. A model whose `ask` names a
    parameter `chat_history` is given the history; any other is taken to keep it by itself, so that it is only counted.
    """

    @property
    def ask(self) -> Callable[..., Any]:
        """Take `system_prompt`, `user_prompt`, `temperature`, `max_new_tokens`, `stream` and what a caller of the agent adds.

        Return the answer: a text, or with `stream` an iterator of its pieces.
        """


class SimilarityStore(Protocol):
    """Documents that are found by a vector."""

    def similarity_search(
        self,
        query_embedding: Sequence[float],
        top_k: int,
        metadata_filter: Mapping[str, Any] | None,
        similarity_threshold: float | None,
    ) -> Any:
        """Return documents, best first, or pairs of a document and its score or distance.

        A document is an object or a mapping that has its text as `text`, `content` or `page_content`, and may have a dictionary
        `metadata`. What the filter and the threshold mean is the store's affair; None means that there is none.
        """


class TextStore(Protocol):
    """Documents that are found by the question's text. Its store is asked so by an agent without an embedder."""

    def text_search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, Any] | None, similarity_threshold: float | None
    ) -> Any:
        """Return what `SimilarityStore.similarity_search` does."""


class TextEmbedder(Protocol):
    """A model that turns texts into vectors."""

    def embed(self, texts: Sequence[str], normalize_embeddings: bool) -> Any:
        """Return a list of floats for each text, in order; an array of rows will do."""
