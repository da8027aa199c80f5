"""Published repositories: how good their search is beside the local one, and how long an organisation of them takes.

    python -m tests.bench.published quality FOLDER --repos click gin --server URL
    python -m tests.bench.published organisation --repos 20 --chunks 200000 --server URL

FOLDER holds the benchmark's `evaluate.py` with its labels (see `tests.bench.quality`). `organisation` publishes made-up chunks
with real words and random vectors, then asks all repositories at once as an editor does, and prints a JSON object.
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

from tests.bench.quality import Bench, Figures, difference, row

from carrel.core.errors import ProviderError
from carrel.core.fakes import fake_outbound
from carrel.core.native import SecretOptions, mask_secrets
from carrel.core.published import BATCH, FORMAT, Head, Point, PublishedAddress, PublishedChunk
from carrel.core.types import Hit, Query
from carrel.engine.published_words import Fields, words_of
from carrel.engine.question_secrets import mask_by
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository
from carrel.server.publishing import Checkout, Publication
from carrel.server.remote_source import RemoteSource
from carrel.server.source_settings import SourceSettings

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


async def organisation(server: str, repositories: int, chunks: int, corpus: Path, rounds: int) -> None:
    """Publish made-up repositories of real words, and ask all of them at once."""
    texts = [path.read_text("utf-8", "replace")[:40_000] for path in sorted(corpus.rglob("*.py"))[:200]]  # noqa: ASYNC240 - a script
    bodies = [text[at : at + 700] for text in texts for at in range(0, len(text), 700)]
    drawn = random.Random(1)  # noqa: S311 - repeatable, no secret
    real = [(body, words_of(Fields("", f"module_{at}.py", body))) for at, body in enumerate(bodies)]
    vectors = [[drawn.gauss(0, 0.0625) for _ in range(256)] for _ in range(2_000)]
    each, began = chunks // repositories, time.perf_counter()
    names = [f"organisation-{number}" for number in range(repositories)]

    async def fill(name: str) -> None:
        repository = QdrantRepository(PublishedAddress.read(f"{server}/{name}"), fake_outbound())
        with contextlib.suppress(ProviderError):
            if await repository.head():  # of an earlier run
                return
        await repository.drop()
        await repository.prepare(256)
        for at in range(0, each, BATCH):
            points = []
            for number in range(at, min(at + BATCH, each)):
                body, words = drawn.choice(real)
                lines = body.count("\n") + 1
                chunk = PublishedChunk(path=f"src/module_{number}.py", start_line=1, end_line=lines, language="python", text=body)
                vector = [round(value + drawn.gauss(0, 0.03), 6) for value in drawn.choice(vectors)]
                points.append(Point(str(uuid.uuid4()), vector, words, chunk))
            await repository.add(points, 1)
        head = Head(format=FORMAT, generation=1, commit=COMMIT, model=bundled().spec.id, floor=0.1, chunks=each, files=each)
        await repository.write_head(head, None)
        await repository.aclose()

    for at in range(0, repositories, 4):
        await asyncio.gather(*map(fill, names[at : at + 4]))
        print(f"{min(at + 4, repositories)} of {repositories} repositories, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    filled = time.perf_counter() - began
    process = importlib.import_module("psutil").Process()
    before, cpu = process.memory_info().rss, process.cpu_times().user
    sources = [remote(QdrantRepository(PublishedAddress.read(f"{server}/{name}"), fake_outbound())) for name in names]
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
                "fill_s": round(filled),
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
    for action in (asked, org):
        action.add_argument("--server", required=True, help="qdrant://HOST:PORT")
    given = parser.parse_args()
    if given.action == "quality":
        asyncio.run(quality(given.folder, given.server, given.repos))
    else:
        asyncio.run(organisation(given.server, given.repos, given.chunks, given.corpus, given.rounds))


if __name__ == "__main__":
    main()
