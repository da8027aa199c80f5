"""Two versions of Carrel on one index at the same time."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspError

from carrel.model.native import FORMAT_VERSION

QUESTION = {"query": "how is a login checked"}


async def test_a_follower_leaves_an_index_that_a_newer_writer_took_over(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as writer:
        await writer.request("carrel/index", {})
        async with start(project) as follower:
            expected = (await follower.request("carrel/search", QUESTION))["hits"]
            [database] = (tmp_path / "cache").glob("indexes/*/index.db")
            with contextlib.closing(sqlite3.connect(database)) as connection, connection:
                connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
            (project / "late.py").write_text("def late_arrival():\n    return 'after the upgrade'\n")
            await writer.request("carrel/index", {})
            with pytest.raises(LspError, match="update Carrel, or run `carrel clear`"):
                await follower.request("carrel/index", {})
            assert (await follower.request("carrel/search", QUESTION))["hits"] == expected, "what it knows answers on"
            with contextlib.closing(sqlite3.connect(database)) as connection:
                assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION + 1,)
