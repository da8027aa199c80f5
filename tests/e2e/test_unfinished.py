"""An index whose first run was killed says so until a run over all files has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lsp_client import LspClient
from tests.shop import write_many
from tests.waiting import wait_until

FILES = 3_000
DEADLINE_S = 120.0


def carrel(env: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "carrel", *arguments]
    done = subprocess.run(command, env={**os.environ, **env}, stdout=subprocess.PIPE, check=False, timeout=DEADLINE_S)
    return done.stdout.decode()


@pytest.fixture
def killed(tmp_path: Path, env: dict[str, str]) -> Path:
    """A folder whose first `carrel index` was killed when it had committed some files."""
    root = tmp_path / "big"
    write_many(root, FILES, 100)
    command = [sys.executable, "-m", "carrel", "index", str(root)]
    process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # The second segment is committed when the third is begun.
    wait_until(lambda: len(list((tmp_path / "home").rglob("*.seg"))) >= 3 or process.poll() is not None)
    assert process.poll() is None, "it ended before it could be killed"
    process.kill()
    process.wait()
    return root


async def test_an_index_whose_first_run_was_killed_is_unfinished(killed: Path, env: dict[str, str]) -> None:
    status: dict[str, Any] = json.loads(carrel(env, "status", str(killed), "--json"))
    assert not status["complete"]
    assert 0 < status["files"] < FILES
    assert status["files"] + status["unfinished"] == FILES
    told = f"unfinished: {status['files']:,} of {status['files'] + status['unfinished']:,} files are in the index"
    shown = carrel(env, "status", str(killed))
    assert shown.startswith("unfinished: ")
    assert told in shown
    findings = json.loads(carrel(env, "doctor", str(killed), "--json"))["findings"]
    assert [finding["level"] for finding in findings if told in finding["detail"]] == ["warning"]
    async with LspClient.started(killed, options={"ragEnabled": False, "ragAutoIndex": False}, env=env) as client:
        again = await client.request("carrel/status", {})
        assert (again["complete"], again["unfinished"]) == (False, status["unfinished"])
        chat = await client.request("carrel/search", {"query": "function_1_1", "waitMs": 0})
        assert "The index is unfinished: " in chat["plan"]["problem"]
        pack = await client.request("carrel/context", {"query": "function_1_1", "trigger": "explicit", "waitMs": 0})
        assert "The index is unfinished: " in pack["error"]
        await client.request("carrel/index", {})
        whole = await client.request("carrel/status", {})
        assert (whole["files"], whole["complete"], whole["unfinished"]) == (FILES, True, 0)
        found = await client.request("carrel/search", {"query": "function_1_1"})
        assert "problem" not in found["plan"]
    assert carrel(env, "status", str(killed)).startswith(f"ready: {FILES:,} files")
