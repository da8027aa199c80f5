"""What the team's cache gave, lacked and still has to be told, kept on disk for all programs of the person.

Values that wait are sealed already. A file that can't be used costs only what it counts and holds: nothing here raises.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from carrel.system.filesystem import private_file, private_folder

log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_WAITING = 50_000
"""Values of 1,536 numbers are 150 MB; what came first goes first, and is paid once more by the next who needs it."""
_WAIT_SECONDS = 2.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS counts (place TEXT, name TEXT, n INTEGER NOT NULL, PRIMARY KEY (place, name));
CREATE TABLE IF NOT EXISTS waiting (
    turn INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, since REAL NOT NULL,
    UNIQUE (place, key)
);
"""


class TeamLedger:
    """The file. Used from any thread, by any number of processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._has_warned = False

    def count(self, place: str, numbers: Mapping[str, int]) -> None:
        """Add to the counts of a place."""
        rows = [(place, name, number) for name, number in numbers.items() if number]
        if rows:
            self._run(
                lambda database: database.executemany(
                    "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n", rows
                ),
                None,
            )

    def counts(self, place: str) -> dict[str, int]:
        """Return the counts of a place."""
        return self._run(
            lambda database: dict(database.execute("SELECT name, n FROM counts WHERE place = ?", [place])), dict[str, int]()
        )

    def wait(self, place: str, values: Mapping[bytes, bytes]) -> None:
        """Keep values that a place has to be told."""
        now = time.time()
        rows = [(place, key, value, now) for key, value in values.items()]

        def work(database: sqlite3.Connection) -> None:
            database.executemany("INSERT OR IGNORE INTO waiting (place, key, value, since) VALUES (?, ?, ?, ?)", rows)
            database.execute(
                "DELETE FROM waiting WHERE turn IN (SELECT turn FROM waiting ORDER BY turn DESC LIMIT -1 OFFSET ?)",
                [MOST_WAITING],
            )

        self._run(work, None)

    def waiting(self, place: str, most: int) -> dict[bytes, bytes]:
        """Return the values that have waited longest for a place."""
        query = "SELECT key, value FROM waiting WHERE place = ? ORDER BY turn LIMIT ?"
        return self._run(lambda database: dict(database.execute(query, [place, most])), dict[bytes, bytes]())

    def forget_values(self, place: str, keys: Sequence[bytes]) -> None:
        """Forget values that a place has."""
        rows = [(place, key) for key in keys]
        self._run(lambda database: database.executemany("DELETE FROM waiting WHERE place = ? AND key = ?", rows), None)

    def forget(self, place: str) -> None:
        """Forget all that waits for a place."""
        self._run(lambda database: database.execute("DELETE FROM waiting WHERE place = ?", [place]), None)

    def backlog(self, place: str) -> tuple[int, float]:
        """Return how many values wait for a place, and for how many seconds the first."""
        if not self._path.exists():
            return 0, 0.0
        query = "SELECT COUNT(*), MIN(since) FROM waiting WHERE place = ?"
        many, since = self._run(lambda database: database.execute(query, [place]).fetchone(), (0, 0.0))
        return many, max(time.time() - since, 0.0) if many else 0.0

    def _run(self, work: Callable[[sqlite3.Connection], object], otherwise: T) -> T:
        """Do something in one transaction; return `otherwise` where that isn't possible, or `work` gives nothing to return."""
        with self._lock:
            try:
                private_folder(self._path.parent, close=False)
                private_file(self._path)
                with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS)) as database, database:
                    database.executescript(_SCHEMA)
                    database.execute("PRAGMA synchronous = OFF")  # what a power cut damages is paid once more
                    result = work(database)
            except (sqlite3.Error, OSError) as error:
                if not self._has_warned:
                    self._has_warned = True
                    log.warning("%s can't be used, so nothing waits there for the team's cache: %s", self._path, error)
                return otherwise
        return otherwise if otherwise is None else result  # type: ignore[return-value]
