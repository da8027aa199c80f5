"""Embedding models that run inside the Rust core: no key, no download, nothing leaves the machine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from carrel.model.errors import CarrelError
from carrel.model.native import Batch, CancelToken
from carrel.model.native import Embedder as NativeEmbedder
from carrel.model.ports import EmbeddingSpec
from carrel.model.structs import whole_characters
from carrel.model.vectors import Vectors

BUNDLED = Path(__file__).with_name("carrel-embed-v1.bin")
"""The trained model that every installation has; `training/` makes it."""

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def bundled() -> LocalEmbedder:
    """Return the bundled model, read once a process; the bag of words where its file is missing or damaged, which is logged."""
    try:
        return LocalEmbedder(NativeEmbedder.static_model(str(BUNDLED)))
    except CarrelError as error:
        log.warning("the bundled model can't be used, searching by words alone: %s", error)
        return LocalEmbedder.hashed()


class LocalEmbedder:
    """A model of the core behind the `Embedder` port."""

    def __init__(self, native: NativeEmbedder) -> None:
        self._native = native
        self.spec = EmbeddingSpec(native.id, native.dim, native.floor)

    @classmethod
    def hashed(cls) -> LocalEmbedder:
        """Return the bag of words in a hashed space: the fallback when no model is usable."""
        return cls(NativeEmbedder.hashed())

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:  # noqa: ARG002 - the model knows no kinds
        """Return one row a text; never waits."""
        return Vectors(b"".join(self._native.embed_query(whole_characters(text)) for text in texts), self.spec.dim)

    def embed_batch(self, batch: Batch, cancel: CancelToken) -> None:
        """Embed the batch's added chunks, in parallel and without the GIL."""
        batch.embed(self._native, cancel)
