"""The kinds of stores of vectors; docs/stores.md describes each."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

StoreKind: TypeAlias = Literal["segments", "usearch", "lancedb", "qdrant"]

KINDS: tuple[StoreKind, ...] = get_args(StoreKind)
