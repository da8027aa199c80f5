"""Several servers, killed servers, disks that say no."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.e2e.test_changes import eventually
from tests.lsp_client import LspClient, LspError
from tests.shop import write_many
from tests.waiting import until

KILLS = int(os.environ.get("CARREL_TEST_KILLS", "5"))


async def roles(*clients: LspClient) -> list[str]:
    return [(await client.request("carrel/status", {}))["role"] for client in clients]


async def until_ready(client: LspClient) -> None:
    """Wait until nothing is being indexed: the watcher may index a folder once more after a request has."""

    async def ready() -> bool:
        state = (await client.request("carrel/status", {}))["state"]
        assert state in ("indexing", "ready")
        return bool(state == "ready")

    await until(ready)


async def test_one_writes_the_other_follows_and_takes_over(
    start: Start, env: dict[str, str], options: dict[str, Any], project: Path
) -> None:
    first = await LspClient.spawn(env=env)
    await first.initialize(project, options=options)
    await first.request("carrel/index", {})
    async with start(project) as second:
        assert paths(await second.request("carrel/search", {"query": "authenticate user", "limit": 1})) == ["src/auth.py"]
        assert await roles(first, second) == ["writer", "follower"]

        new = project / "src/lynx.py"
        new.write_text("def lynx_watch(forest):\n    # the lynx watches the forest at night\n    return forest.look()\n")
        first.open(new, new.read_text())
        first.save(new)
        await eventually(second, "lynx_watch", ["src/lynx.py"])
        assert (await second.request("carrel/index", {}))["unchanged"] == 6

        first.process.send_signal(signal.SIGKILL)
        await first.kill()
        await second.wait_for("carrel/statusChanged", lambda status: status["role"] == "writer")
        new.unlink()
        await second.request("carrel/index", {})
        await eventually(second, "lynx_watch", [])


async def test_a_follower_shows_its_own_unsaved_buffers(start: Start, project: Path) -> None:
    async with start(project) as first, start(project) as second:
        await first.request("carrel/index", {})
        await second.request("carrel/search", {"query": "order"})
        path = project / "src/orders.py"
        second.open(path, path.read_text())
        second.change(path, "def ibex_climb(wall):\n    # an ibex climbs nearly any wall\n    return wall.height > 0\n")
        await eventually(second, "ibex_climb", ["src/orders.py"])
        await eventually(first, "ibex_climb", [])


@pytest.mark.timeout(600 + 10 * KILLS)
async def test_kills_in_mid_index_lose_nothing(env: dict[str, str], options: dict[str, Any], tmp_path: Path) -> None:
    root = tmp_path / "big"
    write_many(root, 600, 100)
    dice = random.Random(7)  # noqa: S311 - moments of death, the same in every run
    counts: list[int] = []
    for _ in range(KILLS):
        client = await LspClient.spawn(env=env)
        await client.initialize(root, options=options)
        client.send("carrel/index", {"workDoneToken": "t"})
        await client.wait_for("$/progress")
        await asyncio.sleep(dice.random() * 0.3)
        os.kill(client.process.pid, signal.SIGKILL)
        await client.kill()
        (root / f"package0/extra{len(counts)}.py").write_text(
            f"def extra_{len(counts)}(value):\n    # written between two kills\n    return value\n"
        )
        counts.append(0)
    client = await LspClient.spawn(env=env)
    await client.initialize(root, options=options)
    report = await client.request("carrel/index", {})
    await until_ready(client)
    status = await client.request("carrel/status", {})
    assert (status["files"], report["failed"]) == (600 + KILLS, 0)
    assert paths(await client.request("carrel/search", {"query": f"extra_{KILLS - 1}", "limit": 1})) == [
        f"package0/extra{KILLS - 1}.py"
    ]
    assert (await client.request("carrel/index", {}))["unchanged"] == 600 + KILLS
    await client.stop()
    await client.kill()


async def test_a_cache_that_cannot_be_written_means_an_index_for_this_process(
    start: Start, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    async with start(project) as client:
        assert paths(await client.request("carrel/search", {"query": "authenticate user", "limit": 1})) == ["src/auth.py"]
        status = await client.request("carrel/status", {})
        assert any("until this process ends" in problem for problem in status["problems"])


async def test_a_folder_that_disappears_keeps_its_index(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        project.rename(tmp_path / "elsewhere")  # noqa: ASYNC240
        with pytest.raises(LspError) as caught:
            await client.request("carrel/index", {})
        assert "is gone" in caught.value.message
        pack = await client.request("carrel/context", {"query": "authenticate user"})
        assert pack["text"] == ""
        (tmp_path / "elsewhere").rename(project)
        assert (await client.request("carrel/index", {}))["unchanged"] == 5
        await until_ready(client)


async def test_an_index_deleted_under_the_server_is_made_again(start: Start, project: Path, tmp_path: Path) -> None:
    async with start(project) as client:
        await client.request("carrel/index", {})
        shutil.rmtree(tmp_path / "cache")
        (project / "src/extra.py").write_text(
            "def heron_stand(leg):\n    # herons stand on one leg for hours\n    return leg == 1\n"
        )
        for _ in range(3):
            try:
                await client.request("carrel/index", {})
                break
            except LspError:
                continue
        await eventually(client, "heron_stand", ["src/extra.py"])
