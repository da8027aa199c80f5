"""What a team's cache saves: ten developers with branches of their own on one base, beside ten indexes that share nothing.

`python -m tests.bench.team_cache REPOSITORY [DEVELOPERS]` clones a git repository for each, changes a few files on a branch of
each clone, and indexes every clone in a process with a home of its own, by a model that a small server on this machine stands in
for (1,536 numbers, 0.2 s a request). The cache is a real Qdrant: `CARREL_QDRANT_BINARY`.
`python -m tests.bench.team_cache --values ROWS` fills a Qdrant with so many values; `--cluster` uses three servers and kills
one. Each prints a JSON object a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped,unused-ignore]
from tests.contract import qdrant_server
from tests.services.embeddings import KEY, EmbeddingService, running

from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.extensions.team.values import QdrantValues
from carrel.model.native import CancelToken
from carrel.model.outbound import Outbound, Receipt, summed
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers import http
from carrel.providers.keys import StandardKeys
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.settings.store_settings import TeamSettings
from carrel.upkeep.model_switch import fill_blocking

MODEL, DIM, PAUSE = "text-embedding-3-small", 1536, 0.2
CHANGED = 5
"""Files that each branch changes; it adds one, too."""


def clones(repository: Path, folder: Path, developers: int) -> list[Path]:
    """Clone the repository for each developer, with a commit of their own."""
    made = []
    for number in range(developers):
        clone = folder / f"developer{number}" / "work"
        git(repository, "clone", "-q", "--shared", str(repository), str(clone))
        files = sorted(path for path in clone.rglob("*.py") if ".git" not in path.parts)
        for path in files[number :: max(len(files) // CHANGED, 1)][:CHANGED]:
            path.write_text(
                path.read_text("utf-8") + f"\n\ndef added_by_developer_{number}() -> int:\n    return {number}\n", "utf-8"
            )
        (clone / f"feature_{number}.py").write_text(
            f"def feature_{number}() -> str:\n    return 'of developer {number}'\n", "utf-8"
        )
        git(clone, "checkout", "-q", "-b", f"branch-{number}")
        git(clone, "add", "-A")
        git(clone, "-c", "user.name=d", "-c", "user.email=d@example.com", "commit", "-qm", "Change something")
        made.append(clone)
    return made


def git(folder: Path, *words: str) -> None:
    """Run git."""
    subprocess.run(["git", *words], cwd=folder, check=True)


def develop(clone: Path, model: str, team: str) -> None:
    """Make the first whole index of a clone, in this process, and print what that took and sent."""
    home = clone.parent
    outbound = OutboundServices(PermissionFile(home / "permissions.json"), StandardKeys(), UsageMeter(None, Limits))
    composition = Composition(outbound=outbound)
    settings = Settings(
        cache_folder=str(home / "cache"),
        models=Models(
            embedder=ModelSettings(
                provider="openai", model=MODEL, base_url=f"{model}/v1", key="env:OPENAI_API_KEY", dimensions=DIM, max_texts=100
            )
        ),
        team=TeamSettings(url=team),
    )
    began = time.perf_counter()
    composition.open_index(clone, settings).store.close()
    receipt = Receipt()
    http.note = receipt.sent.append  # type: ignore[attr-defined,assignment]  # of all that is sent, on whatever thread
    fill_blocking(composition, clone, settings, CancelToken(), lambda *_: None, lambda _: None)
    told: dict[str, Any] = {
        sent.role: {"requests": sent.load.requests, "texts": sent.load.texts, "bytes": sent.bytes} for sent in summed(receipt)
    }
    cache = composition.team_cache(settings)
    status = cache.status() if cache else None
    of_team = {name: getattr(status, name) for name in ("found", "missed", "shared", "waiting")} if status else {}
    print(json.dumps({"seconds": round(time.perf_counter() - began, 1), **told, "team": of_team}))


def started(clone: Path, model: str, team: str) -> subprocess.Popen[str]:
    """Start a developer's process."""
    command = [sys.executable, "-m", "tests.bench.team_cache", "--develop", str(clone), model, team]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OPENAI_API_KEY": KEY})


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a developer's process."""
    out, _ = process.communicate()
    assert process.returncode == 0
    told: dict[str, Any] = json.loads(out)
    return told


def scenario(name: str, repository: Path, developers: int, service: EmbeddingService, *, team: bool, at_once: bool) -> None:
    """Index all clones, with a fresh cache, and print what it took."""
    with tempfile.TemporaryDirectory() as place:
        every = clones(repository, Path(place), developers)
        url, process, _ = qdrant_server.start(qdrant_server.binary()) if team else ("", None, None)
        service.reset()
        service.pause = PAUSE
        if at_once:
            told = [ended(one) for one in [started(clone, service.url, url) for clone in every]]
        else:
            told = [ended(started(clone, service.url, url)) for clone in every]
        report(name, told, service)
        if process:
            process.kill()
            process.wait()


