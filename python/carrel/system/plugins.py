"""Models and stores of other packages, by the entry points that these declare in the groups `carrel.GROUP`.

Nothing of a package is imported before a person's own settings name what it offers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from carrel.model.errors import ProviderError

Group = Literal["embedders", "rerankers", "chat_models", "stores"]


@lru_cache
def plugins(group: Group) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by their names. Reads the metadata of all installed packages."""
    return {entry.name: entry for entry in entry_points(group=f"carrel.{group}")}


def load(group: Group, name: str) -> Any:
    """Import what an entry point names. Raises `ProviderError` where its package can't be imported."""
    entry = plugins(group)[name]
    try:
        return entry.load()
    except Exception as error:
        raise ProviderError(
            f'"{name}" is offered by the package {package_of(entry)}, which can\'t be imported: {type(error).__name__}: {error}',
            "Install that package again, or choose another provider.",
        ) from error


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that declares an entry point."""
    return entry.dist.name if entry.dist else entry.value
