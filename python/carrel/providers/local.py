"""Embedding models that run inside the Rust core: no key, no download, nothing leaves the machine."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

from carrel.core.errors import CarrelError
from carrel.core.native import Batch, CancelToken
from carrel.core.native import Embedder as NativeEmbedder

BUNDLED = Path(__file__).with_name("carrel-embed-v1.bin")
"""The trained model that every installation has; `training/` makes it."""

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def bundled() -> LocalEmbedder:
    """The bundled model, mapped once a process; the bag of words where its file is missing or damaged, which is logged."""
    try:
        return LocalEmbedder(NativeEmbedder.static_model(str(BUNDLED)))
    except CarrelError as error:
        log.warning("the bundled model can't be used, searching by words alone: %s", error)
        return LocalEmbedder.hashed()


class LocalEmbedder:
    """The `Embedder` port over a model of the core."""

    def __init__(self, native: NativeEmbedder) -> None:
        self._native = native

    @classmethod
    def hashed(cls) -> LocalEmbedder:
        """Spec A2's bag of words in a hashed space: the fallback when no model is usable."""
        return cls(NativeEmbedder.hashed())

    @property
    def id(self) -> str:
        """Model and version."""
        return self._native.id

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._native.dim

    @property
    def floor(self) -> float:
        """Cosine below which a dense hit is noise for this model."""
        return self._native.floor

    def embed_query(self, text: str) -> bytes:
        """One unit vector, little-endian float32."""
        return self._native.embed_query(text)

    def embed_batch(self, batch: Batch, cancel: CancelToken) -> None:
        """Embed the batch's added chunks, in parallel and without the GIL."""
        batch.embed(self._native, cancel)
