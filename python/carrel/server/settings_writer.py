"""Change the person's own settings file without losing what else stands in it, comments and order included."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from carrel.core.atomic_file import OWNER_ONLY, replace_file
from carrel.core.errors import CarrelError, SettingsError
from carrel.server.settings_files import user_file

Parents: TypeAlias = tuple[str, ...]
"""The keys of the tables around an entry, outermost first."""
Value: TypeAlias = Mapping[str, Any] | str | None
Check: TypeAlias = Callable[[Mapping[str, Any]], None]

_WRITING = threading.Lock()
"""One change after the other: each reads the whole file and writes it whole."""


def set_model(role: str, fields: Mapping[str, Any] | None) -> Path:
    """Write which model answers for a role, or with None that none is set; return the file. Raises `CarrelError`."""
    return _set(("models",), role, fields)


def set_source(name: str, fields: Mapping[str, Any] | None, *, found: Any) -> Path:
    """Write what is searched beside the workspace under this id, or with None nothing; return the file.

    Raises `CarrelError`, also where the entry isn't as it was `found` when the person was asked (None for no entry).
    """

    def is_as_found(options: Mapping[str, Any]) -> None:
        sources = options.get("sources")
        if (sources.get(name) if isinstance(sources, Mapping) else None) != found:
            raise CarrelError(
                f"`sources.{name}` was changed elsewhere while you were asked, and is left so.", "Look at it and try again."
            )

    return _set(("sources",), name, fields, check=is_as_found)


def set_store(fields: Mapping[str, Any] | None) -> Path:
    """Write where vectors are kept, or with None that the index alone keeps them; return the file. Raises `CarrelError`."""
    return _set((), "store", fields)


def set_tool_source(kind: str, name: str, value: Mapping[str, Any] | str | None) -> Path:
    """Write a source of tools (`kind` is `servers`, `files` or `openapi`), or with None that it is gone; return the file.

    Raises `CarrelError`.
    """
    return _set(("tools", kind), name, value)


def _set(parents: Parents, name: str, value: Value, *, check: Check | None = None) -> Path:
    """Write an entry of a table that stands below `parents`, unless `check` raises for what the file holds."""
    path = user_file()
    with _WRITING:
        try:
            text = path.read_text("utf-8-sig") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(path, str(error)) from None
        change = _changed_json if path.suffix == ".json" else _changed_toml
        _replace(path, change(path, text, parents, name, value, check))
    return path


def _changed_toml(path: Path, text: str, parents: Parents, name: str, value: Value, check: Check | None) -> str:
    try:
        document = tomlkit.parse(text)
        wanted = tomllib.loads(text)
    except (TOMLKitError, ValueError) as error:
        raise SettingsError(path, str(error)) from None
    if check:
        check(wanted)
    _apply(path, document, parents, name, _as_toml(value), lambda: tomlkit.table(is_super_table=True))
    _apply(path, wanted, parents, name, value, dict)
    changed = tomlkit.dumps(document)
    try:
        fits = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:  # something else in the file would be changed by it
        raise _other_form(path, parents, name)
    return changed


def _as_toml(value: Value) -> Any:
    if not isinstance(value, Mapping):
        return value
    table: Table = tomlkit.table()
    table.update(value)
    return table


def _apply(path: Path, document: Any, parents: Parents, name: str, value: Any, make: Callable[[], Any]) -> None:
    """Set or remove the entry; tables that it leaves empty go too."""
    chain = [document]
    for parent in parents:
        inner = chain[-1].get(parent)
        if inner is None:
            chain[-1][parent] = make()
            inner = chain[-1][parent]
        if not isinstance(inner, dict):
            raise SettingsError(path, f"`{parent}` must be a table")
        chain.append(inner)
    try:
        chain[-1].pop(name, None)
        if value is not None:
            chain[-1][name] = value
    except ValueError:
        raise _other_form(path, parents, name) from None
    for outer, parent, inner in reversed(list(zip(chain, parents, chain[1:], strict=False))):
        if not inner:
            outer.pop(parent)


def _other_form(path: Path, parents: Parents, name: str) -> SettingsError:
    if not parents:
        return SettingsError(path, f"its `{name}` is written in a form that can't be changed here; write it as `[{name}]`")
    table = ".".join(parents)
    return SettingsError(path, f"its `{table}` are written in a form that can't be changed here; write each as `[{table}.NAME]`")


def _changed_json(path: Path, text: str, parents: Parents, name: str, value: Value, check: Check | None) -> str:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, str(error)) from None
    if not isinstance(document, dict):
        raise SettingsError(path, "it must hold an object")
    if check:
        check(document)
    _apply(path, document, parents, name, dict(value) if isinstance(value, Mapping) else value, dict)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    """Write the file whole or not at all; a link to it stays a link."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else OWNER_ONLY
        replace_file(target, text.encode(), mode=mode)
    except OSError as error:
        raise CarrelError(f"{path} can't be written ({error.strerror})", "Make it and its folder writable.") from None
