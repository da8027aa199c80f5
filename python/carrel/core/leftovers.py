"""What must not outlive this process: programs that it started, with all that they started, and their temporary folders.

A process that ends in order stops and removes each itself. One that must go at once (`os._exit`) calls `clear` before: nobody
waits then. On Windows a job object ends the programs with the process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys

_groups: set[int] = set()
_folders: set[str] = set()


def add_group(leader: int) -> None:
    """Remember a program that leads a process group of its own."""
    _groups.add(leader)


def end_group(leader: int) -> None:
    """Kill what is left of a group, whether its leader still runs or not, and forget it."""
    _groups.discard(leader)
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def add_folder(folder: str) -> None:
    """Remember a temporary folder."""
    _folders.add(folder)


def remove_folder(folder: str) -> None:
    """Remove a temporary folder as far as possible, and forget it. Takes as long as it has files."""
    shutil.rmtree(folder, ignore_errors=True)
    _folders.discard(folder)


def clear() -> None:
    """End every group and remove every folder. May be called in a handler of signals and on any thread."""
    for leader in tuple(_groups):
        end_group(leader)
    for folder in tuple(_folders):
        remove_folder(folder)
