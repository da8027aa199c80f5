"""An audit log in SQLite: appended by a thread of its own, in batches, by any number of processes.

What wasn't written when a process is killed is lost: at most the entries of the last `_GATHER_SECONDS` and of a write that was
under way.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from carrel.model.errors import StoreError
from carrel.model.ports import AuditEvent
from carrel.system.filesystem import private_file, private_folder

log = logging.getLogger(__name__)

_GATHER_SECONDS = 0.25
"""How long entries are gathered before they are written: a transaction costs a flush of the disk."""
_MOST_WAITING = 10_000
"""Entries that wait for a disk that is full or a file that is locked; the oldest go first."""
_MOST_WAITING_CHARACTERS = 20_000_000
"""Of their details; with texts, a few entries may be long."""
_RETRY_SECONDS = 5.0
_PRUNE_SECONDS = 600.0
_PRUNE_SHARE = 0.1
"""Of the limit of bytes: so much was written since the last pruning that the next one isn't waited for."""
_PRUNED_TO = 0.8
"""Of the limit of bytes: whoever is at the limit isn't pruned at every batch."""
_LONGEST_DETAILS = 262_144
"""Characters of an entry's details."""

_SCHEMA = """
PRAGMA auto_vacuum = INCREMENTAL;
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, user TEXT NOT NULL, details TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_at ON entries (at);
"""
_CHAIN = (
    "DROP TRIGGER IF EXISTS entries_are_kept",
    "DROP TRIGGER IF EXISTS entries_go_by_pruning",
    "DROP TABLE IF EXISTS checkpoints",
    "DROP TABLE IF EXISTS head",
)
"""Take the chain of hashes out of a file of before. A Carrel of before that still runs makes some of it anew."""


class AuditLimits(Struct, frozen=True):
    """How long entries are kept (days), and how large the file may get (bytes)."""

    days: float = 30.0
    max_bytes: int = 50_000_000


class AuditEntry(Struct, frozen=True):
    """An event as it is kept."""

    number: int
    event: AuditEvent


class _Entry(Struct, frozen=True):
    """An event as it is written, of a bounded length."""

    kind: str
    at: float
    user: str
    details: str

    @classmethod
    def of(cls, event: AuditEvent) -> _Entry:
        at = event.at if math.isfinite(event.at) else 0.0
        return cls(_plain(event.kind), at, _plain(event.user), _details(event.details))


