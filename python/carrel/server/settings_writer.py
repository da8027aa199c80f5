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
    path = user_file()
    try:
        text = path.read_text("utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(path, str(error)) from None
    if path.suffix == ".json":
        changed = _changed_json(path, text, role, fields)
    else:
        changed = _changed_toml(path, text, role, fields)
        _compare(path, text, changed, role, fields)
    _replace(path, changed)
    return path


def _changed_toml(path: Path, text: str, role: str, fields: Mapping[str, Any] | None) -> str:
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise SettingsError(path, str(error)) from None
    models = document.get("models")
    if models is None:
        models = tomlkit.table(is_super_table=True)
        document["models"] = models
    if not isinstance(models, dict):
        raise SettingsError(path, "`models` must be a table")
    try:
        models.pop(role, None)
        if fields is not None:
            table: Table = tomlkit.table()
            table.update(fields)
            models[role] = table
    except ValueError:
        raise _other_form(path) from None
    if fields is None and not models:
        document.pop("models")
    return tomlkit.dumps(document)


def _compare(path: Path, text: str, changed: str, role: str, fields: Mapping[str, Any] | None) -> None:
    """Raise `SettingsError` where the new text says anything else than the old one but for the model."""
    wanted = tomllib.loads(text)
    models = wanted.setdefault("models", {})
    models.pop(role, None)
    if fields is not None:
        models[role] = dict(fields)
    elif not models:
        del wanted["models"]
    try:
        fits = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        raise _other_form(path)


def _other_form(path: Path) -> SettingsError:
    return SettingsError(path, "its `models` are written in a form that can't be changed here; write each as `[models.chat]`")


def _changed_json(path: Path, text: str, role: str, fields: Mapping[str, Any] | None) -> str:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, str(error)) from None
    if not isinstance(document, dict) or not isinstance(document.setdefault("models", {}), dict):
        raise SettingsError(path, "it must hold an object, and `models` in it too")
    document["models"].pop(role, None)
    if fields is not None:
        document["models"][role] = dict(fields)
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
