"""How soon the files of another branch are searchable: `python -m tests.bench.branch_switch CHECKOUT COMMIT... [--move OLD NEW]`.

CHECKOUT is a clean git checkout, which is switched to each COMMIT and back. The list of changed files is found twice: by
comparing every file with the index, as Carrel does, and by asking git. `--move` renames a folder and back in place of switching.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from carrel.composition.composition import Composition
from carrel.git.git_process import ask
from carrel.index.open_index import OpenIndex
from carrel.model.native import CancelToken
from carrel.model_calls.embedding import embed_batch_blocking
from carrel.settings.settings import Settings

ROUNDS = 5


def main() -> None:
    """Measure every change a few times there and back; print medians in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("commits", nargs="*")
    parser.add_argument("--move", nargs=2, metavar=("OLD", "NEW"))
    arguments = parser.parse_args()
    root = arguments.checkout.resolve()
    home = _run(root, "rev-parse", "HEAD")
    with tempfile.TemporaryDirectory() as cache:
        index = Composition().open_index(root, Settings(cache_folder=cache))
        _bring_up_to_date(index)
        for commit in arguments.commits:
            _measure(index, f"switch to {commit}", ("checkout", "-q", commit), ("checkout", "-q", home))
        if arguments.move:
            old, new = arguments.move
            _measure(index, f"move {old}", ("mv", old, new), ("mv", new, old))
        index.store.close()


def _measure(index: OpenIndex, title: str, *changes: tuple[str, ...]) -> None:
    """Time what follows from each change, a few times in turn."""
    times: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for change in changes:
            old = _run(index.root, "rev-parse", "HEAD")
            _run(index.root, *change)
            began = time.perf_counter()
            _ask_git(index.root, old)
            times.setdefault("list by git", []).append(time.perf_counter() - began)
            files, chunks, stages = _bring_up_to_date(index)
            for stage, seconds in stages.items():
                times.setdefault(stage, []).append(seconds)
    medians = ", ".join(f"{stage} {1000 * statistics.median(seconds):.0f}" for stage, seconds in times.items())
    print(f"{title}: {files} files, {chunks} chunks embedded; ms: {medians}")


def _ask_git(root: Path, old: str) -> None:
    ask(root, "diff", "--name-status", "-M", "-z", "--no-ext-diff", "--no-textconv", old, "HEAD", "--")
    ask(root, "status", "--porcelain", "-z", "--untracked-files=all", "--", ".")


def _bring_up_to_date(index: OpenIndex) -> tuple[int, int, dict[str, float]]:
    """Do what `run_index` does, stage by stage: files and chunks that were new, and seconds of each stage."""
    token, store = CancelToken(), index.store
    began = time.perf_counter()
    plan = store.scan(token)
    seconds = {"list by comparing": time.perf_counter() - began, "cut": 0.0, "embed": 0.0, "commit": 0.0}
    files = chunks = 0
    while True:
        at = time.perf_counter()
        batch = store.cut(plan, token)
        cut = time.perf_counter()
        seconds["cut"] += cut - at
        if batch is None:
            store.compact(token)
            return files, chunks, seconds
        embed_batch_blocking(batch, index.embedder, token)
        embedded = time.perf_counter()
        commit = store.commit(batch, token)
        seconds["embed"] += embedded - cut
        seconds["commit"] += time.perf_counter() - embedded
        files, chunks = files + commit.added + commit.changed, chunks + commit.chunks


def _run(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
