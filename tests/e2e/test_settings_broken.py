"""Settings that can't be read: nothing is read or sent that they may have left out, and no chat is broken by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspError

from carrel.frontends.common.uris import path_to_uri

BROKEN, GOOD = 'exclude = ["auth.py"\nx', 'exclude = ["auth.py"]\n'


def changed(path: Path) -> dict[str, Any]:
    return {"changes": [{"uri": path_to_uri(str(path)), "type": 2}]}


async def test_a_folder_whose_settings_were_never_readable_gives_nothing(start: Start, project: Path) -> None:
    (project / ".carrel.toml").write_text(BROKEN)
    async with start(project, ragAutoIndex=True) as client:
        augmented = await client.request("carrel/augment", {"text": "authenticate user", "trigger": "explicit"})
        assert augmented["text"] == "authenticate user"
        assert ".carrel.toml" in augmented["pack"]["error"]
        for method, params in (("carrel/index", {}), ("carrel/search", {"query": "authenticate user"})):
            with pytest.raises(LspError, match=r"\.carrel\.toml can't be read: .*line 2"):
                await client.request(method, params)
        status = await client.request("carrel/status", {})
        assert (status["state"], status["files"]) == ("error", 0)
        assert ".carrel.toml" in status["error"]
        # Mended, it counts at the next question, whoever watches the disk.
        (project / ".carrel.toml").write_text(GOOD)
        found = await client.request("carrel/search", {"query": "authenticate user, price of orders", "limit": 20})
        assert found["hits"]
        assert "src/auth.py" not in paths(found)


async def test_settings_that_break_later_leave_the_last_good_ones(start: Start, project: Path) -> None:
    (project / ".carrel.toml").write_text(GOOD)
    async with start(project) as client:
        await client.request("carrel/index", {})
        (project / ".carrel.toml").write_text(BROKEN)
        client.notify("workspace/didChangeWatchedFiles", changed(project / ".carrel.toml"))
        await client.request("carrel/index", {"force": True})
        found = await client.request("carrel/search", {"query": "authenticate user, price of orders", "limit": 20})
        assert found["hits"]
        assert "src/auth.py" not in paths(found)
        [problem] = (await client.request("carrel/status", {}))["problems"]
        assert ".carrel.toml can't be read" in problem
        assert "settings from before count" in problem
