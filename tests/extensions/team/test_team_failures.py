"""A team's place that fails, is slow or lacks something: never in an index run's way."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.contract import qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")


from tests.extensions.team.common import SECRET, TEXTS, Developer, Memory, outbound

from carrel.extensions.team.team_cache import TeamSeal, TeamStatus
from carrel.extensions.team.values import FolderValues, QdrantValues
from carrel.model.errors import ProviderError, StoreError
from carrel.model.outbound import Secret


@pytest.mark.parametrize("how", ["gone", "hangs"])
async def test_a_place_that_fails_costs_one_deadline_and_is_told(tmp_path: Path, how: str) -> None:
    values = Memory()
    developer = Developer(tmp_path, values)
    await developer.vectors(["before"])
    values.error = ProviderError("The place is gone", "Start it.") if how == "gone" else None
    values.hangs = how == "hangs"
    asked = values.asked
    for number in range(20):
        await developer.vectors([f"text {number}"])
    assert values.asked == asked + 1, "it is left alone after one failure"
    assert developer.model.problem
    status = await developer.status()
    assert (status.state, status.waiting) == ("unreachable", 20)
    developer.now = 9.0
    await developer.vectors(["9"])
    assert values.asked == asked + 1
    developer.now = 11.0
    await developer.vectors(["11"])
    assert values.asked == asked + 2
    values.error, values.hangs, developer.now = None, False, 1_000.0
    await developer.vectors(["back"])
    assert developer.model.problem is None
    status = await developer.status()
    assert (status.state, status.waiting, status.shared) == ("ready", 0, 24)
    other = Developer(tmp_path / "other", values)
    await other.vectors([f"text {number}" for number in range(20)])
    assert other.service.asked == []


async def test_each_request_of_a_batch_has_a_deadline_of_its_own(tmp_path: Path) -> None:
    values, texts = Memory(), [f"text {number}" for number in range(1_200)]
    first, second = Developer(tmp_path / "1", values), Developer(tmp_path / "2", values)
    for developer in (first, second):
        developer.team._read_seconds = developer.team._write_seconds = 0.5
    values.seconds = 0.05  # 12 requests take more than one may
    await first.vectors(texts)
    assert (await first.status()).shared == 1_200
    await second.vectors(texts)
    assert second.service.asked == []


async def test_a_batch_has_its_time_and_what_was_found_in_it_counts(tmp_path: Path) -> None:
    values, texts = Memory(), [f"text {number}" for number in range(1_200)]
    await Developer(tmp_path / "1", values).vectors(texts)
    slow = Developer(tmp_path / "2", values)

    def meet() -> None:
        slow.now += 2.0

    values.meet = meet
    await slow.vectors(texts)
    status = await slow.status()
    assert (status.hits, status.missed, len(slow.service.asked), status.waiting) == (800, 0, 400, 400)
    assert "took more than 15 s for one batch" in str(slow.model.problem)


async def test_a_key_that_only_reads_is_used_and_nothing_waits(tmp_path: Path) -> None:
    values = Memory()
    await Developer(tmp_path / "1", values).vectors()
    values.write_error = ProviderError("refused the key (403)", status=403)
    reader = Developer(tmp_path / "2", values)
    await reader.vectors([*TEXTS, "new", "newer"])
    assert reader.service.asked == ["new", "newer"]
    status = await reader.status()
    assert (status.state, status.hits, status.waiting, status.problem) == ("ready", 3, 0, "")


async def test_a_missing_secret_is_told_and_looked_for_again(tmp_path: Path) -> None:
    values = Memory()
    developer = Developer(tmp_path, values, None)
    await developer.vectors()
    assert "CARREL_TEAM_SECRET" in str(developer.model.problem)
    assert values.asked == 0
    developer.team._find_seal = lambda: TeamSeal(Secret(SECRET))
    developer.now = 11.0
    await developer.vectors(["more"])
    assert developer.model.problem is None
    assert len(values.held) == 2


async def test_a_folder_whose_mount_is_gone_is_told(tmp_path: Path) -> None:
    developer = Developer(tmp_path, FolderValues(tmp_path / "mount" / "carrel-team"))
    assert len(await developer.vectors()) == 3
    assert "mount" in str(developer.model.problem)
    assert not (tmp_path / "mount").exists()


async def test_a_ledger_that_cannot_be_used_costs_only_what_it_counts(tmp_path: Path) -> None:
    (tmp_path / "team.sqlite").mkdir()
    values = Memory()
    developer = Developer(tmp_path, values)
    await developer.vectors()
    values.error, developer.now = StoreError("gone"), 0.0
    await developer.vectors(["more"])
    assert await developer.status() == TeamStatus("the team's place", "unreachable", problem="gone")


async def test_a_server_that_is_killed_in_the_middle_is_told_what_it_missed(tmp_path: Path) -> None:
    url, process, folder = await asyncio.to_thread(qdrant_server.start, qdrant_server.binary())
    values = QdrantValues(outbound(tmp_path), url, "carrel-team")
    developer = Developer(tmp_path / "1", values)
    await developer.vectors(TEXTS[:1])
    process.kill()
    await asyncio.to_thread(process.wait)
    assert len(await developer.vectors()) == 3
    assert (await developer.status()).waiting == 2
    again = await asyncio.create_subprocess_exec(
        *(qdrant_server.binary(), "--config-path", str(folder / "config.yaml"), "--disable-telemetry"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(30):
            while (status := await developer.team.probe()).waiting:  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(0.1)
        assert status.shared == 3
        other = Developer(tmp_path / "2", values)
        await other.vectors()
        assert other.service.asked == []
    finally:
        await values.aclose()
        again.kill()
        await again.wait()
