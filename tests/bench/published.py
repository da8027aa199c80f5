"""How good the search of published repositories is beside the local one: `python -m tests.bench.published FOLDER --server URL`.

FOLDER holds the benchmark's `evaluate.py` with its labels (see `tests.bench.quality`). What many repositories cost measures
`tests.bench.published_cluster`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.bench.quality import Bench, Figures, difference, row

from carrel.model.fakes import fake_outbound
from carrel.model.native import SecretOptions, mask_secrets
from carrel.model.published import PublishedAddress
from carrel.model.types import Hit, Query
from carrel.providers.local import bundled
from carrel.providers.published_repository import QdrantRepository
from carrel.question.question_secrets import mask_by
from carrel.settings.source_settings import SourceSettings
from carrel.sources.publishing import Checkout, Publication
from carrel.sources.remote_source import RemoteSource

COMMIT = "0" * 40


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


def main() -> None:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repos", nargs="+", default=["click", "gin"])
    parser.add_argument("--server", required=True, help="qdrant://HOST:PORT")
    given = parser.parse_args()
    asyncio.run(quality(given.folder, given.server, given.repos))


if __name__ == "__main__":
    main()
