"""A folder that was typed. Servers start by it, so nothing slow is loaded here."""

from __future__ import annotations

import os
from pathlib import Path

from carrel.frontends.cli.terminal.output import is_text
from carrel.model.errors import CarrelError, InvalidInput


def folder(path: Path) -> Path:
    """Return an existing folder that can be read, absolute; raises `InvalidInput` or `CarrelError`."""
    absolute = absolute_path(path)
    if not absolute.is_dir():
        raise InvalidInput("path", f"{absolute} is not a folder")
    if not is_text(str(absolute)):
        raise InvalidInput("path", f"{absolute} is not UTF-8, so its files can't be named to an editor", "Rename it.")
    if reason := unreadable(absolute):
        raise CarrelError(f"{absolute} can't be read: {reason}", "Give yourself the right to read it.")
    return absolute


def absolute_path(path: Path) -> Path:
    """Return a path as it was named, links included; but `..` would stand in every URI that is made of it."""
    absolute = path.absolute()
    return absolute.resolve() if ".." in absolute.parts else absolute


def unreadable(folder: Path) -> str | None:
    """Return why the entries of a folder can't be listed and looked at; None if they can."""
    try:
        with os.scandir(folder):
            (folder / ".git").lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    return None
