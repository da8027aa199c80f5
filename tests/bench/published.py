"""Published repositories: how good their search is beside the local one, and how long an organisation of them takes.

    python -m tests.bench.published quality FOLDER --repos click gin --server URL
    python -m tests.bench.published organisation --repos 20 --chunks 200000 --server URL

FOLDER holds the benchmark's `evaluate.py` with its labels (see `tests.bench.quality`). `organisation` publishes made-up chunks
with real words, and with random vectors or those that `tests.bench.vector_stores embed` kept, waits until the server has
built its graphs, then asks all repositories at once as an editor does, and prints a JSON object. What a run that was stopped has
published is used.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import random
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from tests.bench.quality import Bench, Figures, difference, row

from carrel.model.errors import ProviderError
from carrel.model.fakes import fake_outbound
from carrel.model.native import SecretOptions, mask_secrets
from carrel.model.published import BATCH, FORMAT, Head, Point, PublishedAddress, PublishedChunk
from carrel.model.types import Hit, Query
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository
from carrel.question.question_secrets import mask_by
from carrel.settings.source_settings import SourceSettings
from carrel.sources.published_words import Fields, words_of
from carrel.sources.publishing import Checkout, Publication
from carrel.sources.remote_source import RemoteSource

COMMIT = "0" * 40
QUESTIONS = (
    "where are retries limited",
    "parse the command line options",
    "how is the session token checked",
    "ConnectionPool",
    "write the configuration file",
    "what happens when a request times out",
)


def remote(repository: QdrantRepository) -> RemoteSource:
    """A source as a workspace elsewhere has it."""
    own, options = bundled(), SecretOptions()
    return RemoteSource(
        "remote",
        SourceSettings(kind="repository", url=str(repository.address)),
        Path("/nonexistent"),
        repository,
        lambda model: own if own.spec.id == model else None,
        lambda path, text: mask_secrets(path, text, options),
        mask_by(options),
    )


def place(hit: Hit) -> tuple[str, int, int]:
    """The path in the repository, and the lines to read first."""
    lines = hit.focus or (hit.chunk.span.start_line, hit.chunk.span.end_line)
    return (hit.chunk.path.partition(" ")[2], *lines)


async def quality(folder: Path, server: str, repositories: Sequence[str]) -> None:
    """Ask the labelled questions of some repositories, locally and of what was published of them."""
    bench = Bench(folder, bundled(), "published")
    chosen = [task for task in bench.tasks("queries") if Path(task["repo_dir"]).name in repositories]
    for task in chosen:
        bench.view(task["repo_dir"])
    local: Figures = bench.figures(chosen, bench.ranked)
    for with_text in (True, False):
        sources: dict[str, RemoteSource] = {}
        answers: dict[str, list[tuple[str, int, int]]] = {}
        for task in chosen:
            root = task["repo_dir"]
            if root not in sources:
                name = f"{Path(root).name}-{'text' if with_text else 'places'}"
                repository = QdrantRepository(PublishedAddress.read(f"{server}/{name}"), fake_outbound())
                index = bench.store(root)
                await Publication(index, bundled().spec, Checkout(COMMIT), with_text).run(repository)
                sources[root] = remote(repository)
            hits = await sources[root].search(Query(task["query"], limit=50), explicit=True, wait_ms=0)
            answers[task["id"]] = [place(hit) for hit in hits]
        found = bench.figures(chosen, lambda task, answers=answers: answers[task["id"]])  # type: ignore[misc]
        if with_text:
            print(row("local", local))
        print(row(f"remote, {'with text' if with_text else 'places alone'}", found))
        print("remote - local, NDCG@10: {:+.3f} ({:+.3f} to {:+.3f})".format(*difference(local, found)))
        for source in sources.values():
            await source.close()


Rows = NDArray[np.float32]
AT_ONCE = 4
"""Repositories that are filled at the same time."""


def vectors_of(number: int, rows: int, kept: Path | None) -> Rows:
    """Return the vectors of one repository: some that were kept, a little moved, or random ones near 2,000 points."""
    drawn = np.random.default_rng(number)
    found: Any
    if kept is None:
        centres = np.random.default_rng(0).normal(0, 0.0625, (2_000, 256))
        found = centres[drawn.integers(len(centres), size=rows)] + drawn.normal(0, 0.03, (rows, 256))
    else:
        whole = np.load(kept, mmap_mode="r")
        at = number * rows % max(len(whole) - rows, 1)
        found = whole[at : at + rows].astype(np.float32) + drawn.normal(0, 0.005, (rows, 256))
    rounded: Rows = np.round(found.astype(np.float32), 5)
    return rounded


async def fill(repository: QdrantRepository, number: int, rows: int, real: Sequence[tuple[str, Any]], kept: Path | None) -> bool:
    """Publish one made-up repository, unless an earlier run did; tell whether it had to be."""
    with contextlib.suppress(ProviderError):
        if await repository.head():
            return False
    await repository.drop()
    await repository.prepare(256)
    drawn, vectors = random.Random(number), vectors_of(number, rows, kept).tolist()  # noqa: S311 - repeatable, no secret
    for at in range(0, rows, BATCH):
        points: list[Point] = []
        for vector in vectors[at : at + BATCH]:
            body, words = drawn.choice(real)
            path = f"src/module_{at + len(points)}.py"
            chunk = PublishedChunk(path=path, start_line=1, end_line=body.count("\n") + 1, language="python", text=body)
            points.append(Point(str(uuid.uuid4()), vector, words, chunk))
        await repository.add(points, 1)
    head = Head(format=FORMAT, generation=1, commit=COMMIT, model=bundled().spec.id, floor=0.1, chunks=rows, files=rows)
    await repository.write_head(head, None)
    return True


async def until_built(repositories: Sequence[QdrantRepository]) -> int:
    """Wait until the server has built the graphs of all collections; return how many vectors they hold."""
    held = 0
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        for repository in repositories:
            while True:
                answer = await client.get(f"{repository.address.base_url}/collections/{repository.address.collection}")
                if answer.json()["result"]["status"] == "green":
                    break
                await asyncio.sleep(2)
            held += answer.json()["result"]["indexed_vectors_count"]
    return held


async def organisation(server: str, repositories: int, chunks: int, corpus: Path, rounds: int, kept: Path | None) -> None:
    """Publish made-up repositories of real words, and ask all of them at once."""
    texts = [path.read_text("utf-8", "replace")[:40_000] for path in sorted(corpus.rglob("*.py"))[:200]]  # noqa: ASYNC240 - a script
    bodies = [text[at : at + 700] for text in texts for at in range(0, len(text), 700)]
    real = [(body, words_of(Fields("", f"module_{at}.py", body))) for at, body in enumerate(bodies)]
    each, began = chunks // repositories, time.perf_counter()
    stores = [
        QdrantRepository(PublishedAddress.read(f"{server}/organisation-{number}"), fake_outbound())
        for number in range(repositories)
    ]
    filled = 0
    for at in range(0, repositories, AT_ONCE):
        group = enumerate(stores[at : at + AT_ONCE], at)
        filled += sum(await asyncio.gather(*(fill(store, number, each, real, kept) for number, store in group)))
        done = min(at + AT_ONCE, repositories)
        print(f"{done} of {repositories}, {time.perf_counter() - began:.0f} s, load {os.getloadavg()[0]:.0f}", file=sys.stderr)
    fill_s = time.perf_counter() - began
    indexed = await until_built(stores)
    built_s = time.perf_counter() - began
    for store in stores:
        await store.aclose()
    del texts, bodies, real
    process = importlib.import_module("psutil").Process()
    before, cpu = process.memory_info().rss, process.cpu_times().user
    sources = [remote(store) for store in stores]
    times: list[float] = []
    failed = 0
    for number in range(rounds):
        query = Query(QUESTIONS[number % len(QUESTIONS)], limit=10)
        asked = time.perf_counter()
        found = await asyncio.gather(*(one.search(query, explicit=True, wait_ms=0) for one in sources), return_exceptions=True)
        times.append(1000 * (time.perf_counter() - asked))
        failed += sum(isinstance(item, BaseException) for item in found)
    times = sorted(times[1:])  # the first one opens connections
    print(
        json.dumps(
            {
                "repositories": repositories,
                "chunks": each * repositories,
                "filled": filled,
                "fill_s": round(fill_s),
                "built_s": round(built_s),
                "vectors_in_graphs": indexed,
                "load": round(os.getloadavg()[0], 1),
                "questions": len(times),
                "p50_ms": round(statistics.median(times)),
                "p99_ms": round(times[min(len(times) - 1, int(0.99 * len(times)))]),
                "failed": failed,
                "client_cpu_ms": round(1000 * (process.cpu_times().user - cpu) / rounds),
                "client_mb": round(process.memory_info().rss / 1e6),
                "client_grew_mb": round((process.memory_info().rss - before) / 1e6),
            }
        )
    )
    await asyncio.gather(*(one.close() for one in sources))


def main() -> None:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    asked = actions.add_parser("quality")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--repos", nargs="+", default=["click", "gin"])
    org = actions.add_parser("organisation")
    org.add_argument("--repos", type=int, default=20)
    org.add_argument("--chunks", type=int, default=200_000)
    org.add_argument("--rounds", type=int, default=101)
    org.add_argument("--corpus", type=Path, default=Path(__file__).parents[2] / "python")
    org.add_argument("--vectors", type=Path, help="a file of tests.bench.vector_stores embed")
    for action in (asked, org):
        action.add_argument("--server", required=True, help="qdrant://HOST:PORT")
    given = parser.parse_args()
    if given.action == "quality":
        asyncio.run(quality(given.folder, given.server, given.repos))
    else:
        asyncio.run(organisation(given.server, given.repos, given.chunks, given.corpus, given.rounds, given.vectors))


if __name__ == "__main__":
    main()
