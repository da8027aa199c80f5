"""A lock that holds across processes, on a file of its own. The system lets go of it when its holder ends, however that ends.

Needs nothing but the standard library.

A lock between processes, released also by a kill: that of an SQLite file, which every system has.
"""

# ruff: noqa: PLC0415 - each system has its own way to lock a file
from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_WAIT_SECONDS = 10.0


@contextlib.contextmanager
def process_lock(path: Path) -> Iterator[None]:
    """Hold what one process and thread at a time may hold; `path` is a file for nothing else. Raises `OSError`."""
    try:
        database = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise OSError(f"{path} can't be opened ({error})") from None
    with contextlib.closing(database):
        try:
            database.execute("BEGIN IMMEDIATE")  # it writes nothing; closing the file ends it
        except sqlite3.Error as error:
            raise OSError(f"{path} can't be locked ({error})") from None
        yield


@contextmanager
def locked(path: Path, seconds: float, pause: float = 0.1) -> Iterator[bool]:
    """Hold the lock on `path`, a file that only this is for; gives False where somebody else held it for so many seconds."""
    with path.open("a+b") as file:
        end = time.monotonic() + seconds
        while not (held := _lock(file)) and time.monotonic() < end:
            time.sleep(pause)
        yield held  # the system lets go of it when the file is closed


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
