"""Enter Carrel in a configuration file, or take it out: nothing else changes, a backup is kept, the write is atomic."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from carrel.core.errors import CarrelError
from carrel.frontends.mcp import jsonc

NAME = "carrel"
BACKUP = ".carrel-backup"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is (None: there is none) and as it shall be (None: it goes)."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        """False when the file already is as it shall be."""
        return self.before != self.after


def plan(path: Path, section: str, entry: dict[str, object] | None) -> Change:
    """What has to change for `entry` to stand in the file; None takes it out. Raises `CarrelError` and touches nothing."""
    path = Path(os.path.realpath(path))  # a link, as of a dotfiles manager, stays one
    try:
        before = path.read_bytes() if path.exists() else None
        text = (before or b"").decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CarrelError(f"{path} can't be read: {error}. It was left as it is.") from None
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    blank = not text.strip()
    if entry is None and blank:
        return Change(path, before, before)
    try:
        if entry is None:
            changed = jsonc.drop(text, (section, NAME))
        else:
            changed = jsonc.put("{}\n" if blank else text, (section, NAME), entry)
        jsonc.parse(changed)
    except jsonc.BadJson as error:
        raise CarrelError(f"{path} can't be understood ({error}). It was left as it is: mend it, then try again.") from None
    after = None if entry is None and changed != text and changed.strip() == "{}" else (mark + changed).encode()
    return Change(path, before, after)


def apply(change: Change) -> Path | None:
    """Make the change; gives the backup of what was there. Raises `CarrelError`."""
    path, backup = change.path, None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (path.read_bytes() if path.exists() else None) != change.before:
            raise CarrelError(f"{path} was changed by somebody else just now. Try again.")
        if change.before is not None:
            backup = path.with_name(path.name + BACKUP)
            _write(backup, change.before, like=path)
        if change.after is None:
            path.unlink(missing_ok=True)
        else:
            _write(path, change.after, like=path)
    except OSError as error:
        raise CarrelError(f"{path} can't be written: {error.strerror or error}.") from None
    return backup


def _write(path: Path, data: bytes, *, like: Path) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if like.exists():
            shutil.copymode(like, name)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
