"""An index that another version of Carrel made: built again, or left as it is with a reason; nothing of the project is lost."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

from carrel.model.native import FORMAT_VERSION
from carrel.system.filesystem import locked

USABLE = (4, 5, 6)
"""Formats of before that answer until they are built again."""


@pytest.fixture
def database(run: Run, project: Path, tmp_path: Path) -> Path:
    assert run("index", str(project))[0] == 0
    [database] = (tmp_path / "cache").rglob("index.db")
    return database


def set_format(database: Path, version: int) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {version}")


def format_of(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("version", range(FORMAT_VERSION))
def test_an_older_index_is_built_again_with_a_line_that_says_so(run: Run, database: Path, version: int) -> None:
    set_format(database, version)
    code, out, err = run("index")
    assert code == 0
    if version in USABLE:
        assert "This index was made by an older version of Carrel. It answers as before until it is rebuilt" in err
        assert "2 changed" in out
    else:
        assert f"{database}: the index has the older format {version}; it is built again\n" in err
        assert "2 added" in out
    assert format_of(database) == FORMAT_VERSION
    assert "older" not in run("index")[2]
    assert "auth.py" in run("search", "verify password")[1]


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 9_999])
@pytest.mark.parametrize("command", [("index",), ("index", "--force"), ("search", "password"), ("files", "password")])
def test_a_newer_index_is_left_as_it_is(run: Run, database: Path, version: int, command: tuple[str, ...]) -> None:
    set_format(database, version)
    before = {file.name: file.read_bytes() for file in database.parent.glob("*.*")}
    code, out, err = run(*command)
    why = f"the index in {database.parent} has format {version}, this Carrel reads up to {FORMAT_VERSION}"
    assert (code, out, err.strip()) == (1, "", f"carrel: {why}: update Carrel, or run `carrel clear`")
    assert "Update Carrel, or run `carrel clear`" in run("doctor")[1]
    assert {file.name: file.read_bytes() for file in database.parent.glob("*.*")} == before


def test_the_remedy_for_a_newer_index_is_one(run: Run, database: Path) -> None:
    set_format(database, FORMAT_VERSION + 1)
    assert one_json(run("clear", "--json")[1])["freedBytes"] > 0
    code, out, _ = run("index")
    assert (code, "2 added" in out) == (0, True)


def test_a_newer_index_that_is_being_written_is_not_cleared(run: Run, database: Path) -> None:
    set_format(database, FORMAT_VERSION + 1)
    with locked(database.with_name("writer.lock"), 0):  # as its writer holds it
        code, out, err = run("clear")
    assert (code, out) == (1, "")
    assert "A newer Carrel is writing the index in" in err
    assert database.exists()


def test_a_damaged_index_is_built_again_with_a_line_that_says_so(run: Run, database: Path) -> None:
    database.write_bytes(b"no database" * 1_000)
    code, out, err = run("index")
    assert (code, "2 added" in out) == (0, True)
    assert f"{database}: the index database was damaged; it was moved to {database}.damaged and the index is built again" in err
    assert "auth.py" in run("search", "verify password")[1]
