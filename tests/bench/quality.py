"""Retrieval quality on labelled questions: `python -m tests.bench.quality FOLDER [--ablate] [--out FILE]`.

FOLDER holds the benchmark's `evaluate.py` with its labels; the corpora lie where that script looks for them. What is
measured is Carrel's own pipeline in process, and what a pack of so many tokens shows. Printed: the tables of
docs/quality.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import platformdirs
from tests.quality.mutate import OFF
from tests.support.indexing import run_index_blocking

from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Budget, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import LocalEmbedder, bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search import ranking
from carrel.search.retriever import Retrieval, find, read, retrieve

BUDGETS = (500, 1000, 2000)
HELD_OUT = 12
"""So many repositories, drawn with seed 7, had no part in fitting the ranking's weights."""
SHOWN = ("ndcg10", "recall10", "hit1", "recall@500t", "recall@1000t", "recall@2000t")
RULES = {
    "words": "words",
    "meaning": "meaning",
    "coverage": "coverage",
    "whole_file": "whole_file whole_file_of_change",
    "path_match": "path_exact path_prefix path_covered",
    "in_scope": "in_scope",
    "substance": "file_length chunk_lines",
    "name_match": "defines_named",
    "verbatim": "verbatim unrivalled",
    "path_penalty": "test secondary",
    "coherence": "coherence",
    "spread": "file_decay",
}
"""The weights of each rule; what is open in an editor matters to `tests.bench.scenes` only."""

Task = dict[str, Any]
Figures = dict[str, dict[str, float]]


class Bench:
    """Labelled questions and one index a repository."""

    def __init__(self, folder: Path, embedder: CoreEmbedder, name: str) -> None:
        self.scorer = _script(folder / "evaluate.py")
        self.embedder = embedder
        self._place = Path(platformdirs.user_cache_dir("carrel-bench-index")) / name
        self._stores: dict[str, Store] = {}
        self._views: dict[str, Snapshot] = {}
        self.latencies: list[float] = []

    def tasks(self, which: str) -> list[Task]:
        """`queries` or `commits`. Exit with a message where no corpus is there to ask."""
        if not (tasks := list(self.scorer.load_tasks(which))):
            remedy = "lay them out with the benchmark's export.py, and name their folder in CARREL_BENCH_CORPORA"
            sys.exit(f"No corpus of the {which} is there: {remedy}.")
        return tasks

    def view(self, root: str) -> Snapshot:
        """The index of a repository, brought up to date once."""
        if root not in self._views:
            self._stores[root], self._views[root] = indexed(root, self.embedder, self._place)
        return self._views[root]

    def store(self, root: str) -> Store:
        """The same index, to be published."""
        self.view(root)
        return self._stores[root]

    def ask(self, task: Task, k: int) -> Retrieval:
        """One question, its time kept."""
        view, query, token = self.view(task["repo_dir"]), Query(task["query"], limit=k), CancelToken()
        began = time.perf_counter()
        found = retrieve(view, prepare_blocking(query, self.embedder), token)
        self.latencies.append(time.perf_counter() - began)
        return found

    def figures(self, tasks: Iterable[Task], answer: Callable[[Task], list[tuple[str, int, int]]]) -> Figures:
        """The scorer's figures of each question."""
        return {task["id"]: self.scorer.score(task, answer(task)) for task in tasks}

    def ranked(self, task: Task, *, whole: bool = False) -> list[tuple[str, int, int]]:
        """50 hits as (path, first line, last line): the lines to read first, or the whole chunks."""
        hits = self.ask(task, 50).hits
        spans = ((h.chunk.path, (None if whole else h.focus) or (h.chunk.span.start_line, h.chunk.span.end_line)) for h in hits)
        return [(path, *lines) for path, lines in spans]

    def packed(self, task: Task, tokens: int) -> float:
        """Share of the places in question that a pack of so many tokens shows."""
        view, query, token = self.view(task["repo_dir"]), Query(task["query"]), CancelToken()
        ranking = find(view, prepare_blocking(query, self.embedder), token)
        found, budget = read(ranking, query, token), Budget(tokens, "tokens")
        items = pack_answer(ranking, found.hits, query, budget, ExactTokenizer(), token, read_lines=ranking.lines).items
        spans = [(i.hit.chunk.path, *run) for i in items for run in i.runs]
        return float(statistics.mean(any(self.scorer.hit(span, target) for span in spans) for target in task["targets"]))


def indexed(root: str, embedder: CoreEmbedder, place: Path) -> tuple[Store, Snapshot]:
    """The index of a repository, kept under `place` and brought up to date; the store must outlive the snapshot's use."""
    store = Store.open(
        str(place / root.strip("/").replace("/", "+")),
        root,
        embedder_id=embedder.spec.id,
        dim=embedder.spec.dim,
        walk=WalkOptions(),
        cut=CutOptions(),
    )
    run_index_blocking(store, embedder, CancelToken())
    return store, store.snapshot()


