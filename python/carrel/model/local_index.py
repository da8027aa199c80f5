"""The local index as search sees it, and models that run inside the core. Types of the compiled module appear here.

Vectors are one row of little-endian float32 as bytes (`dim` values, L2-normalised); empty where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeGuard

from carrel.model.native import Batch, CancelToken, Snapshot, Store
from carrel.model.ports import Embedder

READ_FAILED = "read failed"
"""Begins what `refusal` says where the machine failed over a file: it says nothing of the file."""


class CoreEmbedder(Embedder, Protocol):
    """An `Embedder` inside the core: a batch gets its vectors without a copy through Python, and `embed` never waits."""

    def embed_batch(self, batch: Batch, cancel: CancelToken) -> None:
        """Give every added chunk of the batch its vector. Raises `Cancelled`."""


def is_of_core(embedder: Embedder) -> TypeGuard[CoreEmbedder]:
    """Tell whether a model is a `CoreEmbedder`, by the method that no other has."""
    return hasattr(embedder, "embed_batch")


SnapshotView: TypeAlias = Snapshot
"""Read side of an index: immutable, never waits for a writer."""

IndexStore: TypeAlias = Store
"""Write side of an index."""

Progress = Callable[[int, int, str], None]
"""(files done, files in all, path or phase)."""
