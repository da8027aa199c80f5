"""Enter Carrel in a configuration file, or take it out: nothing else changes, a backup is kept, the write is atomic."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from carrel.frontends.mcp import jsonc
from carrel.frontends.mcp.clients import WORKSPACE_FOLDERS
from carrel.model.errors import CarrelError
from carrel.system.atomic_file import OWNER_ONLY, replace_file

NAME = "carrel"
BACKUP = ".carrel-backup"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is (None: there is none) and as it shall be (None: it goes), and what becomes of the backup."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Literal["write", "keep", "drop"] = "write"

    @property
    def needed(self) -> bool:
        """False when the file already is as it shall be."""
        return self.before != self.after


def plan(path: Path, section: str, entry: dict[str, object] | None) -> Change:
    """Plan what has to change for `entry` to stand in the file; None takes it out. Raises `CarrelError` and touches nothing."""
    path = Path(os.path.realpath(path))  # a link, as of a dotfiles manager, stays one
    before, backup = _read(path), _read(_backup_of(path))
    try:
        if entry is not None:
            after = _with(before, section, entry)
            there = before is not None and _is_of_install(before, backup, section)
            return Change(path, before, after, "keep" if there else "write")
        return _without(path, before, backup, section)
    except (jsonc.BadJson, UnicodeDecodeError) as error:
        raise CarrelError(f"{path} can't be understood ({error}); it was left as it is", "Mend it, then try again.") from None


def apply(change: Change) -> Path | None:
    """Make the change; gives the backup of what was there. Raises `CarrelError`."""
    path, backup = change.path, _backup_of(change.path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise CarrelError(f"{path} was changed by somebody else just now", "Try again.", retryable=True)
        if change.before is not None and _is_read_only(path):
            raise CarrelError(f"{path} is read-only; it was left as it is", "Make it writable, then try again.")
        if change.before is not None and change.backup == "write":
            _write(backup, change.before, like=path)
        if change.after is None:
            path.unlink(missing_ok=True)
            _drop_empty_folder(path.parent)
        else:
            _write(path, change.after, like=path)
        if change.backup == "drop":
            backup.unlink(missing_ok=True)
    except OSError as error:
        raise CarrelError(f"{path} can't be written: {error.strerror or error}") from None
    return backup if change.before is not None and backup.exists() else None


def _drop_empty_folder(folder: Path) -> None:
    """Take away an assistant's own folder in a project (`.vscode`), which `install` made, once nothing is in it."""
    if folder.name in WORKSPACE_FOLDERS:
        with contextlib.suppress(OSError):  # something else is in it
            folder.rmdir()


def _without(path: Path, before: bytes | None, backup: bytes | None, section: str) -> Change:
    """Take the entry out. What stood there before `install` comes back as it was, where nothing else has changed since."""
    if before is None or (given := _entry(before, section)) is None:
        return Change(path, before, before)
    if backup is None and _is_of_install(before, backup, section):  # the whole file is
        return Change(path, before, None, "drop")
    if backup is not None and _is_origin(backup, before, section, given):
        return Change(path, before, backup, "drop")
    previous = None if backup is None else _replaced_entry(backup, section)
    if previous is not None and previous != given:
        return Change(path, before, _with(before, section, previous), "drop")
    mark, text = _text(before)
    had_section = backup is not None and _had_section(backup, section)
    left = jsonc.drop(text, (section, NAME), keep_outer=had_section)
    after = (mark + left).encode()
    return Change(path, before, after, "drop" if after == backup else "write")


def _with(before: bytes | None, section: str, entry: dict[str, object]) -> bytes:
    """Put the entry into the file."""
    mark, text = _text(before or b"")
    changed = jsonc.put(text if text.strip() else "{}\n", (section, NAME), entry)
    if jsonc.value_at(changed, (section, NAME)) != entry:
        raise jsonc.BadJson("the entry can't be put into it")
    return (mark + changed).encode()


def _is_of_install(before: bytes, backup: bytes | None, section: str) -> bool:
    """Tell whether `install` wrote the entry that stands there; else it is the person's own, or there is none."""
    entry = _entry(before, section)
    if entry is None:
        return False
    if backup is None:
        return _with(None, section, entry) == before  # it made the file
    if _replaced_entry(backup, section) is None:
        return True
    arguments = entry.get("args") if isinstance(entry, dict) else None  # the backup may be older than the entry
    return isinstance(arguments, list) and arguments[:1] == ["mcp"]


def _replaced_entry(backup: bytes, section: str) -> Any:
    """Return the entry that stood there before `install`; None where there was none, or the backup can't be read."""
    try:
        return _entry(backup, section)
    except (jsonc.BadJson, UnicodeDecodeError):
        return None


def _is_origin(backup: bytes, before: bytes, section: str, entry: dict[str, object]) -> bool:
    try:
        return _with(backup, section, entry) == before
    except (jsonc.BadJson, UnicodeDecodeError):
        return False


def _had_section(backup: bytes, section: str) -> bool:
    try:
        text = _text(backup)[1]
        return bool(text.strip()) and jsonc.holds(text, section)
    except (jsonc.BadJson, UnicodeDecodeError):
        return False


def _entry(data: bytes, section: str) -> Any:
    text = _text(data)[1]
    return jsonc.value_at(text, (section, NAME)) if text.strip() else None


def _text(data: bytes) -> tuple[str, str]:
    """Split the byte order mark, if there is one, from the text after it."""
    text = data.decode("utf-8")
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)


def _backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.exists() else None
    except OSError as error:
        raise CarrelError(f"{path} can't be read: {error}; it was left as it is") from None


def _is_read_only(path: Path) -> bool:
    """Ask the mode too: whoever may write everything, as root may, is not kept from it, and the file's owner meant it."""
    return not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK)


def _write(path: Path, data: bytes, *, like: Path) -> None:
    replace_file(path, data, mode=stat.S_IMODE(like.stat().st_mode) if like.exists() else OWNER_ONLY)