def _script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluate", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"{path} is not there: give the folder of the benchmark's evaluate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mean(figures: Figures, key: str, chosen: Callable[[str], bool] = lambda _: True) -> float:
    """Mean over questions."""
    values = [figure[key] for identity, figure in figures.items() if chosen(identity)]
    return statistics.mean(values) if values else float("nan")


def difference(base: Figures, other: Figures, key: str = "ndcg10", draws: int = 2000) -> tuple[float, float, float]:
    """Paired difference other - base with a 95 % interval by bootstrap over repositories."""
    groups: dict[str, list[float]] = defaultdict(list)
    for identity in base:
        groups[identity.split("#")[0]].append(other[identity][key] - base[identity][key])
    names, rng = sorted(groups), random.Random(0)  # noqa: S311 - repeatable, no secret
    means = sorted(
        statistics.fmean(value for name in (rng.choice(names) for _ in names) for value in groups[name]) for _ in range(draws)
    )
    every = [value for values in groups.values() for value in values]
    return statistics.fmean(every), means[int(0.025 * draws)], means[int(0.975 * draws)]


def row(name: str, figures: Figures, chosen: Callable[[str], bool] = lambda _: True) -> str:
    """One line of a table."""
    count = sum(map(chosen, figures))
    return f"| {name} | {count} | " + " | ".join(f"{mean(figures, key, chosen):.3f}" for key in SHOWN) + " |"


def tables(bench: Bench) -> dict[str, Figures]:
    """Overall, held-out, by category and language, commits, packs."""
    tasks = bench.tasks("queries")
    figures = bench.figures(tasks, bench.ranked)
    names = sorted({task["repo"] for task in tasks})
    held = set(random.Random(7).sample(names, min(HELD_OUT, len(names))))  # noqa: S311 - repeatable, no secret
    by_id = {task["id"]: task for task in tasks}
    print("| | n | NDCG@10 | recall@10 files | hit@1 | recall@500t | recall@1000t | recall@2000t |\n|" + " --- |" * 8)
    print(row("all", figures))
    print(row("repositories held out of fitting", figures, lambda i: by_id[i]["repo"] in held))
    print(row("whole chunks instead of their focus", bench.figures(tasks, lambda t: bench.ranked(t, whole=True))))
    for key in ("category", "language"):
        for value in sorted({task[key] for task in tasks}):
            print(row(value, figures, lambda i, key=key, value=value: by_id[i][key] == value))  # type: ignore[misc]
    commit_tasks = bench.tasks("commits")
    commits = bench.figures(commit_tasks, bench.ranked)
    print(row("commits", commits))
    for name in sorted({task["repo"] for task in commit_tasks}):
        print(row(f"commits: {name}", commits, lambda i, name=name: i.startswith(name + "#")))  # type: ignore[misc]
    print("\n| a pack of | shows of the 760 | of the commits |\n| --- | --- | --- |")
    for tokens in BUDGETS:
        shares = [statistics.mean(bench.packed(task, tokens) for task in chosen) for chosen in (tasks, commit_tasks)]
        print(f"| {tokens} tokens | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    times = sorted(bench.latencies)
    p50, p99 = (1000 * times[int(len(times) * share)] for share in (0.5, 0.99))
    print(f"\nquery p50 {p50:.1f} ms, p99 {p99:.1f} ms, {len(times)} queries")
    worst = sorted(figures, key=lambda i: figures[i]["ndcg10"])[:20]
    print("\n| NDCG@10 | repository | question |\n| --- | --- | --- |")
    for identity in worst:
        print(f"| {figures[identity]['ndcg10']:.2f} | {by_id[identity]['repo']} | {by_id[identity]['query']} |")
    return {"queries": figures, "commits": commits}


def ablate(bench: Bench, base: dict[str, Figures], hashed: Bench) -> None:
    """What each rule is worth: the loss without it."""
    sets = {which: bench.tasks(which) for which in base}
    print("\n| without | the 760 | 95 % | commits | 95 % |\n| --- | --- | --- | --- | --- |")

    def line(name: str, other: dict[str, Figures]) -> None:
        parts = [difference(base[which], other[which]) for which in base]
        print(f"| {name} | " + " | ".join(f"{d:+.4f} | [{low:+.4f}, {high:+.4f}]" for d, low, high in parts) + " |", flush=True)

    for rule, weights in RULES.items():
        ranking.WEIGHTS = {name: OFF.get(name, 0.0) for name in weights.split()}
        line(rule, {which: bench.figures(tasks, bench.ranked) for which, tasks in sets.items()})
    ranking.WEIGHTS = {}
    line("the trained model (hashed words instead)", {w: hashed.figures(tasks, hashed.ranked) for w, tasks in sets.items()})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the benchmark's evaluate.py and labels lie")
    parser.add_argument("--ablate", action="store_true", help="also without each rule (some minutes)")
    parser.add_argument("--out", type=Path, help="write the figures of each question as JSON")
    arguments = parser.parse_args()
    bench = Bench(arguments.folder, bundled(), "bundled")
    figures = tables(bench)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures))
    if arguments.ablate:
        ablate(bench, figures, Bench(arguments.folder, LocalEmbedder.hashed(), "hashed"))


if __name__ == "__main__":
    main()
