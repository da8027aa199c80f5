"""How soon a file that another program wrote is searchable, and what watching costs.

Run `python -m tests.bench.watching [FILES] [FOLDERS]`.

A project of so many small files is made, and a server started as an editor without file watching would. "At a question" is the
time from the write to the answer that holds it, asked at once and again until it does; "by itself" the time to the server's
word that it is indexed, nobody asking.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from tests.lsp_client import LspClient

TEXT = "def work_{0}(amount):\n    # the work of part {0}\n    return {0}\n"


def main() -> None:
    """Measure with and without watching; print medians and worst cases in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="?", default=100_000)
    parser.add_argument("folders", type=int, nargs="?", default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        for number in range(arguments.files):
            folder = root / f"part{number % arguments.folders // 100}/f{number % arguments.folders}"
            if number < arguments.folders:
                folder.mkdir(parents=True, exist_ok=True)
            (folder / f"m{number}.py").write_text(TEXT.format(number))
        for watch in ("auto", "never"):
            asyncio.run(_measure(root, Path(place) / "cache", watch, arguments.rounds))


async def _measure(root: Path, cache: Path, watch: str, rounds: int) -> None:
    options = {"cacheFolder": str(cache), "ragEnabled": True, "watch": watch}
    async with LspClient.started(root, options=options, capabilities={}) as client:
        await client.request("carrel/index", {}, timeout=900)
        await asyncio.sleep(10)  # watches are set, and the look after that is over
        process = psutil.Process(client.process.pid)
        before = process.cpu_times()
        await asyncio.sleep(10)
        after = process.cpu_times()
        idle = after.user + after.system - before.user - before.system
        print(
            f"watch={watch}: {_watches(client.process.pid)} watches, {process.memory_info().rss / 1e6:.0f} MB resident,", end=" "
        )
        print(f"{idle:.2f} s of processor time in 10 s at rest")
        asked = [await _asked(client, root, f"asked_{watch}_{n}") for n in range(rounds)]
        print(f"  searchable at a question: {_figures(asked)}")
        if watch == "auto":
            alone = [await _alone(client, root, n) for n in range(rounds)]
            print(f"  indexed by itself: {_figures(alone)}")
            files, seen = (await client.request("carrel/status", {}))["files"], len(client.notifications)
            began = time.perf_counter()
            for number in range(5_000):
                (root / f"part0/f{number % 10}/new{number}.py").write_text(f"def switched_{number}():\n    return {number}\n")
            written = time.perf_counter()
            await _until(client, lambda status: status["files"] == files + 5_000 and _ready(status), seen)
            print(f"  5,000 files, written in {written - began:.1f} s: indexed {time.perf_counter() - written:.1f} s later")


async def _asked(client: LspClient, root: Path, name: str) -> float:
    await asyncio.sleep(1)
    (root / f"part0/{name}.py").write_text(f"def {name}(amount):\n    return amount\n")
    began = time.perf_counter()
    while True:
        answer = await client.request("carrel/search", {"query": name, "limit": 1})
        if answer["hits"] and answer["hits"][0]["path"].endswith(f"{name}.py"):
            return 1000 * (time.perf_counter() - began)


async def _alone(client: LspClient, root: Path, number: int) -> float:
    await asyncio.sleep(1)
    files = (await client.request("carrel/status", {}))["files"]
    seen = len(client.notifications)
    (root / f"part1/alone_{number}.py").write_text(f"def alone_{number}(amount):\n    return amount\n")
    began = time.perf_counter()
    await _until(client, lambda status: status["files"] == files + 1, seen)
    return 1000 * (time.perf_counter() - began)


async def _until(client: LspClient, accept: Any, seen: int) -> None:
    while not any(name == "carrel/statusChanged" and accept(status) for name, status in client.notifications[seen:]):  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def _ready(status: Any) -> bool:
    return status["state"] == "ready" and not status["pending"]


def _watches(pid: int) -> int:
    """Count the inotify watches of a process (Linux)."""
    return sum(one.read_text().count("inotify wd:") for one in Path(f"/proc/{pid}/fdinfo").iterdir())


def _figures(times: list[float]) -> str:
    return f"p50 {statistics.median(times):.0f} ms, worst of {len(times)} {max(times):.0f} ms"


if __name__ == "__main__":
    main()
