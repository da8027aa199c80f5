"""Models that ask a service, and the consent that their first index needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, Self, runtime_checkable

from msgspec import Struct

from carrel.model.errors import ProviderError
from carrel.model.outbound import Destination
from carrel.model.ports import Embedder

PLAIN_WORDS = ("dimension", "umbrella")
"""Words to try an embedding model with: no filter dislikes them, and their vectors differ in any model of use."""


@runtime_checkable
class RemoteEmbedder(Embedder, Protocol):
    """An `Embedder` that asks a service. `spec.dim` is 0 as long as nobody knows it."""

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return all that it asks."""

    async def check(self) -> None:
        """Raise `ProviderError` where it can't ask: a permission or a key is missing. Asks nobody."""

    async def learn_dim(self) -> int:
        """Embed two words, and return how many numbers their vectors have. Raises `ProviderError`, also where these are equal."""

    def with_dim(self, dim: int) -> Self:
        """Return the same with this dimension."""

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""


@runtime_checkable
class KeepsVectors(Protocol):
    """A model that need not ask for every text."""

    @property
    def shared(self) -> bool:
        """Tell whether others may be giving it vectors at this moment."""

    @property
    def problem(self) -> str | None:
        """Say why not all that others kept can be used, in words for a person."""

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Return the documents that would have to be asked for. Runs on a thread."""

    def refused(self, texts: Sequence[str]) -> Mapping[str, str]:
        """Return which documents the model refused, and why, unless their vectors are kept. Runs on a thread."""

    def note_refused(self, text: str, reason: str) -> None:
        """Keep that the model refused this document. Runs on a thread."""


class Confirmation(Struct, frozen=True):
    """Something that only a person may decide. `risk` says what happens if they agree, in a sentence without its full stop.

    `details` are shown to them, all of them. `hash` names the decision, and stays while nothing important changes.
    """

    what: Literal["provider", "paidIndex", "tools", "pipeline", "source"]
    risk: str
    details: Mapping[str, str]
    hash: str


Confirm = Callable[[Confirmation], Awaitable[bool]]
"""Asks a person; tells whether they agree. May raise `ProviderError` where nobody can be asked."""


async def refuse(question: Confirmation) -> bool:
    """Raise `ProviderError` that says how a person agrees: what a program does that can't ask one."""
    run = "Run `carrel index` in a terminal" if question.what == "paidIndex" else "Ask again in a terminal"
    raise ProviderError(f"{question.risk}, and nobody confirmed it", f"{run}, or confirm it in the editor.")
