"""Find models by name. A new provider is one module in `providers` and one line here; no setting chooses a model yet."""

# ruff: noqa: PLC0415 - a provider is imported when its model is wanted
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from carrel.core.errors import InvalidInput

if TYPE_CHECKING:
    from carrel.core.ports import ChatModel, Embedder

M = TypeVar("M")

BUNDLED = "bundled"
HASHED_WORDS = "hashed words"
CLIENT = "client"
"""The chat model that the client lends: whichever its person chose there."""


class Registry(Generic[M]):
    """Factories of one kind of model, by name."""

    def __init__(self, kind: str, factories: Mapping[str, Callable[[], M]]) -> None:
        """Take what the models are called together, such as "chat model"."""
        self._kind = kind
        self._factories = factories

    @property
    def names(self) -> tuple[str, ...]:
        """List the names that are known."""
        return tuple(self._factories)

    def get(self, name: str) -> M:
        """Make the model of this name. Raises `InvalidInput` that names the known ones, and what the factory raises."""
        if name not in self._factories:
            known = ", ".join(self._factories) or "none"
            raise InvalidInput("model", f"there is no {self._kind} {name!r}", f"There are: {known}.")
        return self._factories[name]()


def embedders() -> Registry[Embedder]:
    """Return the embedding models that can be had."""
    return Registry("embedding model", {BUNDLED: _bundled, HASHED_WORDS: _hashed_words})


def chat_models(client: Callable[[], ChatModel]) -> Registry[ChatModel]:
    """Return the chat models that can be had; `client` makes the one that the client lends, or raises."""
    return Registry("chat model", {CLIENT: client})


def _bundled() -> Embedder:
    from carrel.providers.local import bundled

    return bundled()


def _hashed_words() -> Embedder:
    from carrel.providers.local import LocalEmbedder

    return LocalEmbedder.hashed()
