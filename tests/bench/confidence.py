"""Does the confidence tell questions with an answer from those without? `python -m tests.bench.confidence FOLDER [--fit]`.

FOLDER holds the benchmark's `evaluate.py` with its labels. With an answer: the labelled questions, each in the whole index and in
one without the files that answer eight others, and texts of one file (needles). Without one: questions whose answering files were
taken out, questions of projects of another kind and language, needles of another project, small talk and noise
(nothing_here.json). Every third repository by name is kept aside from fitting. Printed: the tables of docs/quality.md. `--fit`
also fits the weights again on the others, by Newton's method with an L2 penalty of 1. Each kind without an answer weighs the
same, and both classes together do.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
from tests.bench.needles import drawn, questions, readable
from tests.bench.quality import Bench, Task
from tests.support.indexing import run_index_blocking

from carrel.model.native import CancelToken, Candidate, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question import query_words
from carrel.question.prepare import prepare_blocking
from carrel.search import certainty
from carrel.search.retriever import find

TEXTS = Path(__file__).parent / "nothing_here.json"
TAKEN_OUT, OTHERS, NEEDLES, FOREIGN_NEEDLES, WORDS = 8, 10, 8, 4, 25
"""Of each repository."""
OFTEN, HITS = 10, 10
"""A word that is asked for stands at least so often; of so many hits the relevance is fitted."""
WITHOUT = ("taken out", "other project", "foreign needle", "small talk", "noise", "trivia")
KINDS = {
    "json": ["aeson", "circe", "jackson-databind", "newtonsoft-json", "nlohmann-json", "serde", "messagepack-csharp", "pydantic"],
    "http": ["curl", "httpx", "requests", "alamofire"],
    "web": ["ktor", "gin", "rails", "laravel-framework", "sinatra", "vapor", "plug", "trpc"],
    "shell": ["bash-it", "nvm"],
    "editor": ["mini.nvim", "telescope.nvim"],
    "zig": ["zig", "zls"],
    "async": ["kotlinx-coroutines", "tokio"],
}
"""Projects of one kind may answer each other's questions."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One question in one index: what was measured, and whether it can be answered there."""

    kind: str
    repo: str
    text: str
    answerable: bool
    found: float
    features: tuple[float, ...]
    ordered: tuple[Candidate, ...] = ()
    is_symbol: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A hit of a labelled question: what it scores by itself, its relevance, and whether it is in a file that answers."""

    score: float
    relevance: float
    is_right: bool


class Samples:
    """Asks every kind of question in every repository."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._tasks = bench, bench.tasks("queries")
        self.repos = sorted({task["repo"] for task in self._tasks})
        self.milliseconds: list[float] = []
        self._texts: dict[str, list[str]] = json.loads(TEXTS.read_text(encoding="utf-8"))
        self._elsewhere: list[str] = []  # needles of the repositories before

    def all(self) -> Iterator[Sample]:
        """Give the samples of each repository in turn."""
        rng = random.Random(11)  # noqa: S311 - repeatable, no secret
        for number, repo in enumerate(self.repos):
            yield from self._of(repo, number, rng)

    def hits(self, samples: Sequence[Sample], *, symbols: bool | None) -> list[Judged]:
        """Return the first hits of the labelled questions, judged by their labels; those of symbols, of the others, or of all."""
        targets = {(task["repo"], task["query"]): task["targets"] for task in self._tasks}
        matches, floor = self._bench.scorer.path_matches, self._bench.embedder.spec.floor
        found: list[Judged] = []
        for sample in samples:
            if sample.kind != "labelled" or symbols not in (None, sample.is_symbol):
                continue
            question = query_words.read(sample.text)
            for one in sample.ordered:
                is_right = any(matches(one.path, target[0]) for target in targets[sample.repo, sample.text])
                found.append(Judged(one.own_score, certainty.relevance(one, question, floor), is_right))
        return found

    def _of(self, repo: str, number: int, rng: random.Random) -> Iterator[Sample]:
        tasks = [task for task in self._tasks if task["repo"] == repo]
        view = self._bench.view(tasks[0]["repo_dir"])
        for task in tasks:
            yield self._ask(view, "labelled", repo, task["query"], answerable=True)
        for kind, texts in self._texts.items():
            for text in texts[number % 19 :: 19]:
                yield self._ask(view, kind.replace("_", " "), repo, text, answerable=False)
        language = tasks[0]["language"]
        others = [t for t in self._tasks if _kind(t["repo"]) != _kind(repo) and t["language"] != language]
        for task in rng.sample(others, OTHERS):
            yield self._ask(view, "other project", repo, task["query"], answerable=False)
        yield from self._words(view, repo)
        yield from self._needles(view, repo)
        yield from self._taken_out(view, repo, tasks, rng)

    def _words(self, view: Snapshot, repo: str) -> Iterator[Sample]:
        counts = Counter(word.lower() for text in readable(view).values() for word in re.findall(r"[A-Za-z]{4,}", text))
        often = sorted(word for word, count in counts.items() if count >= OFTEN)
        for word in random.Random(3).sample(often, min(WORDS, len(often))):  # noqa: S311 - repeatable, no secret
            yield self._ask(view, "word", repo, word, answerable=True)

    def _needles(self, view: Snapshot, repo: str) -> Iterator[Sample]:
        texts = readable(view)
        found = drawn(texts, 3, random.Random(5))  # noqa: S311 - repeatable, no secret
        random.Random(6).shuffle(found)  # noqa: S311
        for needle in found[:NEEDLES]:
            for _, text in list(questions(needle, texts, random.Random(7)))[:2]:  # noqa: S311
                yield self._ask(view, "needle", repo, text, answerable=True)
        foreign = [text for text in self._elsewhere if not any(text in whole for whole in texts.values())]
        for text in random.Random(8).sample(foreign, min(FOREIGN_NEEDLES, len(foreign))):  # noqa: S311
            for asked in (text, f"what is {text} for"):
                yield self._ask(view, "foreign needle", repo, asked, answerable=False)
        self._elsewhere += [needle.text for needle in found[:20]]

    def _taken_out(self, view: Snapshot, repo: str, tasks: Sequence[Task], rng: random.Random) -> Iterator[Sample]:
        out = rng.sample(list(tasks), TAKEN_OUT)
        matches = self._bench.scorer.path_matches
        gone = {path for path in view.paths() if any(matches(path, target[0]) for task in out for target in task["targets"])}
        store, stripped = self._without(repo, tasks[0]["repo_dir"], gone)
        if len(stripped.paths()) < 5:
            return
        for task in tasks:
            if task in out:
                yield self._ask(stripped, "taken out", repo, task["query"], answerable=False)
            elif not any(matches(path, target[0]) for path in gone for target in task["targets"]):
                yield self._ask(stripped, "labelled, other files out", repo, task["query"], answerable=True)
        del store

    def _without(self, repo: str, root: str, gone: set[str]) -> tuple[Store, Snapshot]:
        embedder = self._bench.embedder
        store = Store.open(
            str(Path(platformdirs.user_cache_dir("carrel-bench-index")) / "taken-out" / repo),
            root,
            embedder_id=embedder.spec.id,
            dim=embedder.spec.dim,
            walk=WalkOptions(exclude=sorted(f"/{path}" for path in gone)),
            cut=CutOptions(),
        )
        run_index_blocking(store, embedder, CancelToken())
        view = store.snapshot()
        left = gone & set(view.paths())
        if left:
            raise SystemExit(f"{repo}: {sorted(left)} should not be in the index")
        return store, view

    def _ask(self, view: Snapshot, kind: str, repo: str, text: str, *, answerable: bool) -> Sample:
        ranking = find(view, prepare_blocking(Query(text, limit=10), self._bench.embedder), CancelToken())
        began = time.perf_counter()
        ordered, question, floor = ranking.order.ranked, ranking.context.question, self._bench.embedder.spec.floor
        found = certainty.confidence(ordered, question, floor)
        self.milliseconds.append(1000 * (time.perf_counter() - began))
        features = certainty.features(ordered, question, floor) if ordered else (1.0, -10.0, 0.0, 0.0)
        return Sample(kind, repo, text, answerable, found, features, tuple(ordered[:HITS]), question.is_symbol)


