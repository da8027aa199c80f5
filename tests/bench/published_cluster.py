"""Many published repositories on a cluster of three Qdrant servers: what is asked, what it costs, and where it stops.

    CARREL_QDRANT_BINARY=… python -m tests.bench.published_cluster PROJECTS… --large FOLDER --repositories 1000

PROJECTS hold projects. Their folders of at most `MOST_FILES` files, each file in one of them, are published as repositories, and
FOLDER as one of the size that an organisation's repository has. All is published and asked as Carrel does it; servers are
killed while a person asks and while a repository is published. Prints a JSON object. Every collection has two copies.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from tests.bench.published import COMMIT, remote
from tests.bench.quality import indexed
from tests.contract import qdrant_server

from carrel.model.errors import CarrelError
from carrel.model.fakes import FakeKeys, FakeMeter, FakePermissions
from carrel.model.outbound import Outbound
from carrel.model.published import PublishedAddress
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository
from carrel.sources.publishing import Checkout, Publication, PublishReport, Tell
from carrel.sources.remote_source import RemoteSource

NODES = 3
MOST_FILES, FEWEST_FILES = 15, 2
AT_ONCE = 12
"""Repositories that are published at the same time."""
COUNTS = (1, 10, 50, 100, 300, 1000)
QUESTIONS = (
    "where are retries limited",
    "parse the command line options",
    "how is the session token checked",
    "ConnectionPool",
    "write the configuration file",
    "what happens when a request times out",
)
Figures = dict[str, Any]
psutil = importlib.import_module("psutil")


def parts(folder: Path) -> Iterator[Path]:
    """Give the folders below one that become repositories: none of them inside of another."""
    files = sum(1 for file in folder.rglob("*") if file.is_file())
    if files < FEWEST_FILES:
        return
    inner = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    if files <= MOST_FILES or not inner:
        yield folder
        return
    for child in inner:
        yield from parts(child)


class Cluster:
    """The servers, and what they take."""

    def __init__(self, folder: Path, urls: Sequence[str], processes: list[subprocess.Popen[bytes]]) -> None:
        self.folder, self.urls, self.processes = folder, urls, processes
        self.meter = FakeMeter()

    def repository(self, name: str, node: int = 0) -> QdrantRepository:
        """Return a repository as it is reached by one of the servers."""
        address = PublishedAddress.read(f"qdrant://{self.urls[node].partition('://')[2]}/{name}")
        return QdrantRepository(address, Outbound(FakePermissions(), FakeKeys(), self.meter))

    def seconds(self) -> float:
        """Return the processor time of the servers that run."""
        return sum(sum(process.cpu_times()[:2]) for process in self._running())

    def state(self) -> Figures:
        """Return what all servers take of disk, and each of memory, files and mappings."""
        used = subprocess.run(["du", "-s", "--block-size=1000", self.folder], capture_output=True, text=True, check=False).stdout
        return {
            "disk_mb": int(used.split()[0]) // 1000,
            "memory_mb": [process.memory_full_info().uss // 1_000_000 for process in self._running()],
            "resident_mb": [process.memory_info().rss // 1_000_000 for process in self._running()],
            "mappings": [len(process.memory_maps(grouped=False)) for process in self._running()],
            "files": [process.num_fds() for process in self._running()],
        }

    def kill(self, node: int) -> None:
        """End a server as a machine's loss does."""
        self.processes[node].kill()
        self.processes[node].wait()

    async def start_again(self, node: int, collections: Sequence[str]) -> float:
        """Start a server that was killed; return the seconds until every copy of these collections counts again."""
        began = time.perf_counter()
        await asyncio.to_thread(self._start, node)
        async with httpx.AsyncClient(trust_env=False, timeout=30, base_url=self.urls[node]) as client:
            for name in collections:
                while True:
                    with suppress(httpx.TransportError):
                        result = (await client.get(f"/collections/{name}/cluster")).json().get("result", {})
                        shards = [*result.get("local_shards", ()), *result.get("remote_shards", ())]
                        if shards and all(shard["state"] == "Active" for shard in shards):
                            break
                    await asyncio.sleep(0.2)
        return round(time.perf_counter() - began, 1)

    def _start(self, node: int) -> None:
        silent = subprocess.DEVNULL
        command = self.processes[node].args
        self.processes[node] = subprocess.Popen(command, cwd=self.folder / str(node), stdout=silent, stderr=silent)

    def _running(self) -> list[Any]:
        return [psutil.Process(process.pid) for process in self.processes if process.poll() is None]


