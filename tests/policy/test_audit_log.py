"""The audit log in SQLite: what a chain shows, what pruning leaves, several processes, and a disk that takes nothing."""

from __future__ import annotations

import contextlib
import multiprocessing
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from carrel.model.errors import StoreError
from carrel.model.ports import AuditEvent
from carrel.policy import audit_chain, audit_log
from carrel.policy.audit_chain import Head, Verification
from carrel.policy.audit_log import AuditLimits, SqliteAuditLog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "audit.sqlite"


def log_at(path: Path, limits: Callable[[], AuditLimits] = AuditLimits, now: float = 9_000.0) -> SqliteAuditLog:
    return SqliteAuditLog(path, limits, clock=lambda: now)


def filled(path: Path, count: int = 20, **more: Any) -> SqliteAuditLog:
    kept = log_at(path, **more)
    for number in range(count):
        kept.record(AuditEvent("search", 1_000.0 + number, "ada", {"n": number}))
    assert kept.flush()
    return kept


def change(path: Path, *statements: str) -> None:
    """Do what somebody does who may write the file, past its triggers."""
    with closing(sqlite3.connect(path)) as database, database:
        for name in ("entries_are_kept", "entries_go_by_pruning"):
            database.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            database.execute(statement)


def test_entries_are_found_by_time_and_kind(path: Path) -> None:
    kept = filled(path)
    kept.record(AuditEvent("sent", 2_000.0, "ada", {}))
    assert [entry.event.details["n"] for entry in kept.entries(since=1_017.0, kind="search")] == [19, 18, 17]
    assert [entry.event.kind for entry in kept.entries(limit=2)] == ["sent", "search"]


def test_a_log_that_nobody_touched_is_as_it_was_written(path: Path) -> None:
    found = filled(path).verify()
    assert (found.entries, found.head.number, found.problems) == (20, 20, ())
    assert Head.read(str(found.head)) == found.head


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE entries SET details = '{\"n\": 99}' WHERE number = 7", "Entry 7 isn't as it was written."),
        ("UPDATE entries SET user = 'eve' WHERE number = 7", "Entry 7 isn't as it was written."),
        ("DELETE FROM entries WHERE number = 7", "Entry 7 is missing."),
        ("DELETE FROM entries WHERE number BETWEEN 7 AND 9", "Entries 7 to 9 are missing."),
        ("DELETE FROM entries WHERE number > 15", "Entries 16 to 20 are missing."),
        ("DELETE FROM entries WHERE number < 5", "Entries 1 to 4 are missing."),
        (
            "INSERT INTO entries SELECT 21, at, kind, user, details, hash FROM entries WHERE number = 3",
            "Entry 21 isn't as it was written.",
        ),
    ],
)
def test_what_was_changed_is_named(path: Path, statement: str, problem: str) -> None:
    kept = filled(path)
    change(path, statement)
    assert problem in kept.verify().problems


def test_a_chain_made_anew_is_noticed_by_a_head_kept_elsewhere(path: Path, tmp_path: Path) -> None:
    known = filled(path).verify().head
    other = log_at(tmp_path / "other.sqlite")
    for number in range(20):
        other.record(AuditEvent("search", 1_000.0 + number, "ada", {"n": -number}))
    assert other.flush()
    assert other.verify().problems == ()
    assert other.verify(known).problems == ("Entry 20 is another one than that of the head that was given.",)
    short = filled(tmp_path / "short.sqlite", 5)
    assert short.verify(known).problems == ("The log ends at 5, before the head that was given (20).",)


