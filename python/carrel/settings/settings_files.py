"""The user's settings file and a workspace's `.carrel.toml`: read, never written.

The command line and MCP have no editor to ask, so they read the user's file; an editor's settings override it for the
editor's own server. A file that is there but can't be read stops everything that would read the workspace: what it
leaves out may be secret, and nobody knows what that is.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

from carrel.model.errors import SettingsError
from carrel.settings.settings import Layer, Problem, Settings, resolve

WORKSPACE_FILE = ".carrel.toml"
_LIMIT = 1_000_000


def user_file() -> Path:
    """Return the settings file that exists, or the one to create."""
    files = user_files()
    return next((file for file in files if file.is_file()), files[0])


def user_files() -> tuple[Path, ...]:
    """List where the user's settings may be: `settings.toml` or `settings.json` in the config folder, the first one counts."""
    import platformdirs  # noqa: PLC0415 - not every start needs it

    folder = platformdirs.user_config_path("carrel", appauthor=False)
    return folder / "settings.toml", folder / "settings.json"


def read_user(path: Path | None = None) -> Layer:
    """Read the user's own settings; no file is no problem. Raises `SettingsError`."""
    return _read(path or user_file(), workspace=False)


def read_workspace(root: Path) -> Layer:
    """Read what the workspace itself asks for; it may only narrow. Raises `SettingsError`."""
    return _read(root / WORKSPACE_FILE, workspace=True)


def stamp(*files: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return a value that differs as soon as one of these files is changed, made or removed."""
    return tuple(_stamp_of(file) for file in files)


def _stamp_of(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - each question asks; this is the quick way
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns


def settings_of(root: Path) -> tuple[Settings, tuple[Problem, ...]]:
    """Resolve the settings of a folder where no editor has a say, and what can't be used of them. Raises `SettingsError`."""
    return resolve(read_user(), read_workspace(root))


def _read(path: Path, *, workspace: bool) -> Layer:
    source = WORKSPACE_FILE if workspace else str(path)
    try:
        options = _parse(path, _bytes(path, follow=not workspace))
    except (FileNotFoundError, NotADirectoryError):
        return Layer(source, {}, workspace=workspace)
    except OSError as error:
        raise SettingsError(path, error.strerror or str(error)) from None
    if not isinstance(options, dict):
        raise SettingsError(path, "it must hold an object")
    return Layer(source, options, workspace=workspace, report_unknown=True, personal=not workspace)


def _bytes(path: Path, *, follow: bool) -> bytes:
    """Read a file from one handle: between a look at its path and a read of it, the path may come to mean another file."""
    # A workspace's file must be a file of the workspace, not a link to something else of the user's.
    if not follow and path.is_symlink():
        raise SettingsError(path, "it is a link")
    if path.is_dir():
        raise SettingsError(path, "it is no file")
    # A named pipe must not be waited for. Windows has neither flag, nor pipes and links that anyone can put in a folder.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SettingsError(path, "it is no file")
        data = file.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        raise SettingsError(path, f"it is larger than {_LIMIT:,} bytes")
    return data


def _parse(path: Path, data: bytes) -> object:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise SettingsError(path, f"a byte that is not UTF-8 (at line {line}, column {column})") from None
    try:
        # Both parsers name the line and the column.
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, "nested too deep" if isinstance(error, RecursionError) else str(error)) from None
