"""What a store elsewhere still has to be told of an index: committed here first, published after, in SQLite.

The outbox knows which chunks the store holds and which are to be added or deleted. An entry goes only when the store has said
that it did it, so a kill at any moment loses nothing and leaves nothing behind there: an addition of which nobody knows whether
it arrived becomes a deletion when its chunk is gone. A run that changes the index announces itself before it begins (`begin`);
one that was killed is found by that, and the whole index compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from carrel.model.errors import StoreError
from carrel.model.ports import ChunkId

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS held (id TEXT PRIMARY KEY, path TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (
    id TEXT PRIMARY KEY, add_it INTEGER NOT NULL, path TEXT NOT NULL, version INTEGER NOT NULL,
    at REAL NOT NULL, turn INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pending_by_turn ON pending (turn);
CREATE INDEX IF NOT EXISTS pending_by_path ON pending (path);
CREATE INDEX IF NOT EXISTS held_by_path ON held (path);
"""
_TEMPORARY = """
CREATE TEMP TABLE IF NOT EXISTS listed (id TEXT PRIMARY KEY, path TEXT NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS concerned (path TEXT PRIMARY KEY) WITHOUT ROWID;
DELETE FROM listed;
DELETE FROM concerned;
"""
_WAIT_SECONDS = 30.0


class Entry(Struct, frozen=True):
    """One thing to tell the store: add the chunk, or delete it. `turn` tells a later change of mind about the same chunk."""

    id: ChunkId
    add: bool
    path: str
    version: int
    turn: int


class Backlog(Struct, frozen=True):
    """How much waits, and since when the oldest of it does, in Unix seconds."""

    entries: int = 0
    since: float = 0.0


class Comparison(Struct, frozen=True):
    """What the ids of a store are, beside those that the outbox says it holds."""

    held: int = 0
    missing: int = 0
    orphans: int = 0

    @property
    def same(self) -> bool:
        """Tell whether nothing is missing and nothing too much."""
        return not self.missing and not self.orphans


