"""Enter Carrel in a configuration file, or take it out: nothing else changes, a backup is kept, the write is atomic."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from carrel.frontends.cli.assistants.clients import OWN_FOLDERS
from carrel.frontends.cli.assistants.edits import BadToml, Edit
from carrel.frontends.cli.assistants.jsonc import BadJson
from carrel.model.errors import CarrelError
from carrel.system.filesystem import OWNER_ONLY, replace_file

BACKUP = ".carrel-backup"


class Change(Struct, frozen=True):
    """A file as it is (None: there is none) and as it shall be (None: it goes), and what becomes of the backup."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Literal["write", "keep", "drop"] = "write"

    @property
    def needed(self) -> bool:
        """False when the file already is as it shall be."""
        return self.before != self.after


def plan(path: Path, edits: Sequence[Edit], *, install: bool, only: Sequence[Edit] | None = None) -> Change:
    """Plan what has to change for edits to stand in a file, or not to. Raises `CarrelError` and touches nothing.

    `edits` are all that Carrel may enter there, in their order; `only` names those that it is about, all by default.
    """
    path = Path(os.path.realpath(path))  # a link, as of a dotfiles manager, stays one
    chosen = edits if only is None else only
    before, backup = read(path), read(_backup_of(path))
    with _understood(path):
        state = _State(before, backup, edits)
        if install:
            after = _applied(before, [(edit, None) for edit in edits if edit in chosen])
            return Change(path, before, after, "keep" if any(map(state.is_of_install, edits)) else "write")
        return _without(path, state, chosen)


@contextlib.contextmanager
def _understood(path: Path) -> Iterator[None]:
    """Raise `CarrelError` for a file that isn't what it should be."""
    try:
        yield
    except (BadJson, BadToml, UnicodeDecodeError) as error:
        reason = str(error)
        if isinstance(error, UnicodeDecodeError):
            line = error.object.count(b"\n", 0, error.start) + 1
            reason = f"line {line}: it isn't UTF-8"
        raise CarrelError(f"{path} can't be understood ({reason}); it was left as it is", "Mend it, then try again.") from None


def standing(path: Path, edits: Sequence[Edit]) -> list[Any]:
    """Return what some version of install wrote into a file in the place of edits. Raises `CarrelError`."""
    with _understood(path):
        return [value for edit, value in _State(read(path), None, edits).standing() if edit.mine(value)]


def apply(change: Change) -> Path | None:
    """Make the change; gives the backup of what was there. Raises `CarrelError`."""
    path, backup = change.path, _backup_of(change.path)
    kept = read(backup)

    def check() -> None:
        if (path.read_bytes() if path.exists() else None) != change.before:
            _write_or_drop(backup, kept, like=path)
            raise CarrelError(f"{path} was changed by somebody else just now", "Try again.", retryable=True)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if change.before is not None and path.exists() and _is_read_only(path):
            raise CarrelError(f"{path} is read-only; it was left as it is", "Make it writable, then try again.")
        if change.before is not None and change.backup == "write":
            _write(backup, change.before, like=path)
        if change.after is None:
            check()
            path.unlink(missing_ok=True)
            _drop_empty_folders(path.parent)
        else:
            _write(path, change.after, like=path, last_check=check)  # agents write theirs at any time
        if change.backup == "drop":
            backup.unlink(missing_ok=True)
    except OSError as error:
        raise CarrelError(
            f"{path} can't be written: {error.strerror or error}", "Make its folder writable, then try again."
        ) from None
    return backup if change.before is not None and backup.exists() else None


def apply_all(changes: Sequence[Change]) -> list[Path]:
    """Make several changes, or none: what was written before one fails is put back. Gives the backups. Raises `CarrelError`."""
    done: list[tuple[Change, bytes | None]] = []
    backups = []
    try:
        for change in changes:
            if change.needed:
                kept = read(_backup_of(change.path))
                backup = apply(change)
                done.append((change, kept))
                backups += [backup] if backup else []
    except CarrelError:
        for change, kept in reversed(done):
            with contextlib.suppress(CarrelError, OSError):
                apply(Change(change.path, change.after, change.before, "keep"))
                _write_or_drop(_backup_of(change.path), kept, like=change.path)
        raise
    return backups


def _write_or_drop(path: Path, data: bytes | None, *, like: Path) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    elif read(path) != data:
        _write(path, data, like=like)


