"""What must not outlive this process: programs that it started, with all that they started, and their temporary folders.

A process that ends in order stops and removes each itself. One that must go at once calls `leave`: nobody waits then. On Windows
a job object ends the programs with the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from tempfile import mkdtemp
from typing import NoReturn

from carrel.core.folder_removal import remove_folder

_LAST_SECONDS = 1.0
"""How long a process that must go at once goes on removing folders."""
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
