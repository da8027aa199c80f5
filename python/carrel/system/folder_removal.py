"""Remove a folder that another's program filled, whatever it made in there: folders within folders without end, links, rights."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

_FOLDER_ITSELF = os.O_RDONLY
if sys.platform != "win32":
    _FOLDER_ITSELF |= os.O_DIRECTORY | os.O_NOFOLLOW


def remove_folder(folder: str, seconds: float = float("inf")) -> bool:
    """Remove a folder as far as possible, and give up after `seconds`; tell whether it is gone. Follows no link.

    A path may be longer than any call takes, and folders nested deeper than files can be open: so a folder within a folder is
    moved up into the first one before its turn comes.
    """
    if sys.platform == "win32":
        with suppress(OSError, RecursionError):
            shutil.rmtree(folder, ignore_errors=True)
        return not os.path.lexists(folder)
    end = time.monotonic() + seconds
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            top = _opened(folder, None)
            try:
                _empty(top, end)
            finally:
                os.close(top)
            Path(folder).rmdir()
        else:  # a link in its place
            Path(folder).unlink()
    return not os.path.lexists(folder)


def _empty(top: int, end: float) -> None:
    """Remove what is in the folder that `top` is a descriptor of, until `end`."""
    moved = 0
    while inner := _folders_in(top, end):
        for name in inner:
            if time.monotonic() > end:
                return
            within = _opened(name, top)
            try:
                for deeper in _folders_in(within, end):
                    os.rename(deeper, f".carrel-{moved}", src_dir_fd=within, dst_dir_fd=top)
                    moved += 1
            finally:
                os.close(within)
            os.rmdir(name, dir_fd=top)


def _folders_in(folder: int, end: float) -> list[str]:
    """Remove the files of a folder, and return the names of the folders in it."""
    inner: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() > end:
                break
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, stat.S_IRWXU, dir_fd=folder)  # it can't be moved otherwise
                inner.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return inner


def _opened(name: str, within: int | None) -> int:
    return os.open(name, _FOLDER_ITSELF, dir_fd=within)
