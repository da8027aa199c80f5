"""Find models by the name of their provider. A new provider is one module in `providers` and one line here."""

# ruff: noqa: PLC0415 - a provider is imported when its model is wanted
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from carrel.model.errors import InvalidInput
from carrel.model.outbound import Outbound
from carrel.model.ports import ChatModel, Embedder, Reranker
from carrel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from carrel.providers.published_repository import QdrantRepository

    PublishedStore: TypeAlias = QdrantRepository

M = TypeVar("M")

_KEPT = lru_cache(maxsize=16)
"""Equal settings have one model: it keeps connections from one question to the next, and Copilot's a program."""

BUNDLED = "bundled"
HASHED_WORDS = "hashed words"
JUDGE = "chat"
"""The reranker that is no provider's: the chat model that is set."""


class Registry(Generic[M]):
    """Factories of one kind of model, by the name of the provider."""

    def __init__(self, kind: str, factories: Mapping[str, Callable[[ModelSettings, Outbound], M]]) -> None:
        """Take what the models are called together, such as "chat model"."""
        self._kind = kind
        self._factories = factories

    @property
    def names(self) -> tuple[str, ...]:
        """List the providers that are known."""
        return tuple(self._factories)

    def make(self, settings: ModelSettings, outbound: Outbound) -> M:
        """Make a model as it is set. Raises `InvalidInput` that names the known providers, and what the factory raises."""
        name = settings.provider
        if name not in self._factories:
            names = ", ".join(f'"{name}"' for name in self._factories) or "none"
            raise InvalidInput("provider", f'there is no {self._kind} of a provider "{name}"', f"There are: {names}.")
        return self._factories[name](settings, outbound)


def embedders() -> Registry[Embedder]:
    """Return the providers of embedding models."""
    return Registry(
        "embedding model",
        {
            BUNDLED: lambda *_: bundled(),
            HASHED_WORDS: lambda *_: hashed_words(),
            "openai": _openai_embedder,
            "ollama": _ollama_embedder,
            "copilot": _copilot_embedder,
        },
    )


def rerankers() -> Registry[Reranker]:
    """Return the providers of rerankers."""
    return Registry("reranker", {name: partial(_cohere_rerank, name) for name in ("cohere", "jina", "voyage", "tei")})


def chat_models() -> Registry[ChatModel]:
    """Return the providers of chat models; the one that a client lends is no provider's."""
    compatible = {name: partial(_openai_chat, name) for name in ("openai", "openrouter")}
    return Registry("chat model", {**compatible, "ollama": _ollama_chat, "copilot": _copilot_chat})


def key_variables() -> Mapping[str, str]:
    """Return the environment variable of each name that a key is looked up by."""
    from carrel.providers.keys import VARIABLES

    return VARIABLES


def bundled() -> Embedder:
    """Return the model that every installation has."""
    from carrel.providers.local import bundled

    return bundled()


def hashed_words() -> Embedder:
    """Return the bag of words in a hashed space."""
    from carrel.providers.local import LocalEmbedder

    return LocalEmbedder.hashed()


def published_repository(url: str, key: str, outbound: Outbound) -> PublishedStore:
    """Return a published repository by its address and the place of its key. Raises `InvalidInput`."""
    from carrel.model.published import PublishedAddress
    from carrel.providers.published_repository import QdrantRepository

    return QdrantRepository(PublishedAddress.read(url), outbound, key)


@_KEPT
def _cohere_rerank(provider: str, settings: ModelSettings, outbound: Outbound) -> Reranker:
    from carrel.providers.cohere_rerank import cohere_rerank

    return cohere_rerank(provider, settings, outbound)


@_KEPT
def _openai_chat(provider: str, settings: ModelSettings, outbound: Outbound) -> ChatModel:
    from carrel.providers.openai import openai_chat

    return openai_chat(provider, settings, outbound)


@_KEPT
def _ollama_chat(settings: ModelSettings, outbound: Outbound) -> ChatModel:
    from carrel.providers.ollama import ollama_chat

    return ollama_chat(settings, outbound)


@_KEPT
def _copilot_chat(settings: ModelSettings, outbound: Outbound) -> ChatModel:
    from carrel.providers.copilot_chat import copilot_chat

    return copilot_chat(settings, outbound)


def _openai_embedder(settings: ModelSettings, outbound: Outbound) -> Embedder:
    from carrel.providers.openai import OpenAIEmbedder

    return OpenAIEmbedder(outbound, settings)


def _ollama_embedder(settings: ModelSettings, outbound: Outbound) -> Embedder:
    from carrel.providers.ollama import OllamaEmbedder

    return OllamaEmbedder(outbound, settings)


def _copilot_embedder(settings: ModelSettings, outbound: Outbound) -> Embedder:
    from carrel.providers.copilot_embeddings import CopilotEmbedder

    return CopilotEmbedder(outbound, settings)
