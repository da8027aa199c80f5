"""The kinds of stores of vectors; docs/stores.md describes each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("segments", "usearch", "lancedb", "qdrant")
"""The kinds that Carrel has; plugins offer more."""
PLUGIN = "store:"
"""Before the kind of a plugin's store, where it is named as a provider: none of Carrel's is called so."""


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """What a plugin's store is opened with."""

    folder: Path  # for what it keeps on this machine; it is this index's alone
    name: str  # of the collection, where a store holds those of several indexes
    dim: int
    url: str = ""  # as it is set; empty for a store on this machine
    key: str | None = field(default=None, repr=False)  # from the place that is set
    permit: Callable[[], None] = lambda: None  # raises `NotAllowed` once the person allows `url` no more
