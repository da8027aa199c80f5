"""What must not outlive this process: programs that it started, with all that they started, and their temporary folders.

A process that ends in order stops and removes each itself. One that must go at once calls `leave`: nobody waits then. On Windows
a job object ends the programs with the process.

Remove a folder that another's program filled, whatever it made in there: folders within folders without end, links, rights.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import NoReturn

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


_LAST_SECONDS = 1.0
"""How long a process that must go at once goes on removing folders."""
_PDEATHSIG, _SIGKILL = 1, 9
_groups: set[int] = set()
_folders: set[str] = set()


def add_group(leader: int) -> None:
    """Remember a program that leads a process group of its own."""
    _groups.add(leader)


def end_group(leader: int) -> None:
    """Kill what is left of a group, whether its leader still runs or not, and forget it: later the number may be another's."""
    if leader in _groups:
        _groups.discard(leader)
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGKILL)


def killed_with_this(number: int = _SIGKILL) -> Callable[[], None] | None:
    """Return a `preexec_fn` that has the system send a program signal `number` when this process is killed; None where it can't.

    Only Linux can. The signal comes when the thread ends that starts the program: that must be the main one, and yet alone.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - here, not between the fork and the program

    prctl, this = ctypes.CDLL(None).prctl, os.getpid()

    def bind() -> None:
        prctl(_PDEATHSIG, number)
        if os.getppid() != this:  # it was killed before
            os._exit(128 + number)

    return bind


def new_folder(prefix: str) -> str:
    """Make a temporary folder, and remember it. Raises `OSError`."""
    folder = mkdtemp(prefix=prefix)
    _folders.add(folder)
    return folder


def drop_folder(folder: str) -> None:
    """Remove a temporary folder as far as possible, and forget it. Takes as long as it has files."""
    remove_folder(folder)
    _folders.discard(folder)


def clear() -> None:
    """End every group, and remove what can be removed of the folders within a second.

    May be called in a handler of signals and on any thread.
    """
    end = time.monotonic() + _LAST_SECONDS
    for leader in tuple(_groups):
        end_group(leader)
    for folder in tuple(_folders):
        remove_folder(folder, max(0.0, end - time.monotonic()))


def leave(code: int) -> NoReturn:
    """Clear, and end the process at once whatever comes of that."""
    try:
        clear()
    finally:
        os._exit(code)