class Outbox:
    """The outbox of one index and one store. Any thread may call it; the index's writer is the only one to change it."""

    def __init__(self, file: Path) -> None:
        """Open or make it. Raises `StoreError`."""
        self._file = file
        self._turn = threading.Lock()
        self.changing = False
        """Whether this process is changing the index, so that nobody knows what of it the store lacks."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=_WAIT_SECONDS, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # a power cut costs the last entries: a sweep finds them
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{file} can't be used ({error})", "Delete it: it is made again from the store's ids.") from None

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._database.close()

    @property
    def dirty(self) -> bool:
        """Tell whether the index may have changed since it was compared: a run was begun and not noted."""
        return self._meta("dirty") != "0"

    def begin(self) -> None:
        """Announce that the index is about to change."""
        self.changing = True
        self._set_meta("dirty", "1")

    def note(self, wanted: Iterable[tuple[str, int, Sequence[str]]]) -> None:
        """Take up all that the index holds, as (path, version, chunk ids) of every file.

        The chunks of a file of another version are told again: their lines may be others, though their texts are the same.
        """
        files = {path: (version, ids, _digest(version, ids)) for path, version, ids in wanted}
        with self._transaction():
            noted = dict(self._database.execute("SELECT path, digest FROM files"))
            changed = [path for path, (_, _, digest) in files.items() if noted.get(path) != digest]
            gone = noted.keys() - files.keys()
            self._database.executemany("INSERT INTO concerned VALUES (?)", ((path,) for path in (*changed, *gone)))
            self._list((chunk, path, files[path][0]) for path in changed for chunk in files[path][1])
            self._follow()
            self._database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", ((path, files[path][2]) for path in changed))
            self._database.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))
            self._database.execute("INSERT OR REPLACE INTO meta VALUES ('dirty', '0')")
        self.changing = False

    def forget(self) -> None:
        """Note that the store holds nothing, and that nothing is known of the index."""
        with self._transaction():
            self._database.execute("DELETE FROM files")
            self._database.execute("DELETE FROM held")
            self._database.execute("DELETE FROM pending")
            self._database.execute("INSERT OR REPLACE INTO meta VALUES ('dirty', '1')")

    def take(self, most: int, after: int = 0) -> list[Entry]:
        """Return the next entries, deletions and additions in the order in which they came."""
        with self._turn:
            rows = self._database.execute(
                "SELECT id, add_it, path, version, turn FROM pending WHERE turn > ? ORDER BY turn LIMIT ?", (after, most)
            ).fetchall()
        return [Entry(ChunkId(chunk), bool(add), path, version, turn) for chunk, add, path, version, turn in rows]

    def done(self, entries: Sequence[Entry]) -> None:
        """Note that the store did what these entries say. What was changed meanwhile stays to be done."""
        with self._transaction():
            for entry in entries:
                same = self._database.execute("DELETE FROM pending WHERE id = ? AND turn = ?", (entry.id, entry.turn)).rowcount
                if not entry.add:
                    self._database.execute("DELETE FROM held WHERE id = ?", (entry.id,))
                elif same:
                    self._database.execute("INSERT OR REPLACE INTO held VALUES (?, ?, ?)", (entry.id, entry.path, entry.version))

    def compare(self, kept: Iterable[Sequence[ChunkId]], *, mend: bool) -> Comparison:
        """Compare with all ids that the store keeps. With `mend`, what is missing is added and what is too much deleted."""
        with self._transaction():
            self._list((chunk, "", 0) for page in kept for chunk in page)
            count = self._database.execute("SELECT COUNT(*) FROM listed").fetchone()[0]
            missing = "SELECT id, path, version FROM held WHERE id NOT IN (SELECT id FROM listed)"
            orphans = "SELECT id, '', 0 FROM listed WHERE id NOT IN (SELECT id FROM held UNION ALL SELECT id FROM pending)"
            comparison = Comparison(
                count,
                self._database.execute(f"SELECT COUNT(*) FROM ({missing})").fetchone()[0],  # noqa: S608
                self._database.execute(f"SELECT COUNT(*) FROM ({orphans})").fetchone()[0],  # noqa: S608
            )
            if mend and comparison.missing:
                self._queue(f"SELECT id, path, version FROM ({missing}) WHERE id NOT IN (SELECT id FROM pending)", add=True)  # noqa: S608
                self._database.execute("DELETE FROM held WHERE id NOT IN (SELECT id FROM listed)")
            if mend and comparison.orphans:
                self._queue(orphans, add=False)
            if mend:
                self._database.execute("INSERT OR REPLACE INTO meta VALUES ('swept', ?)", (str(time.time()),))
        return comparison

    @property
    def swept_at(self) -> float:
        """Return when the store's ids were compared last, in Unix seconds; 0 for never."""
        return float(self._meta("swept") or 0)

    @property
    def held(self) -> int:
        """Count the chunks that the store holds."""
        with self._turn:
            return int(self._database.execute("SELECT COUNT(*) FROM held").fetchone()[0])

    def backlog(self) -> Backlog:
        """Return how much waits."""
        with self._turn:
            entries, oldest = self._database.execute("SELECT COUNT(*), MIN(at) FROM pending").fetchone()
        return Backlog(entries, oldest or 0.0)

    def pending_paths(self, most: int) -> list[str]:
        """Return the paths of chunks that the store doesn't hold yet, at most so many."""
        with self._turn:
            rows = self._database.execute("SELECT DISTINCT path FROM pending WHERE add_it LIMIT ?", (most,)).fetchall()
        return [path for (path,) in rows]

    # --- the turn is held

    def _list(self, rows: Iterable[tuple[str, str, int]]) -> None:
        self._database.executemany("INSERT OR IGNORE INTO listed VALUES (?, ?, ?)", rows)

    def _follow(self) -> None:
        """Have the queue be what leads from what the store holds of the files concerned to what is listed of them."""
        gone = "path IN (SELECT path FROM concerned) AND id NOT IN (SELECT id FROM listed)"
        deleted = "SELECT id, path, version FROM held WHERE {} AND id NOT IN (SELECT id FROM pending WHERE NOT add_it)"
        self._queue(deleted.format(gone), add=False)
        self._queue(f"SELECT id, path, version FROM pending WHERE add_it AND {gone}", add=False)  # noqa: S608 - it may have arrived
        same = "WHERE t.id = listed.id AND t.version = listed.version"
        self._queue(
            "SELECT id, path, version FROM listed WHERE EXISTS (SELECT 1 FROM pending t WHERE t.id = listed.id AND NOT add_it)"  # noqa: S608
            f" OR NOT EXISTS (SELECT 1 FROM held t {same}) AND NOT EXISTS (SELECT 1 FROM pending t {same} AND add_it)",
            add=True,
        )

    def _queue(self, select: str, *, add: bool) -> None:
        rows = self._database.execute(select).fetchall()
        (last,) = self._database.execute("SELECT COALESCE(MAX(turn), 0) FROM pending").fetchone()
        first = max(last, int(self._meta_held("turn") or 0)) + 1
        now = time.time()
        self._database.executemany(
            "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?)",
            ((chunk, add, path, version, now, turn) for turn, (chunk, path, version) in enumerate(rows, first)),
        )
        self._database.execute("INSERT OR REPLACE INTO meta VALUES ('turn', ?)", (str(first + len(rows)),))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._turn:
            try:
                self._database.executescript(_TEMPORARY)
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError(f"{self._file} can't be written ({error})", "Free some space, or delete it.") from None

    def _meta_held(self, key: str) -> str:
        row = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return "" if row is None else str(row[0])

    def _meta(self, key: str) -> str:
        with self._turn:
            return self._meta_held(key)

    def _set_meta(self, key: str, value: str) -> None:
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _digest(version: int, ids: Sequence[str]) -> bytes:
    """Name what a file holds: it may be cut anew without having changed."""
    return hashlib.blake2b("\0".join((str(version), *ids)).encode(), digest_size=12).digest()
