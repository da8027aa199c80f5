"""Read a file below a folder that a person named, without following a link on the way."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


def read_below(root: Path, relative: str, most: int) -> bytes:
    """Return the bytes of a regular file. Raises `OSError` for a link, another kind of file, and more than `most` bytes."""
    handle = _open(root, relative)
    with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError("is no regular file")
        if found.st_size > most:
            raise OSError(f"is larger than {most:,} bytes")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"is larger than {most:,} bytes")
    return data


if sys.platform == "win32":

    def _open(root: Path, relative: str) -> int:
        """Open where folders can't be held open: the path must lead where it says, before and after."""
        path = root.resolve().joinpath(*_parts(relative))
        handle = os.open(path, _FLAGS)
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
            os.close(handle)
            raise OSError("is a link, or lies behind one")
        return handle

else:

    def _open(root: Path, relative: str) -> int:
        """Open one folder after another, none of which may be a link."""
        *folders, name = _parts(relative)
        folder_flags = os.O_RDONLY | os.O_DIRECTORY
        folder = os.open(root, folder_flags)
        try:
            for part in folders:
                inner = os.open(part, folder_flags | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(name, _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)


def _parts(relative: str) -> list[str]:
    parts = relative.split("/")
    if any(part in ("", ".", "..") or os.sep in part or "\0" in part for part in parts):
        raise OSError("isn't a path below the folder")
    return parts
