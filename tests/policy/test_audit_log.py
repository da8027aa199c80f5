"""The audit log in SQLite: what pruning leaves, several processes, and a disk that takes nothing."""

from __future__ import annotations

import contextlib
import multiprocessing
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from carrel.model.errors import StoreError
from carrel.model.ports import AuditEvent
from carrel.policy import audit_log
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


def test_entries_are_found_by_time_and_kind(path: Path) -> None:
    kept = filled(path)
    kept.record(AuditEvent("sent", 2_000.0, "ada", {}))
    assert [entry.event.details["n"] for entry in kept.entries(since=1_017.0, kind="search")] == [19, 18, 17]
    assert [entry.event.kind for entry in kept.entries(limit=2)] == ["sent", "search"]


@pytest.mark.parametrize(("limits", "days"), [(AuditLimits(days=1), 1), (AuditLimits(), 30)], ids=["set", "by default"])
def test_what_is_old_goes_and_is_counted(path: Path, limits: AuditLimits, days: int) -> None:
    filled(path)
    kept = log_at(path, lambda: limits, now=days * 86_400 + 1_010.0)
    kept.record(AuditEvent("tool", days * 86_400 + 1_010.0, "ada", {}))  # the first entry that a log writes prunes
    numbers = [entry.number for entry in kept.entries(kind="search")]
    pruned = [entry.event.details for entry in kept.entries(kind="pruned")]
    assert (min(numbers), sum(item["removed"] for item in pruned)) == (11, 10)


def test_a_file_that_is_too_large_loses_its_oldest_entries(path: Path) -> None:
    kept = log_at(path)
    for number in range(400):
        kept.record(AuditEvent("search", float(number), "ada", {"text": "x" * 2_000}))
    assert kept.flush()
    assert path.stat().st_size > 800_000
    kept = log_at(path, lambda: AuditLimits(max_bytes=300_000))
    kept.record(AuditEvent("tool", 400.0, "ada", {}))
    assert kept.flush()
    assert 100_000 < path.stat().st_size < 330_000
    assert kept.entries(kind="search")[0].event.at == 399.0


def _write(path: Path, count: int, name: str) -> None:
    kept = log_at(path)
    for number in range(count):
        kept.record(AuditEvent("search", float(number), name, {}))
        time.sleep(0.002)
    assert kept.flush(30)


def test_several_processes_write_one_log(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(path, 60, f"user {number}")) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    numbers = [entry.number for entry in SqliteAuditLog(path).entries()]
    assert numbers == list(range(180, 0, -1))


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


def test_a_damaged_file_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="can't be read"):
        SqliteAuditLog(path).entries()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_nobody_else_may_read_it(path: Path) -> None:
    filled(path, 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


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


CHAIN = (
    "ALTER TABLE entries ADD COLUMN hash BLOB NOT NULL DEFAULT x'00'",
    "CREATE TABLE checkpoints (number)",
    "CREATE TABLE head (id)",
    "CREATE TRIGGER entries_are_kept BEFORE UPDATE ON entries BEGIN SELECT 1; END",
    "CREATE TRIGGER entries_go_by_pruning BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'kept'); END",
)


@pytest.mark.parametrize("there", [CHAIN, CHAIN[:1], CHAIN[:3], CHAIN[1:], CHAIN[1:3]])
def test_a_file_whose_entries_had_hashes_keeps_them_whatever_of_the_chain_is_there(path: Path, there: Sequence[str]) -> None:
    filled(path, 2)
    with closing(sqlite3.connect(path)) as database:
        for statement in there:
            database.execute(statement)
    assert [entry.event.details["n"] for entry in filled(path, 1).entries()] == [0, 1, 0]