class _Queue:
    """Entries that wait, no more than fit; what had to go is counted by kind."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._characters = 0
        self._lost: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._characters += len(entry.details)
        self._trim()

    def take(self) -> tuple[list[_Entry], Counter[str]]:
        """Give all that waits, and what was lost before."""
        taken = list(self._entries), self._lost
        self._entries, self._characters, self._lost = deque(), 0, Counter()
        return taken

    def give_back(self, entries: Sequence[_Entry], lost: Counter[str]) -> None:
        """Take again what could not be written; it is older than what came meanwhile."""
        self._entries.extendleft(reversed(entries))
        self._characters += sum(len(entry.details) for entry in entries)
        self._lost += lost
        self._trim()

    def _trim(self) -> None:
        while len(self._entries) > _MOST_WAITING or self._characters > _MOST_WAITING_CHARACTERS:
            gone = self._entries.popleft()
            self._characters -= len(gone.details)
            self._lost[gone.kind] += 1


class SqliteAuditLog:
    """Keeps events in a file, for all processes of a user."""

    def __init__(
        self, path: Path, limits: Callable[[], AuditLimits] = AuditLimits, *, clock: Callable[[], float] = time.time
    ) -> None:
        """Take `limits` as a function: a change of settings counts at the next pruning. The first event opens the file."""
        self._path = path
        self._limits = limits
        self._clock = clock
        self._waiting = _Queue()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._writing = False
        self._hurry = False
        self._pruned_at = -math.inf
        self._written = 0
        """Characters since then."""
        self.problem: str | None = None
        """Why nothing can be written at the moment, in words for a person."""

    def record(self, event: AuditEvent) -> None:
        """Take an event; a thread writes it. Never raises, never waits for a disk."""
        entry = _Entry.of(event)  # bounded at once, and later changes of what it was made of don't count
        with self._changed:
            self._waiting.add(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="carrel-audit", daemon=True)
                self._thread.start()
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def flush(self, seconds: float = 2.0) -> bool:
        """Have what was recorded written now; tell whether it was, within so many seconds."""
        end = time.monotonic() + seconds
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while (self._waiting or self._writing) and self._thread is not None:
                left = end - time.monotonic()
                if left <= 0 or (self.problem and not self._writing):
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._hurry = False
                while not self._waiting:
                    self._changed.wait()
                    self._hurry = False
                self._changed.wait_for(lambda: self._hurry, _RETRY_SECONDS if self.problem else _GATHER_SECONDS)
                batch, lost = self._waiting.take()
                self._writing = True
            failed: str | None = None
            try:
                self._write(batch, lost)
            except Exception as error:  # mostly OSError or sqlite3.Error; whatever it is, the thread goes on
                failed = f"The audit log {self._path} can't be written: {error}."
                if self.problem is None:
                    log.warning("%s Entries wait in memory.", failed)
            with self._changed:
                self.problem = failed
                if failed:
                    self._waiting.give_back(batch, lost)
                self._writing = False
                self._changed.notify_all()

    def _write(self, batch: Sequence[_Entry], lost: Counter[str]) -> None:
        with _opened(self._path) as database:
            database.execute("BEGIN IMMEDIATE")
            if lost:
                user = batch[0].user if batch else ""
                details = {"lost": lost.total(), "kinds": dict(lost)}
                _append(database, [_Entry.of(AuditEvent("gap", self._clock(), user, details))])
            _append(database, batch)
            limits, written = self._limits(), self._written + sum(len(entry.details) for entry in batch)
            due = time.monotonic() - self._pruned_at > _PRUNE_SECONDS or written > _PRUNE_SHARE * limits.max_bytes
            if due:
                _prune(database, limits, self._clock())
            database.execute("COMMIT")
            self._written = 0 if due else written
            if due:
                self._pruned_at = time.monotonic()
                with contextlib.suppress(sqlite3.Error):  # the entries are written: a failure must not have them written again
                    database.executescript("PRAGMA incremental_vacuum")  # `execute` takes one page only

    def entries(self, *, since: float | None = None, kind: str | None = None, limit: int | None = None) -> list[AuditEntry]:
        """Return the newest entries, the newest first; `since` is in Unix seconds. Raises `StoreError`."""
        self.flush()
        where = [("at >= ?", since), ("kind = ?", kind)]
        conditions = [(clause, value) for clause, value in where if value is not None]
        clauses = " AND ".join(clause for clause, _ in conditions) or "1"
        sql = f"SELECT number, at, kind, user, details FROM entries WHERE {clauses} ORDER BY number DESC LIMIT ?"  # noqa: S608 - fixed texts
        if not self._path.exists():
            return []
        with _reading(self._path), _opened(self._path) as database:
            rows = database.execute(sql, (*(value for _, value in conditions), -1 if limit is None else limit)).fetchall()
        return [AuditEntry(row[0], AuditEvent(row[2], row[1], row[3], json.loads(row[4]))) for row in rows]


def _append(database: sqlite3.Connection, entries: Iterable[_Entry]) -> None:
    rows = [(entry.at, entry.kind, entry.user, entry.details) for entry in entries]
    database.executemany("INSERT INTO entries VALUES (NULL, ?, ?, ?, ?)", rows)


def _prune(database: sqlite3.Connection, limits: AuditLimits, now: float) -> None:
    """Drop entries that are too old, and the oldest of a file that is too large; an entry says so."""
    oldest = now - limits.days * 86_400
    # Clocks go back at times: only what stands before the first entry that is young enough is too old.
    young = database.execute("SELECT MIN(number) FROM entries WHERE at >= ?", (oldest,)).fetchone()[0]
    newest, count = database.execute("SELECT COALESCE(MAX(number), 0), COUNT(*) FROM entries").fetchone()
    last = newest if young is None else young - 1
    used = _bytes(database)
    if used > limits.max_bytes:
        last = max(last, newest - int(count * limits.max_bytes * _PRUNED_TO / used))
    row = database.execute("SELECT user FROM entries WHERE number = ?", (last,)).fetchone()
    if row is None:
        return
    removed = database.execute("DELETE FROM entries WHERE number <= ?", (last,)).rowcount
    database.execute(  # with the next number, also where none is left
        "INSERT INTO entries VALUES (?, ?, 'pruned', ?, ?)",
        (newest + 1, now, row[0], json.dumps({"until": last, "removed": removed})),
    )


def _bytes(database: sqlite3.Connection) -> int:
    [pages, free, size] = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _details(details: Any) -> str:
    encode = partial(json.dumps, separators=(",", ":"), default=lambda value: f"({type(value).__name__})", allow_nan=False)
    try:
        try:
            text = encode(details)
        except (TypeError, ValueError):  # seldom: numbers that aren't finite, keys that aren't text
            text = encode(_finite(details))
    except (TypeError, ValueError, RecursionError) as error:  # what can't be kept says so, and the others are kept
        return json.dumps({"unreadable": type(error).__name__})
    return text if len(text) <= _LONGEST_DETAILS else json.dumps({"too_long": len(text)})


def _finite(value: Any) -> Any:
    """Return the value as JSON can hold it: numbers that aren't finite as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, ValueError) as error:
        raise StoreError(
            f"The audit log {path} can't be read ({error})", "Mend it, or move it away: a new one is begun."
        ) from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file, only for the person's own eyes where the system has such rights."""
    private_folder(path.parent)
    private_file(path)
    with contextlib.closing(sqlite3.connect(path, timeout=2.0, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = NORMAL")
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "checkpoints" in names or "hash" in _columns(database):
            _without_chain(database)
        if "entries_at" not in names:
            database.executescript(_SCHEMA)
        yield database


def _columns(database: sqlite3.Connection) -> set[str]:
    return {name for _, name, *_ in database.execute("PRAGMA table_info(entries)")}


def _without_chain(database: sqlite3.Connection) -> None:
    """Make a file whose entries had a hash each one of now, whatever of it is there: others may do so at the same moment."""
    database.execute("BEGIN IMMEDIATE")
    for statement in _CHAIN:
        database.execute(statement)
    if "hash" in _columns(database):
        database.execute("ALTER TABLE entries DROP COLUMN hash")
    database.execute("COMMIT")
