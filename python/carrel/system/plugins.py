"""Stores of other packages, by the entry points that these declare in the group `carrel.stores`.

Nothing of a package is imported before a person's own settings name what it offers.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from carrel.model.patterns import is_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

GROUP = "carrel.stores"


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
    # A name is also that of a folder, and some systems take two that differ in case for one.
    usable = (entry for entry in entries if is_name(entry.name, 41) and entry.name == entry.name.lower())
    return {entry.name: entry for entry in usable if offers[entry.name] == 1}


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that declares an entry point."""
    return entry.dist.name if entry.dist else entry.value