def killed(repository: Path, service: EmbeddingService) -> None:
    """Kill the server in the middle of the first developer's run; start it again before the second's."""
    with tempfile.TemporaryDirectory() as place:
        every = clones(repository, Path(place), 2)
        url, process, folder = qdrant_server.start(qdrant_server.binary())
        service.reset()
        service.pause = PAUSE
        first = started(every[0], service.url, url)
        while len(service.requests) < 8:
            time.sleep(0.02)
        process.kill()
        process.wait()
        told = [ended(first)]
        again = subprocess.Popen(
            [qdrant_server.binary(), "--config-path", str(folder / "config.yaml"), "--disable-telemetry"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        time.sleep(5)
        (every[0] / "later.py").write_text("def later() -> int:\n    return 1\n")
        told += [ended(started(every[0], service.url, url)), ended(started(every[1], service.url, url))]
        report(
            "server killed in the first run, back before a second of the same developer and the first of another", told, service
        )
        again.kill()
        again.wait()


def report(name: str, told: list[dict[str, Any]], service: EmbeddingService) -> None:
    """Print a scenario."""
    seconds = [one["seconds"] for one in told]
    sent = [one.get("store", {"bytes": 0, "requests": 0}) for one in told]
    figures = {
        "scenario": name,
        "embeddings_paid": len(service.texts),
        "of_each": [one.get("embedder", {"texts": 0})["texts"] for one in told],
        "model_requests": len(service.requests),
        "mb_to_the_model": round(service.bytes_in / 1e6, 2),
        "mb_from_the_model": round(service.bytes_out / 1e6, 2),
        "mb_to_the_team": round(sum(one["bytes"] for one in sent) / 1e6, 2),
        "team_requests": sum(one["requests"] for one in sent),
        "team": [one["team"] for one in told],
        "seconds_first": seconds[0],
        "seconds_median_of_others": round(statistics.median(seconds[1:]), 1),
        "seconds_last": max(seconds),
    }
    print(json.dumps(figures), flush=True)


def rows(number: int) -> Iterator[dict[bytes, bytes]]:
    """Give batches of values as large as those of 1,536 numbers."""
    for at in range(0, number, 100):
        yield {secrets.token_bytes(16): secrets.token_bytes(2 * DIM + 28) for _ in range(min(100, number - at))}


async def fill(number: int) -> None:
    """Fill a server with values, read some, and print what it takes."""
    url, process, folder = await asyncio.to_thread(qdrant_server.start, qdrant_server.binary())
    permissions = PermissionFile(folder / "permissions.json")
    values = QdrantValues(Outbound(permissions, StandardKeys({}), UsageMeter(None, Limits)), url, "carrel-team")
    empty = psutil.Process(process.pid).memory_info()
    asked: list[list[bytes]] = []
    began = time.perf_counter()
    for batch in rows(number):
        await values.write(batch)
        asked.append(list(batch))
    written = time.perf_counter() - began
    await asyncio.sleep(10)  # it has merged its segments by then
    times = []
    for keys in asked[:: max(len(asked) // 100, 1)]:
        began = time.perf_counter()
        assert len(await values.read(keys)) == len(keys)
        times.append(1000 * (time.perf_counter() - began))
    await values.aclose()
    memory = psutil.Process(process.pid).memory_info()
    figures = {
        "values": number,
        "written_s": round(written, 1),
        "read_100_p50_ms": round(statistics.median(times), 1),
        "read_100_p99_ms": round(sorted(times)[int(0.99 * len(times))], 1),
        "resident_mb": round((memory.rss - empty.rss) / 1e6),
        "of_which_files_mb": round(
            (getattr(memory, "shared", 0) - getattr(empty, "shared", 0)) / 1e6
        ),  # the system takes it back
        "disk_mb": round(sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 1e6),
    }
    print(json.dumps(figures), flush=True)
    process.kill()


async def cluster(folder: Path, many: int = 2_000) -> None:
    """Use three servers, three shards and two replicas while one server is down, and print what was found."""
    with qdrant_server.cluster(folder, 3) as (urls, nodes):
        url = urls[0]
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
            body = {"vectors": {}, "on_disk_payload": True, "shard_number": 3, "replication_factor": 2}
            (await client.put("/collections/carrel-team", json=body)).raise_for_status()
        permissions = PermissionFile(folder / "permissions.json")
        values = QdrantValues(Outbound(permissions, StandardKeys({}), UsageMeter(None, Limits)), url, "carrel-team")
        written = {key: value for batch in rows(many) for key, value in batch.items()}
        keys = list(written)
        for at in range(0, many, 100):
            await values.write({key: written[key] for key in keys[at : at + 100]})
        nodes[2].kill()
        nodes[2].wait()
        found, times = 0, []
        for at in range(0, many, 100):
            began = time.perf_counter()
            found += len(await values.read(keys[at : at + 100]))
            times.append(1000 * (time.perf_counter() - began))
        more = {secrets.token_bytes(16): secrets.token_bytes(100) for _ in range(100)}
        began = time.perf_counter()
        await values.write(more)
        taken = 1000 * (time.perf_counter() - began)
        kept = len(await values.read(list(more)))
        await values.aclose()
        figures = {"values": many, "found_with_one_of_three_down": found, "written_then": kept}
        print(json.dumps({**figures, "read_100_p50_ms": round(statistics.median(times), 1), "write_100_ms": round(taken)}))


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[1] == "--develop":
        develop(Path(sys.argv[2]), sys.argv[3], sys.argv[4])
        return
    if sys.argv[1] == "--values":
        asyncio.run(fill(int(sys.argv[2])))
        return
    if sys.argv[1] == "--cluster":
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(cluster(Path(place)))
        return
    repository, developers = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    os.environ["CARREL_TEAM_SECRET"] = secrets.token_urlsafe(32)
    with running() as service:
        for team, at_once in ((False, False), (True, False), (False, True), (True, True)):
            name = f"{'one cache' if team else 'separate'}, {'all at once' if at_once else 'one after the other'}"
            scenario(name, repository, developers, service, team=team, at_once=at_once)
        killed(repository, service)


if __name__ == "__main__":
    main()
