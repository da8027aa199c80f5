"""Stores of other packages, by the entry points that these declare in the group `carrel.stores`.

Nothing of a package is imported before a person's own settings name what it offers.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from carrel.model.patterns import lazy_pattern

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

GROUP = "carrel.stores"
_NAME = lazy_pattern(r"[a-z0-9][a-z0-9_-]{0,40}")
"""A name is also that of a folder."""


@lru_cache
def plugins() -> Mapping[str, EntryPoint]:
    """Return the entry points by name: of those that exactly one package offers. Reads the metadata of all installed packages."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - few settings name a store

    try:
        entries = entry_points(group=GROUP)
    except Exception as error:  # a package's file that is no list of entry points
        log.warning("No store of another package counts: a package's entry points can't be read: %s", error)
        return {}
    offers = Counter(entry.name for entry in entries)
    return {entry.name: entry for entry in entries if offers[entry.name] == 1 and _NAME.fullmatch(entry.name)}


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that declares an entry point."""
    return entry.dist.name if entry.dist else entry.value
