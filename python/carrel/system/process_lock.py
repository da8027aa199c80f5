"""A lock between processes, released also by a kill: that of an SQLite file, which every system has."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

_WAIT_SECONDS = 10.0


@contextlib.contextmanager
def process_lock(path: Path, *, seconds: float = _WAIT_SECONDS) -> Iterator[None]:
    """Hold what one process and thread at a time may hold; `path` is a file for nothing else. Raises `OSError`."""
    try:
        database = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    except sqlite3.Error as error:
        raise OSError(f"{path} can't be opened ({error})") from None
    with contextlib.closing(database):
        try:
            database.execute("BEGIN IMMEDIATE")  # it writes nothing; closing the file ends it
        except sqlite3.Error as error:
            raise OSError(f"{path} can't be locked ({error})") from None
        yield