async def publish(
    cluster: Cluster, folder: Path, name: str, kept: Path, node: int = 0, tell: Tell = lambda _done, _all: None
) -> tuple[PublishReport, float]:
    """Publish a folder; return what was done, and the seconds without the index."""
    store, _ = await asyncio.to_thread(indexed, str(folder), bundled(), kept)
    repository, began = cluster.repository(name, node), time.perf_counter()
    try:
        report = await Publication(store, bundled().spec, Checkout(COMMIT, origin=name), True).run(repository, tell)
        return report, time.perf_counter() - began
    finally:
        store.close()
        await repository.aclose()


async def ask(cluster: Cluster, sources: Sequence[RemoteSource], rounds: int) -> Figures:
    """Ask all sources at once, as a question does; the first round, which opens connections, doesn't count."""
    own, times, silent, problems = psutil.Process(), list[float](), 0, dict[str, int]()
    requests = before = at_servers = 0.0
    for number in range(rounds + 1):
        for one in sources:  # as if the person had waited
            one._rests_until = 0.0
        if number == 1:
            requests, before, at_servers = len(cluster.meter.used), own.cpu_times().user, cluster.seconds()
        began = time.perf_counter()
        query = Query(QUESTIONS[number % len(QUESTIONS)], limit=10)
        given = await asyncio.gather(*(one.search(query, explicit=True, wait_ms=0) for one in sources), return_exceptions=True)
        if number:
            times.append(time.perf_counter() - began)
            failed = [error for error in given if isinstance(error, CarrelError)]
            silent += len(failed)
            for error in failed[:1]:
                problems[str(error)] = problems.get(str(error), 0) + 1
    times.sort()
    return {
        "repositories": len(sources),
        "p50_ms": round(1000 * statistics.median(times)),
        "p95_ms": round(1000 * times[min(len(times) - 1, int(0.95 * len(times)))]),
        "requests": round((len(cluster.meter.used) - requests) / rounds),
        "processor_ms": round(1000 * (own.cpu_times().user - before) / rounds),
        "servers_processor_ms": round(1000 * (cluster.seconds() - at_servers) / rounds),  # of no sense where one was killed
        "silent": round(silent / rounds / len(sources), 3),
        "problems": problems,
    }


async def losses(cluster: Cluster, sources: Sequence[RemoteSource], copy: Path, kept: Path) -> Figures:
    """Kill a server while others are asked and while one of the others is published to; have it come back."""
    asked = asyncio.create_task(ask(cluster, sources, 10))
    await asyncio.sleep(1)
    cluster.kill(2)
    figures: Figures = {"another_is_lost": await asked, "without_it": await ask(cluster, sources, 10)}
    change(copy, "added_while_away")
    report, seconds = await publish(cluster, copy, "large", kept)
    figures["published_without_it"] = {"seconds": round(seconds, 1), "added": report.added, "removed": report.removed}
    note(figures)
    figures["back_s"] = await cluster.start_again(2, [source.address.collection for source in sources] + ["carrel-repo-large"])
    change(copy, "added_at_the_loss")

    def kill_halfway(done: int, every: int) -> None:
        if done >= every / 2 and cluster.processes[1].poll() is None:
            cluster.kill(1)

    try:
        report, seconds = await publish(cluster, copy, "large", kept, 0, kill_halfway)
        figures["lost_while_publishing"] = {"seconds": round(seconds, 1), "added": report.added, "removed": report.removed}
    except CarrelError as error:
        figures["lost_while_publishing"] = str(error)
        report, seconds = await publish(cluster, copy, "large", kept)
        figures["published_again"] = {"seconds": round(seconds, 1), "added": report.added, "taken_over": report.taken_over}
    figures["back_again_s"] = await cluster.start_again(1, ["carrel-repo-large"])
    counts, hits = [], []
    for node in range(NODES):
        source = remote(cluster.repository("large", node))
        head = await source.repository.head()
        counts.append((head.chunks, await source.repository.count(head)) if head else None)
        given = [await source.search(Query(text, limit=10), explicit=True, wait_ms=0) for text in QUESTIONS]
        hits.append({(number, hit.chunk.id) for number, each in enumerate(given) for hit in each})
        await source.close()
    figures["chunks_said_and_counted_by_server"] = counts
    figures["hits_of_all_servers"] = f"{len(set.intersection(*hits))} of {len(set.union(*hits))}"
    note(figures)
    cluster.kill(0)
    figures["the_asked_one_is_lost"] = await ask(cluster, sources, 5)
    return figures


