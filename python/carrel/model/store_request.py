"""What a store of vectors of another package is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """What a plugin's store is opened with."""

    folder: Path  # for what it keeps on this machine; it is this index's alone
    name: str  # of the collection, where a store holds those of several indexes
    dim: int
    url: str = ""  # as it is set; empty for a store on this machine
    key: str | None = field(default=None, repr=False)  # from the place that is set
    permit: Callable[[], None] = lambda: None  # raises `NotAllowed` once the person allows `url` no more