def test_sql_alone_neither_changes_nor_deletes(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as database:
        for statement in ("UPDATE entries SET user = 'eve'", "DELETE FROM entries WHERE number = 20"):
            with pytest.raises(sqlite3.IntegrityError, match="audit log"):
                database.execute(statement)


def test_what_is_old_goes_and_leaves_a_checkpoint(path: Path) -> None:
    kept = filled(path, limits=lambda: AuditLimits(days=1), now=86_400 + 1_010.0)
    known = kept.verify().head
    kept.prune()
    numbers = [entry.number for entry in kept.entries(kind="search")]
    pruned = [entry.event.details for entry in kept.entries(kind="pruned")]
    assert (min(numbers), sum(item["removed"] for item in pruned)) == (11, 10)
    assert kept.verify().problems == kept.verify(known).problems == ()


def test_a_file_that_is_too_large_loses_its_oldest_entries(path: Path) -> None:
    limit = 10_000_000
    kept = log_at(path, lambda: AuditLimits(max_bytes=limit))
    for number in range(400):
        kept.record(AuditEvent("search", float(number), "ada", {"text": "x" * 2_000}))
    assert kept.flush()
    assert path.stat().st_size > 800_000
    limit = 300_000
    kept.prune()
    assert 100_000 < path.stat().st_size < 330_000
    assert kept.entries(kind="search")[0].event.at == 399.0
    assert kept.verify().problems == ()


def _write(path: Path, count: int, name: str) -> None:
    kept = log_at(path)
    for number in range(count):
        kept.record(AuditEvent("search", float(number), name, {}))
        time.sleep(0.002)
    assert kept.flush(30)


def test_several_processes_make_one_chain(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(path, 60, f"user {number}")) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    found = SqliteAuditLog(path).verify()
    assert (found.entries, found.problems) == (180, ())


def test_a_locked_file_is_told_and_nothing_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.policy.audit_log._RETRY_SECONDS", 0.05)
    kept = filled(path, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        kept.record(AuditEvent("search", 5_000.0, "ada", {}))
        wait_until(lambda: kept.problem)
        assert "locked" in (kept.problem or "")
        database.execute("COMMIT")
    wait_until(lambda: kept.problem is None)
    assert kept.entries()[0].event.at == 5_000.0


def test_what_waits_too_long_is_counted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.policy.audit_log._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("carrel.policy.audit_log._MOST_WAITING", 3)
    path.parent.mkdir(parents=True)
    path.mkdir()  # a folder in its place can't be written, whoever one is
    kept = log_at(path)
    for number in range(5):
        kept.record(AuditEvent("search", float(number), "ada", {}))
        wait_until(lambda: kept.problem)
    path.rmdir()
    wait_until(lambda: kept.problem is None)
    assert [(entry.event.kind, dict(entry.event.details)) for entry in kept.entries(kind="gap")] == [
        ("gap", {"lost": 2, "kinds": {"search": 2}})
    ]
    assert [entry.event.at for entry in kept.entries(kind="search")] == [4.0, 3.0, 2.0]


def test_long_entries_that_wait_take_no_more_memory_than_they_may(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.policy.audit_log._RETRY_SECONDS", 0.05)
    monkeypatch.setattr("carrel.policy.audit_log._MOST_WAITING_CHARACTERS", 10_000)
    path.parent.mkdir(parents=True)
    path.mkdir()
    kept = log_at(path)
    for number in range(30):
        kept.record(AuditEvent("tool" if number % 2 else "search", float(number), "ada", {"text": "x" * 1_000}))
    wait_until(lambda: kept.problem)
    path.rmdir()
    wait_until(lambda: kept.problem is None)
    (gap,) = kept.entries(kind="gap")
    left = 30 - gap.event.details["lost"]
    assert 8 <= left < 10
    assert sum(gap.event.details["kinds"].values()) == 30 - left
    assert set(gap.event.details["kinds"]) == {"search", "tool"}
    newest = [entry.event.at for entry in kept.entries() if entry.event.kind != "gap"]
    assert newest == [float(number) for number in range(29, 29 - left, -1)]


def test_a_file_is_pruned_by_what_was_written_not_only_by_the_clock(path: Path) -> None:
    kept = log_at(path, lambda: AuditLimits(days=30, max_bytes=200_000))
    for number in range(20):
        kept.record(AuditEvent("search", 8_000.0 + number, "ada", {"text": "x" * 50_000}))
        assert kept.flush()
    assert path.stat().st_size < 400_000, "a megabyte was written within a second"
    assert kept.verify().problems == ()


def test_a_damaged_file_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="can't be read"):
        SqliteAuditLog(path).entries()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_nobody_else_may_read_it(path: Path) -> None:
    filled(path, 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_is_gone_is_noticed_by_a_known_head(path: Path) -> None:
    known = filled(path).verify().head
    path.unlink()
    kept = SqliteAuditLog(path)
    assert kept.verify(known).problems == ("The log is gone.",)
    assert kept.verify() == Verification(0, Head(0, bytes(32)), ())


def test_what_is_written_during_a_check_is_no_break_in_the_chain(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, other = filled(path), log_at(path)
    entries = audit_chain._entries

    def slow(database: sqlite3.Connection) -> Iterator[Any]:
        yield from entries(database)
        other.record(AuditEvent("search", 2_000.0, "bob", {}))
        other.flush(4)

    monkeypatch.setattr(audit_chain, "_entries", slow)
    assert kept.verify().problems == ()


class _NoVacuum:
    """A database that another process holds from the moment that entries are written."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def executescript(self, _: str) -> None:
        raise sqlite3.OperationalError("database is locked")


def test_entries_are_written_once_where_the_file_cannot_be_made_smaller(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = audit_log._opened

    @contextlib.contextmanager
    def held(at: Path) -> Iterator[Any]:
        with opened(at) as database:
            yield _NoVacuum(database)

    monkeypatch.setattr(audit_log, "_opened", held)
    monkeypatch.setattr(audit_log, "_RETRY_SECONDS", 0.05)
    kept = filled(path, 3, limits=lambda: AuditLimits(days=1e6))
    assert [entry.event.details["n"] for entry in kept.entries()] == [2, 1, 0]
    assert kept.problem is None
