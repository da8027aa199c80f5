"""Edit the files of other programs: enter or remove a member of an object, an item of a list, a table of TOML, or the whole file.

Every other line of a TOML file stays as it is, byte for byte.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any, TypeAlias

import tomlkit
from msgspec import Struct

from carrel.frontends.cli.assistants import jsonc
from carrel.frontends.cli.assistants.jsonc import newline_of
from carrel.model.errors import CarrelError
from carrel.model.plain_data import as_dict, inner
from carrel.settings.settings_writer import with_table

Mine = Callable[[Any], bool]
"""Tell whether a value looks like one that some version of Carrel's installer wrote."""


class Entry(Struct, frozen=True):
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


class Item(Struct, frozen=True):
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


class Table(Struct, frozen=True):
    """A table of TOML; whatever has its name stands in its place."""

    path: tuple[str, ...]
    value: dict[str, object]
    mine: Mine

    def standing(self, text: str) -> Any:
        """Return what has its name."""
        return inner(_parsed_toml(text), *self.path)

    def put(self, text: str, value: Any = None) -> str:
        """Set the table, which holds plain values; a new one comes last."""
        value, before = self.value if value is None else value, _parsed_toml(text)
        standing = inner(before, *self.path)
        if standing == value:
            return text
        after = with_table(text, self.path, value) if standing is not None else None
        if after is None:
            rest = _without_table(text, self.path) if standing is not None else text
            end = newline_of(text)
            head = ".".join(tomlkit.key(key).as_string() for key in self.path)
            gap = "" if not rest.strip() else end if rest.endswith("\n") else end * 2
            after = rest + gap + f"[{head}]\n{tomlkit.dumps(value)}".replace("\n", end)
        return _checked_toml(after, _with_inner(before, self.path, value))

    def drop(self, text: str, original: str) -> str:  # noqa: ARG002 - a table brings none around it
        """Remove the table with all in it."""
        before = _parsed_toml(text)
        if inner(before, *self.path) is None:
            return text
        return _checked_toml(_without_table(text, self.path), _with_inner(before, self.path, None))


class Whole(Struct, frozen=True):
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


Edit: TypeAlias = Entry | Item | Table | Whole
"""One thing that comes into a file, and out of it again.

`standing` returns what stands in its place, None where nothing does; it raises `CarrelError` if the text can't be read. `put`
puts a value there, install's own by default, in place of what stands there. `drop` takes it out, and the objects around it when
nothing is left in them and they were not in the original text.
"""


def _depth(original: str, path: tuple[str, ...]) -> int:
    """Return how many objects on the way to an entry were in a text; none if it can't be read."""
    try:
        return jsonc.depth(original, path) if original.strip() else 0
    except jsonc.BadJson:
        return 0


class BadToml(CarrelError):
    """The text isn't TOML, or the table can't be edited where it stands."""


def _without_table(text: str, path: tuple[str, ...]) -> str:
    changed = with_table(text, path, None)
    if changed is None:
        raise BadToml(f"{'.'.join(path)} isn't written as a table of its own, [{'.'.join(path)}]")
    return changed


def _checked_toml(text: str, wanted: dict[str, Any]) -> str:
    """Raise `BadToml` where an edit did anything else than it should."""
    try:
        done = _pruned(tomllib.loads(text)) == _pruned(wanted)
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        raise BadToml("Carrel's table can't be edited in it: something, such as a table on one line, stands in its way")
    return text


def _parsed_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadToml(str(error)) from None


def _with_inner(value: dict[str, Any], path: tuple[str, ...], wanted: object) -> dict[str, Any]:
    key, *rest = path
    if rest:
        wanted = _with_inner(as_dict(value.get(key)), tuple(rest), wanted)
    return {**value, key: wanted}


def _pruned(value: Any) -> Any:
    """Return it without tables that are empty or None: whether they are there says nothing."""
    if not isinstance(value, dict):
        return value
    members = {key: _pruned(member) for key, member in value.items()}
    return {key: member for key, member in members.items() if member not in (None, {})}