def _drop_empty_folders(folder: Path) -> None:
    """Take away an assistant's own folders (`.vscode`), which `install` made, once nothing is in them.

    The current folder stays: a project may be called like one of them.
    """
    while folder.name in OWN_FOLDERS and folder != Path.cwd():
        try:
            folder.rmdir()
        except OSError:  # something else is in it
            return
        folder = folder.parent


class _State(Struct, frozen=True):
    """A file as it is, its backup, and what install may have entered there."""

    before: bytes | None
    backup: bytes | None
    edits: Sequence[Edit]

    def standing(self) -> list[tuple[Edit, Any]]:
        """Return what stands there."""
        text = _text(self.before or b"")[1]
        pairs = [(edit, edit.standing(text)) for edit in self.edits]
        return [(edit, value) for edit, value in pairs if value is not None]

    def is_of_install(self, edit: Edit) -> bool:
        """Tell whether `install` wrote what stands there; else it is the person's own, or there is none."""
        value = edit.standing(_text(self.before or b"")[1])
        if value is None or not edit.mine(value):
            return False
        return self.backup is not None or _applied(None, self.standing()) == self.before  # it made the file

    def replaced(self, edit: Edit) -> Any:
        """Return what stood there before `install`; None where nothing did, or the backup can't be read."""
        try:
            return edit.standing(self.original)
        except (BadJson, BadToml):
            return None

    @property
    def original(self) -> str:
        """Return the text before `install`."""
        try:
            return _text(self.backup or b"")[1]
        except UnicodeDecodeError:
            return ""

    def with_all(self, values: Sequence[tuple[Edit, Any]]) -> bytes | None:
        """Return the backup with these in it; None where that can't be."""
        try:
            return _applied(self.backup, values)
        except (BadJson, BadToml, UnicodeDecodeError):
            return None


def _without(path: Path, state: _State, chosen: Sequence[Edit]) -> Change:
    """Take edits out. What stood there before `install` comes back as it was, where nothing else has changed since."""
    before, backup = state.before, state.backup
    standing = [(edit, value) for edit, value in state.standing() if edit.mine(value)]
    going = [(edit, value) for edit, value in standing if edit in chosen]
    if before is None or not going:
        return Change(path, before, before)
    staying = [(edit, value) for edit, value in standing if edit not in chosen and state.is_of_install(edit)]
    if state.with_all(standing) == before:
        after = state.with_all(staying) if staying else backup
        return Change(path, before, after, "keep" if staying else "drop")
    mark, text = _text(before)
    for edit, value in going:
        previous = None if backup is None else state.replaced(edit)
        restores = previous is not None and previous != value
        text = edit.put(text, previous) if restores else edit.drop(text, state.original)
    after = (mark + text).encode() if text or backup is not None or mark else None
    missing_edits = [(edit, state.replaced(edit)) for edit in state.edits if edit.standing(text) is None]
    if staying or any(value is not None and not edit.mine(value) for edit, value in missing_edits):  # only the backup has it
        return Change(path, before, after, "keep")
    return Change(path, before, after, "write" if backup is None else "drop")


def _applied(before: bytes | None, values: Sequence[tuple[Edit, Any]]) -> bytes:
    """Put values into a file, install's own where None is given."""
    mark, text = _text(before or b"")
    for edit, value in values:
        text = edit.put(text, value)
    return (mark + text).encode()


def _text(data: bytes) -> tuple[str, str]:
    """Split the byte order mark, if there is one, from the text after it."""
    text = data.decode("utf-8")
    return ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)


def _backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def read(path: Path) -> bytes | None:
    """Return what a file holds; None where there is none. Raises `CarrelError`, also for a pipe, which would never end."""
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path.read_bytes()
        reason = "it isn't a regular file"
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or str(error)
    raise CarrelError(f"{path} can't be read ({reason}); it was left as it is", "Mend it or move it away, then try again.")


def _is_read_only(path: Path) -> bool:
    """Ask the mode too: whoever may write everything, as root may, is not kept from it, and the file's owner meant it."""
    return not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK)


def _write(path: Path, data: bytes, *, like: Path, last_check: Callable[[], None] = lambda: None) -> None:
    replace_file(path, data, mode=stat.S_IMODE(like.stat().st_mode) if like.exists() else OWNER_ONLY, last_check=last_check)