def _kind(repo: str) -> str:
    return next((kind for kind, repos in KINDS.items() if repo in repos), repo)


def area(without: Sequence[float], with_answer: Sequence[float]) -> float:
    """Return the area under the curve: how often a question with an answer has the higher number, ties half."""
    _, places, counts = np.unique([*without, *with_answer], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    many = len(with_answer)
    return float((ranks[len(without) :].sum() - many * (many + 1) / 2) / (many * len(without)))


def fitted_relevance(hits: Sequence[Judged]) -> tuple[float, ...]:
    """Fit bias and weight of the own score of hits."""
    data = np.array([[1.0, hit.score] for hit in hits])
    return _newton(data, np.array([float(hit.is_right) for hit in hits]), np.ones(len(hits)))


def calibration(hits: Sequence[Judged]) -> None:
    """Print how many hits of a relevance are in a file that answers."""
    print("\n| relevance, kept aside | hits | mean | in a file that answers |\n|" + " --- |" * 4)
    for low in range(10):
        if inside := [hit for hit in hits if min(int(hit.relevance * 10), 9) == low]:
            mean = statistics.fmean(hit.relevance for hit in inside)
            right = statistics.fmean(hit.is_right for hit in inside)
            print(f"| {low / 10:.1f} to {low / 10 + 0.1:.1f} | {len(inside)} | {mean:.2f} | {right:.2f} |")


def weights_of(samples: Sequence[Sample]) -> list[float]:
    """Return what each sample weighs: kinds without an answer the same, both classes the same."""
    kinds = Counter((sample.answerable, sample.kind) for sample in samples)
    sides = Counter(answerable for answerable, _ in kinds)
    return [1 / (sides[s.answerable] * kinds[s.answerable, s.kind]) for s in samples]


def fitted(samples: Sequence[Sample]) -> tuple[float, ...]:
    """Fit the confidence. What lost only the files that answer still holds evidence, and would teach it to doubt all evidence."""
    samples = [sample for sample in samples if sample.kind != "taken out"]
    weights = np.array(weights_of(samples))
    weights *= len(samples) / weights.sum()
    data = np.array([sample.features for sample in samples])
    return _newton(data, np.array([float(sample.answerable) for sample in samples]), weights)


def _newton(data: np.ndarray, wanted: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    penalty = np.diag([0.0, *[1.0] * (data.shape[1] - 1)])
    chosen = np.zeros(data.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-data @ chosen))
        slope = data.T @ (weights * (likely - wanted)) + penalty @ chosen
        curvature = (data * (weights * likely * (1 - likely))[:, None]).T @ data + penalty
        chosen -= np.linalg.solve(curvature, slope)
    return tuple(round(float(value), 2) for value in chosen)


def tables(samples: Sequence[Sample], aside: set[str]) -> None:
    """Print what the confidence tells apart, how well it is calibrated, and what the floor costs."""
    groups = {"fitted on": [s for s in samples if s.repo not in aside], "kept aside": [s for s in samples if s.repo in aside]}
    print("| without an answer | n | AUC | AUC, kept aside | under the floor | mean |\n|" + " --- |" * 6)
    for kind in (*WITHOUT, ""):
        cells = []
        for chosen in (samples, groups["kept aside"]):
            positive = [s.found for s in chosen if s.answerable]
            kinds = [kind] if kind else WITHOUT
            cells.append(statistics.fmean(area([s.found for s in chosen if s.kind == one], positive) for one in kinds))
        of_kind = [s for s in samples if not s.answerable and (not kind or s.kind == kind)]
        under = sum(s.found < certainty.FLOOR for s in of_kind) / len(of_kind)
        mean = statistics.fmean(s.found for s in of_kind)
        print(f"| {kind or 'mean of the kinds'} | {len(of_kind)} | {cells[0]:.3f} | {cells[1]:.3f} | {under:.0%} | {mean:.2f} |")
    print("\n| with an answer | n | under the floor | mean |\n|" + " --- |" * 4)
    for kind in sorted({s.kind for s in samples if s.answerable}):
        of_kind = [s for s in samples if s.kind == kind]
        lost = sum(s.found < certainty.FLOOR for s in of_kind)
        print(f"| {kind} | {len(of_kind)} | {lost} | {statistics.fmean(s.found for s in of_kind):.2f} |")
    for name, group in groups.items():
        weights = weights_of(group)
        whole = sum(weights)
        brier = sum(w * (s.found - s.answerable) ** 2 for s, w in zip(group, weights, strict=True)) / whole
        print(f"\n{name}: Brier {brier:.3f}\n\n| confidence | n | mean | with an answer (weighed) |\n|" + " --- |" * 4)
        for low in range(10):
            inside = [(s, w) for s, w in zip(group, weights, strict=True) if min(int(s.found * 10), 9) == low]
            if inside:
                total = sum(w for _, w in inside)
                mean = sum(s.found * w for s, w in inside) / total
                share = sum(w for s, w in inside if s.answerable) / total
                print(f"| {low / 10:.1f} to {low / 10 + 0.1:.1f} | {len(inside)} | {mean:.2f} | {share:.2f} |")


def main() -> None:
    """Print the tables, or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the benchmark's evaluate.py and labels lie")
    parser.add_argument("--fit", action="store_true", help="also fit the weights again")
    parser.add_argument("--out", type=Path, help="write every question with its number as JSON")
    arguments = parser.parse_args()
    asking = Samples(Bench(arguments.folder, bundled(), "bundled"))
    samples = list(asking.all())
    aside = set(asking.repos[2::3])
    tables(samples, aside)
    print(f"\nmedian cost of the number: {1000 * statistics.median(asking.milliseconds):.0f} microseconds a question")
    if arguments.fit:
        known = [sample for sample in samples if sample.repo not in aside]
        print(f"\nOF_QUESTION = {fitted_relevance(asking.hits(known, symbols=False))}")
        print(f"OF_SYMBOL = {fitted_relevance(asking.hits(known, symbols=True))}\nCONFIDENCE = {fitted(known)}")
        calibration(asking.hits([sample for sample in samples if sample.repo in aside], symbols=None))
    if arguments.out:
        rows = [[s.kind, s.repo, s.text, s.found, *s.features] for s in samples]
        arguments.out.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
