"""What a person must act on is shown once: by the answer to what they asked, else by a message."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError

from carrel.frontends.lsp.progress import ANSWER_SECONDS


def messages(client: LspClient) -> list[Any]:
    return [params for method, params in client.notifications if method == "window/showMessage"]


@pytest.fixture
async def newer(start: Start, project: Path, tmp_path: Path) -> None:
    """The project's index as a later version of Carrel might leave it."""
    async with start(project) as client:
        await client.request("carrel/index", {})
    [database] = (tmp_path / "cache").glob("indexes/*/index.db")
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()


@pytest.mark.usefixtures("newer")
async def test_an_index_of_a_newer_format_is_told_once(start: Start, project: Path) -> None:
    async with start(project) as client:
        message = await client.wait_for("window/showMessage")  # the folder opened by itself: nobody asked
        assert message["type"] == 1
        assert "update Carrel" in message["message"]
        for _ in range(3):
            assert (await client.request("carrel/augment", {"text": "authenticate user"}))["text"] == "authenticate user"
            await client.request("carrel/status", {})
        await asyncio.sleep(2 * ANSWER_SECONDS)
        assert len(messages(client)) == 1


@pytest.mark.usefixtures("newer")
async def test_what_an_answer_says_is_not_shown_beside_it(start: Start, project: Path) -> None:
    async with start(project, ragEnabled=False) as client:
        with pytest.raises(LspError, match="update Carrel"):
            await client.request("carrel/search", {"query": "authenticate user"})
        await client.request("carrel/status", {})
        await asyncio.sleep(2 * ANSWER_SECONDS)
        assert messages(client) == []


async def test_an_index_that_cannot_be_kept_is_told(start: Start, project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder\n")
    async with start(project, cacheFolder=str(tmp_path / "file" / "cache")) as client:
        assert (await client.request("carrel/search", {"query": "authenticate user"}))["hits"]
        message = await client.wait_for("window/showMessage")
        assert "kept only until this process ends" in message["message"]
        await client.request("carrel/index", {"force": True})
        await asyncio.sleep(2 * ANSWER_SECONDS)
        assert len(messages(client)) == 1


async def test_an_index_that_cannot_be_kept_leaves_nothing_behind(
    start: Start, env: dict[str, str], project: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder\n")
    (temporary := tmp_path / "temporary").mkdir()
    env.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))
    async with start(project, cacheFolder=str(tmp_path / "file" / "cache")) as client:
        assert (await client.request("carrel/search", {"query": "authenticate user"}))["hits"]
        assert list(temporary.glob("carrel-*/index.db"))
    assert not list(temporary.iterdir())
