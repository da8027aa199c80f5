"""Statuses, progress and questions while an index is made, and its cancel."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspError
from tests.shop import write_many


async def test_statuses_come_but_not_too_often(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 2_000, 100)  # more than a fast machine indexes between two statuses
    async with start(root) as client:
        began = time.perf_counter()
        await client.request("carrel/index", {})
        await client.wait_for("carrel/statusChanged", lambda status: status["state"] == "ready" and status["files"] == 2_000)
        seconds = time.perf_counter() - began
        statuses = [params for method, params in client.notifications if method == "carrel/statusChanged"]
        assert any(status["state"] == "indexing" for status in statuses)
        assert len(statuses) <= 10 * seconds + 3


async def test_a_cancelled_index_stops_at_once_and_keeps_what_it_finished(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 1500, 200)
    for path in root.rglob("*.py"):
        os.utime(path, (0, 1_000_000_000))  # what was written just now is read again by the next run
    async with start(root) as client:
        identity, index = client.send("carrel/index", {"workDoneToken": "t"})
        await client.wait_for("$/progress", lambda params: params["value"].get("message", "0").startswith(tuple("123456789")))
        client.cancel(identity)
        with pytest.raises(LspError) as caught:
            await asyncio.wait_for(index, 60)
        assert caught.value.code == -32800
        await client.wait_for("carrel/statusChanged", lambda status: status["unfinished"] > 0)
        stopped = await client.request("carrel/status", {})
        assert (stopped["complete"], stopped["files"] + stopped["unfinished"]) == (False, 1500)
        assert stopped["unfinished"] > 0 < stopped["files"]
    async with start(root) as client:  # the next server says so too
        again = await client.request("carrel/status", {})
        assert (again["complete"], again["unfinished"]) == (False, stopped["unfinished"])
        assert (await client.request("carrel/index", {"workDoneToken": "t"}))["failed"] == 0
        whole = await client.request("carrel/status", {})
        assert (whole["files"], whole["complete"], whole["unfinished"]) == (1500, True, 0)
        said = [params["value"].get("message", "") for method, params in client.notifications if method == "$/progress"]
        counts = [match.groups() for message in said if (match := re.match(r"(\d+)/(\d+) files", message))]
        assert {total for _, total in counts} == {"1500"}
        assert min(int(done) for done, _ in counts) >= stopped["files"]  # not every step is told


async def test_the_progress_bar_has_a_working_cancel_button(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 1500, 200)
    async with start(root, ragAutoIndex=True) as client:
        params = await client.wait_for("$/progress", lambda params: params["value"]["kind"] == "begin")
        client.notify("window/workDoneProgress/cancel", {"token": params["token"]})
        end = await client.wait_for("$/progress", lambda params: params["value"]["kind"] == "end")
        assert end["value"]["message"] == "stopped"


async def test_questions_are_answered_while_indexing(start: Start, tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 1500, 200)
    async with start(root) as client:
        _, index = client.send("carrel/index", {"workDoneToken": "t"})
        await client.wait_for("$/progress", lambda params: params["value"]["kind"] == "report")
        pack = await client.request("carrel/context", {"query": "function_3_3"})
        assert pack["state"] == "indexing"
        assert pack["pending"] > 0
        await index