def change(folder: Path, name: str) -> None:
    """Add a function to 400 files."""
    for file in sorted(folder.rglob("*.py"))[:400]:
        file.write_text(f"{file.read_text('utf-8', 'replace')}\n\ndef {name}(value):\n    return value\n", "utf-8")


async def measure(folder: Path, found: Sequence[Path], large: Path, wanted: int, minutes: float) -> Figures:
    """Run all of it in a folder that is deleted afterwards."""
    (folder / "servers").mkdir()
    kept, copy = folder / "indexes", folder / "large"
    shutil.copytree(large, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    chosen = [found[at * len(found) // wanted] for at in range(wanted)] if len(found) > wanted else found
    figures: Figures = {"folders": len(found), "load": [round(os.getloadavg()[0], 1)]}
    with qdrant_server.cluster(folder / "servers", NODES) as (urls, processes):
        cluster = Cluster(folder / "servers", urls, processes)
        figures["empty"] = cluster.state()
        report, seconds = await publish(cluster, copy, "large", kept)
        note("large", report, f"{seconds:.1f} s")
        await until_green(urls[0], "carrel-repo-large")
        figures["large"] = {"chunks": report.chunks, "seconds": round(seconds, 1), **cluster.state()}
        one = [remote(cluster.repository("large"))]
        figures["large"]["asked"] = await ask(cluster, one, 40)
        changed = sorted(copy.rglob("*.py"), key=lambda file: file.stat().st_size)[-100]
        changed.write_text(changed.read_text("utf-8") + "\n\ndef added_by_the_update(value):\n    return value\n", "utf-8")
        requests = len(cluster.meter.used)
        report, seconds = await publish(cluster, copy, "large", kept, 1)
        figures["update"] = {
            "seconds": round(seconds, 2),
            "requests": len(cluster.meter.used) - requests,
            "added": report.added,
            "removed": report.removed,
        }
        note("update", figures["update"])
        began, names, chunks, starts = time.perf_counter(), list[str](), 0, iter(enumerate(chosen))

        async def publish_some() -> None:
            nonlocal chunks
            for number, part in starts:
                if time.perf_counter() - began > 60 * minutes:
                    return
                try:
                    report, _ = await publish(cluster, part, f"part-{number}", kept, number % NODES)
                except CarrelError as error:
                    figures.setdefault("not_published", []).append(str(error)[:200])
                    continue
                names.append(f"part-{number}")
                chunks += report.chunks
                if len(names) % 50 == 0:
                    note(len(names), f"{time.perf_counter() - began:.0f} s", cluster.state())

        await asyncio.gather(*(publish_some() for _ in range(AT_ONCE)))
        figures["parts"] = {
            "repositories": len(names),
            "chunks": chunks,
            "seconds": round(time.perf_counter() - began),
            **cluster.state(),
        }
        note(figures["parts"])
        sources = [remote(cluster.repository(name)) for name in names]
        figures["asked"] = []
        for count in sorted({min(count, len(names)) for count in COUNTS}):
            figures["asked"].append(await ask(cluster, sources[:count], 20 if count <= 10 else 10 if count <= 100 else 3))
            note(figures["asked"][-1])
        figures["client_mb"] = psutil.Process().memory_info().rss // 1_000_000
        figures["load"].append(round(os.getloadavg()[0], 1))
        figures |= await losses(cluster, sources[:50], copy, kept)
        await asyncio.gather(*(one.close() for one in sources))
    return figures


async def until_green(url: str, collection: str) -> None:
    """Wait until a server has built the graphs of a collection."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        while True:
            if (await client.get(f"{url}/collections/{collection}")).json()["result"]["status"] == "green":
                return
            await asyncio.sleep(1)


def note(*words: object) -> None:
    """Say how far it is."""
    print(*words, file=sys.stderr, flush=True)


def main() -> None:
    """Run it for the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--large", type=Path, required=True)
    parser.add_argument("--repositories", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=20, help="to publish the small ones in; the rest is left out then")
    given = parser.parse_args()
    projects = (project for folder in given.projects for project in sorted(folder.iterdir()) if project.is_dir())
    found = [part for project in projects for part in parts(project)]
    with tempfile.TemporaryDirectory(prefix="carrel-cluster-") as folder:
        figures = asyncio.run(measure(Path(folder), found, given.large, given.repositories, given.minutes))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
