"""A process that publishes vectors is killed at random moments; what the store has agrees with the index afterwards.

`CARREL_TEST_KILLS` says how many times each.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.contract import qdrant_server
from tests.support import publisher

ROUNDS = int(os.environ.get("CARREL_TEST_KILLS", "8")) // 2
COLLECTION = f"carrel-kill-{os.getpid()}"


def lancedb() -> dict[str, Any]:
    pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
    return {"kind": "lancedb"}


def qdrant() -> dict[str, Any]:
    pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")
    return {"kind": "qdrant", "url": qdrant_server.server_url(), "collection": COLLECTION}


def started(root: Path, cache: Path, store: dict[str, Any], seed: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(publisher.__file__), str(root), str(cache), json.dumps(store), seed]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "project").mkdir()
    return tmp_path / "project", tmp_path / "cache"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("store", [lancedb, qdrant])
def test_nothing_is_lost_and_nothing_left_behind(folders: tuple[Path, Path], store: Any) -> None:
    root, cache = folders
    settings, chosen = store(), random.Random(7)  # noqa: S311 - not for secrets
    for number in range(ROUNDS):
        process = started(root, cache, settings, str(number))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):  # it goes on until it is killed
            process.wait(chosen.uniform(0.05, 1.5))
        process.kill()
        process.communicate()
    process = started(root, cache, settings, "end")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    found = json.loads(said.splitlines()[-1])
    assert found["same"]
    assert found["equal"]
    assert found["chunks"] > 20
