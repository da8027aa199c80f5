"""`carrel` with a remote embedding model of its own: `stand-in`, at a host that isn't this machine, and reached by nobody.

It keeps to what a real provider must: permission first, then the key. The key that it was given is appended to the file that
CARREL_STAND_IN names, so that tests see whether it came. Run by path: `python tests/stand_in_carrel.py serve`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from carrel.composition import models
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeEmbedder
from carrel.model.outbound import Destination, Load, Outbound, Secret
from carrel.model.ports import Embedder, EmbeddingSpec
from carrel.model.vectors import Vectors
from carrel.settings.model_settings import ModelSettings

HOST = Destination("stand-in", "models.example")
NO_KEY = ("There is no key for stand-in", "Give it one.")


class StandIn:
    """Embeds by counting words, once it may and has a key."""

    spec = EmbeddingSpec("stand-in-1", 32, leaves_machine=True)
    destinations = (HOST,)

    def __init__(self, place: str, outbound: Outbound) -> None:
        self._place = place
        self._outbound = outbound
        self._model = FakeEmbedder(self.spec)

    async def check(self) -> None:
        """Raise what keeps it from asking."""
        self._key()

    async def learn_dim(self) -> int:
        """Embed a word."""
        await self.embed(["word"], "document")
        return self.spec.dim

    def with_dim(self, dim: int) -> StandIn:  # noqa: ARG002 - it has one only
        """Return itself."""
        return self

    async def aclose(self) -> None:
        """Keep no connection."""

    def _key(self) -> Secret:
        self._outbound.permissions.check(HOST)
        key = self._outbound.keys.find(HOST.provider, self._place)
        if key is None:
            raise ProviderError(*NO_KEY)
        return key

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
        """Return one row a text."""
        _note(self._key())
        self._outbound.meter.record(HOST, Load(texts=len(texts), tokens=10 * len(texts), dollars=0.001))
        return await self._model.embed(texts, kind)


def _note(key: Secret) -> None:
    with Path(os.environ["CARREL_STAND_IN"]).open("a", encoding="utf-8") as file:
        file.write(key.reveal() + "\n")


def _make(settings: ModelSettings, outbound: Outbound) -> StandIn:
    return StandIn(settings.key, outbound)


def main() -> int:
    """Run the command line."""
    known = models.embedders

    def embedders() -> models.Registry[Embedder]:
        registry = known()
        registry._factories = {**registry._factories, HOST.provider: _make}
        return registry

    models.embedders = embedders
    from carrel.frontends.cli import main as carrel  # noqa: PLC0415 - what it imports must see the model

    return carrel()


if __name__ == "__main__":
    sys.exit(main())
