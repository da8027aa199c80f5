"""Latencies of the real server over stdio: `python -m tests.bench.lsp_latency FOLDER [ROUNDS]`. Prints one JSON object.

Start to `initialize`, start to the first answer on a warm index, `carrel/context` idle and during an index run, a saved
file to searchable (search until the new word is found; the file isn't open, so no buffer answers for it), 500 changed
files to searchable, and a cancelled run to its end, as p25, p50 and p99 in milliseconds; then memory and processor time at
rest. `stagesMs` has the median of each stage of a context of 1,000 tokens (`smallContextMs`). Files of Python are larger than
those of most languages, and packing reads them: python_corpus.txt says how to get 200,000 chunks of Python. Probes are written
into FOLDER and deleted.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from tests.lsp_client import LspClient

QUESTIONS = (
    "how does login work?",
    "database connection pool",
    "parse configuration file",
    "class Response",
    "retry with timeout",
)


async def main(folder: Path, rounds: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache:
        options = {"cacheFolder": cache, "ragEnabled": True}
        client = await LspClient.spawn()
        await client.initialize(folder, options=options)
        began = time.perf_counter()
        result["coldIndex"] = await client.request("carrel/index", {}, timeout=900)
        result["coldIndexSeconds"] = round(time.perf_counter() - began, 2)
        await client.stop()
        await client.kill()

        began = time.perf_counter()
        client = await LspClient.spawn()
        await client.initialize(folder, options=options)
        result["initializeMs"] = _ms(began)
        await client.request("carrel/context", {"query": QUESTIONS[0]})
        result["firstAnswerMs"] = _ms(began)
        await client.request("carrel/index", {}, timeout=900)
        result["chunks"] = (await client.request("carrel/status", {}))["chunks"]
        ask = client.request
        result["contextMs"] = await _spread(rounds, lambda i: ask("carrel/context", {"query": QUESTIONS[i % len(QUESTIONS)]}))
        result["smallContextMs"], result["stagesMs"] = await _small(client, rounds)
        result["saveToSearchableMs"] = await _saves(client, folder, rounds)
        result["burstOf500Ms"] = await _spread(3, lambda i: _burst(client, folder, i))
        result["cancelMs"] = _summary([await _cancelled(client, 0.1 * i) for i in range(1, 41)])
        await client.request("carrel/index", {}, timeout=900)
        _, index = client.send("carrel/index", {"force": True, "workDoneToken": "t"})
        during: list[float] = []
        while not index.done():
            asked = time.perf_counter()
            await client.request("carrel/context", {"query": QUESTIONS[len(during) % len(QUESTIONS)]})
            during.append(_ms(asked))
        result["contextDuringIndexMs"] = _summary(during)
        await client.wait_for("carrel/statusChanged", lambda status: status["state"] == "ready")
        result["residentMB"], result["idleCpuSeconds"] = await _idle(client)
        await client.stop()
        await client.kill()
    return result


async def _small(client: LspClient, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Ask for contexts of 1,000 tokens; return their latencies, and the median of each stage."""
    stages: dict[str, list[float]] = {}

    async def ask(i: int) -> None:
        asked = {"query": QUESTIONS[i % len(QUESTIONS)], "budget": {"tokens": 1_000}}
        for stage, took in (await client.request("carrel/context", asked))["stages"].items():
            stages.setdefault(stage, []).append(took)

    spread = await _spread(rounds, ask)
    return spread, {stage: round(statistics.median(times), 2) for stage, times in stages.items()}


async def _idle(client: LspClient, seconds: float = 10.0) -> tuple[float, float]:
    """Resident memory in MB, and the processor time that so many seconds without a request take."""
    process = psutil.Process(client.process.pid)
    await asyncio.sleep(1)
    before = sum(process.cpu_times()[:2])
    await asyncio.sleep(seconds)
    return round(process.memory_info().rss / 2**20, 1), round(sum(process.cpu_times()[:2]) - before, 3)


async def _saves(client: LspClient, folder: Path, rounds: int) -> dict[str, float]:
    path = folder / "carrel_latency_probe.py"

    async def save(i: int) -> None:
        word = f"probe_word_{i}_{time.monotonic_ns()}"
        text = f"def {word}():\n    return 'written by the latency probe, round {i}'\n"
        path.write_text(text)
        client.save(path)
        await _found(client, word)

    try:
        return await _spread(rounds, save)
    finally:
        path.unlink()
        client.files_changed((path, 3))


async def _found(client: LspClient, word: str) -> None:
    """Search until the word is found."""
    while True:
        hits = (await client.request("carrel/search", {"query": word, "limit": 1}))["hits"]
        if hits and word in hits[0]["text"]:
            return


async def _burst(client: LspClient, folder: Path, i: int) -> None:
    """Write 500 files, tell of them as an editor does, and search until a word of each hundredth is found."""
    probes = folder / "carrel_latency_probes"
    probes.mkdir(exist_ok=True)
    files = [probes / f"probe_{n}.py" for n in range(500)]
    words = [f"burst_word_{i}_{n}_{time.monotonic_ns()}" for n in range(500)]
    try:
        for path, word in zip(files, words, strict=True):
            path.write_text(f"def {word}(order):\n    return order.total + {i}  # written by the latency probe\n")
        client.files_changed(*((path, 1) for path in files))
        for word in words[99::100]:
            await _found(client, word)
    finally:
        shutil.rmtree(probes)
    client.files_changed(*((path, 3) for path in files))


async def _cancelled(client: LspClient, after: float) -> float:
    """Milliseconds from the cancel of a run over everything, so many seconds after its start, to its answer."""
    number, index = client.send("carrel/index", {"force": True})
    await asyncio.wait({index}, timeout=after)
    began = time.perf_counter()
    client.cancel(number)
    await asyncio.wait({index})
    return _ms(began)


async def _spread(rounds: int, once: Callable[[int], Awaitable[Any]]) -> dict[str, float]:
    times = []
    for i in range(rounds):
        began = time.perf_counter()
        await once(i)
        times.append(_ms(began))
    return _summary(times)


def _summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times) or [0.0]
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    p25 = ordered[len(ordered) // 4]  # what the machine's other work slows least
    return {"p25": p25, "p50": round(statistics.median(ordered), 2), "p99": p99, "n": len(times)}


def _ms(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 2)


if __name__ == "__main__":
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    sys.stdout.write(json.dumps(asyncio.run(main(Path(sys.argv[1]).resolve(), rounds)), indent=2) + "\n")
