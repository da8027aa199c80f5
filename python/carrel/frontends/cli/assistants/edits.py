"""What install enters in a file: a member of an object, an item of a list, a table, or the whole file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from carrel.frontends.cli.assistants import jsonc, toml_tables

Mine = Callable[[Any], bool]
"""Tell whether a value looks like one that some version of Carrel's installer wrote."""


class Edit(Protocol):
    """One thing that comes into a file, and out of it again."""

    @property
    def value(self) -> Any:
        """Give what install puts there."""
        ...

    @property
    def mine(self) -> Mine:
        """Tell what looks like install's."""
        ...

    def standing(self, text: str) -> Any:
        """Return what stands in its place; None where nothing does. Raises `CarrelError` if the text can't be read."""
        ...

    def put(self, text: str, value: Any = None) -> str:
        """Put the value there, install's own by default, in place of what stands there."""
        ...

    def drop(self, text: str, original: str) -> str:
        """Take it out, and the objects around it when nothing is left in them and they were not in the original text."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of an object in JSON with comments; whatever has its name stands in its place."""

    path: tuple[str, ...]
    value: object
    mine: Mine

    def standing(self, text: str) -> Any:
        """Return what has its name."""
        return jsonc.value_at(text, self.path) if text.strip() else None

    def put(self, text: str, value: Any = None) -> str:
        """Set the member."""
        value = self.value if value is None else value
        changed = jsonc.put(text if text.strip() else "{}\n", self.path, value)
        if jsonc.value_at(changed, self.path) != value:
            raise jsonc.BadJson("the entry can't be put into it")
        return changed

    def drop(self, text: str, original: str) -> str:
        """Remove the member."""
        return jsonc.drop(text, self.path, keep=_depth(original, self.path[:-1]))


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list in JSON with comments; the first one that is install's stands in its place, others never do."""

    path: tuple[str, ...]
    value: object
    mine: Mine

    def standing(self, text: str) -> Any:
        """Return the item that is install's."""
        at = self._place(text)
        return None if at is None else jsonc.value_at(text, (*self.path, at))

    def put(self, text: str, value: Any = None) -> str:
        """Set the item, behind all others if it is new."""
        text = text if text.strip() else "{}\n"
        at = self._place(text)
        place = len(jsonc.value_at(text, self.path) or ()) if at is None else at
        return jsonc.put(text, (*self.path, place), self.value if value is None else value)

    def drop(self, text: str, original: str) -> str:
        """Remove the item."""
        at = self._place(text)
        return text if at is None else jsonc.drop(text, (*self.path, at), keep=_depth(original, self.path))

    def _place(self, text: str) -> int | None:
        items = jsonc.value_at(text, self.path) if text.strip() else None
        return next((at for at, item in enumerate(items) if self.mine(item)), None) if isinstance(items, list) else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of TOML; whatever has its name stands in its place."""

    path: tuple[str, ...]
    value: dict[str, object]
    mine: Mine

    def standing(self, text: str) -> Any:
        """Return what has its name."""
        return toml_tables.value_at(text, self.path)

    def put(self, text: str, value: Any = None) -> str:
        """Set the table."""
        return toml_tables.put(text, self.path, self.value if value is None else value)

    def drop(self, text: str, original: str) -> str:  # noqa: ARG002 - a table brings none around it
        """Remove the table."""
        return toml_tables.drop(text, self.path)


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that holds nothing else."""

    value: str
    mine: Mine

    def standing(self, text: str) -> Any:
        """Return the text that is install's."""
        return text if text and self.mine(text) else None

    def put(self, text: str, value: Any = None) -> str:  # noqa: ARG002 - nothing of what was there stays
        """Replace the text."""
        return self.value if value is None else str(value)

    def drop(self, text: str, original: str) -> str:  # noqa: ARG002 - as above
        """Bring the original text back."""
        return original


def _depth(original: str, path: tuple[str, ...]) -> int:
    """Return how many objects on the way to an entry were in a text; none if it can't be read."""
    try:
        return jsonc.depth(original, path) if original.strip() else 0
    except jsonc.BadJson:
        return 0
