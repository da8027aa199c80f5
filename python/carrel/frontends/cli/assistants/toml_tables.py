"""Edits of TOML that people write: a table comes in or goes out, and every other line stays as it is, byte for byte."""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit

from carrel.model.errors import CarrelError
from carrel.model.lines import LINE_END
from carrel.settings import settings_lines

Path = tuple[str, ...]


class BadToml(CarrelError):
    """The text isn't TOML, or the table can't be edited where it stands."""


def put(text: str, path: Path, value: dict[str, object]) -> str:
    """Set a table, which holds plain values; a new one comes last."""
    before = _parsed(text)
    standing = _at(before, path)
    if standing == value:
        return text
    after = settings_lines.changed(text, path, value) if standing is not None else None
    if after is None:
        rest = _dropped(text, path) if standing is not None else text
        end = _newline(text)
        block = f"[{'.'.join(tomlkit.key(key).as_string() for key in path)}]\n{tomlkit.dumps(value)}".replace("\n", end)
        gap = "" if not rest.strip() else end if rest.endswith("\n") else end * 2
        after = rest + gap + block
    return _checked(after, _with(before, path, value))


def drop(text: str, path: Path) -> str:
    """Remove a table with all in it."""
    before = _parsed(text)
    return text if _at(before, path) is None else _checked(_dropped(text, path), _with(before, path, None))


def value_at(text: str, path: Path) -> Any:
    """Return the table; None where there is none. Raises `BadToml`."""
    return _at(_parsed(text), path)


def _dropped(text: str, path: Path) -> str:
    changed = settings_lines.changed(text, path, None)
    if changed is None:
        raise BadToml(f"{'.'.join(path)} isn't written as a table of its own, [{'.'.join(path)}]")
    return changed


def _checked(text: str, wanted: dict[str, Any]) -> str:
    """Raise `BadToml` where an edit did anything else than it should."""
    try:
        done = _pruned(tomllib.loads(text)) == _pruned(wanted)
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        raise BadToml("Carrel's table can't be edited in it: something, such as a table on one line, stands in its way")
    return text


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadToml(str(error)) from None


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _with(value: dict[str, Any], path: Path, wanted: object) -> dict[str, Any]:
    key, *rest = path
    inner = value.get(key, {})
    if rest:
        wanted = _with(inner if isinstance(inner, dict) else {}, tuple(rest), wanted)
    return {**value, key: wanted}


def _pruned(value: Any) -> Any:
    """Return it without tables that are empty or None: whether they are there says nothing."""
    if not isinstance(value, dict):
        return value
    inner = {key: _pruned(member) for key, member in value.items()}
    return {key: member for key, member in inner.items() if member not in (None, {})}


def _newline(text: str) -> str:
    match = LINE_END.search(text)
    return match[0] if match else "\n"
