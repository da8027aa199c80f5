"""An embedding model that is awaited, as remote ones are: it does what a test tells it, and notes what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from carrel.model.ports import EmbeddingSpec
from carrel.model.vectors import Vectors

DIM = 4


def rows(texts: Sequence[str]) -> Vectors:
    """A vector a text that only depends on it."""
    return Vectors.unit([[1.0, float(len(text)), float(text.count("e")), 1.0] for text in texts], DIM)


class AwaitedEmbedder:
    """Answers with `rows`, unless `act` raises, waits or gives something else."""

    def __init__(self, act: Callable[[Sequence[str], str], Awaitable[Any]] | None = None, **spec: Any) -> None:
        self.spec = EmbeddingSpec("awaited-1", DIM, **spec)
        self.asked: list[tuple[tuple[str, ...], str]] = []
        self._act = act

    async def embed(self, texts: Sequence[str], kind: str) -> Vectors:
        self.asked.append((tuple(texts), kind))
        await asyncio.sleep(0)
        found: Any = rows(texts) if self._act is None else await self._act(texts, kind)
        return found  # type: ignore[no-any-return]

    def documents(self) -> list[str]:
        """Every text of the index that it was asked for."""
        return [text for texts, kind in self.asked if kind == "document" for text in texts]


class KeepingEmbedder(AwaitedEmbedder):
    """One that keeps what it refused, and whose vectors a team shares where the test says so."""

    problem = None

    def __init__(self, act: Callable[[Sequence[str], str], Awaitable[Any]] | None = None, *, shared: bool = False) -> None:
        super().__init__(act)
        self.shared = shared
        self.refusals: dict[str, str] = {}

    def missing(self, texts: Sequence[str]) -> list[str]:
        return list(texts)

    def refused(self, texts: Sequence[str]) -> dict[str, str]:
        return {text: self.refusals[text] for text in texts if text in self.refusals}

    def note_refused(self, text: str, reason: str) -> None:
        self.refusals[text] = reason
