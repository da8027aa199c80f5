"""Change the person's own settings file without losing what else stands in it, comments and order included."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from carrel.core.atomic_file import OWNER_ONLY, replace_file
from carrel.core.errors import CarrelError, SettingsError
from carrel.server.settings_files import user_file


def set_model(role: str, fields: Mapping[str, Any] | None) -> Path:
    """Write which model answers for a role, or with None that none is set; return the file. Raises `CarrelError`."""
    return _set_entry("models", role, fields)


def set_source(name: str, fields: Mapping[str, Any] | None) -> Path:
    """Write what is searched beside the workspace under this id, or with None nothing; return the file. Raises `CarrelError`."""
    return _set_entry("sources", name, fields)


def _set_entry(table: str, key: str, fields: Mapping[str, Any] | None) -> Path:
    """Write one entry of a table of settings, or with None take it out; return the file. Raises `CarrelError`."""
    path = user_file()
    try:
        text = path.read_text("utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(path, str(error)) from None
    if path.suffix == ".json":
        changed = _changed_json(path, text, table, key, fields)
    else:
        changed = _changed_toml(path, text, table, key, fields)
        _compare(path, text, changed, table, key, fields)
    _replace(path, changed)
    return path


def _changed_toml(path: Path, text: str, table: str, key: str, fields: Mapping[str, Any] | None) -> str:
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise SettingsError(path, str(error)) from None
    entries = document.get(table)
    if entries is None:
        entries = tomlkit.table(is_super_table=True)
        document[table] = entries
    if not isinstance(entries, dict):
        raise SettingsError(path, f"`{table}` must be a table")
    try:
        entries.pop(key, None)
        if fields is not None:
            entry: Table = tomlkit.table()
            entry.update(fields)
            entries[key] = entry
    except ValueError:
        raise _other_form(path, table, key) from None
    if fields is None and not entries:
        document.pop(table)
    return tomlkit.dumps(document)


def _compare(path: Path, text: str, changed: str, table: str, key: str, fields: Mapping[str, Any] | None) -> None:
    """Raise `SettingsError` where the new text says anything else than the old one but for the entry."""
    wanted = tomllib.loads(text)
    entries = wanted.setdefault(table, {})
    entries.pop(key, None)
    if fields is not None:
        entries[key] = dict(fields)
    elif not entries:
        del wanted[table]
    try:
        fits = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        raise _other_form(path, table, key)


def _other_form(path: Path, table: str, key: str) -> SettingsError:
    return SettingsError(path, f"its `{table}` are written in a form that can't be changed here; write each as `[{table}.{key}]`")


def _changed_json(path: Path, text: str, table: str, key: str, fields: Mapping[str, Any] | None) -> str:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, str(error)) from None
    if not isinstance(document, dict) or not isinstance(document.setdefault(table, {}), dict):
        raise SettingsError(path, f"it must hold an object, and `{table}` in it too")
    document[table].pop(key, None)
    if fields is not None:
        document[table][key] = dict(fields)
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
