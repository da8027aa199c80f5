"""Fit the weights of an issue's chunks: `python -m training.issue_weights CLONES REPORTS [BENCHMARK]`.

REPORTS is what `training.issue_reports` wrote, BENCHMARK the issues of `tests/bench/issues.py`, both JSON lines; CLONES holds the git
directories. Each issue is asked at the state before its fix, and the signals of all chunks that a part of its text finds are kept
under `$CARREL_TRAINING/issues`, so that a run that was stopped goes on. A new signal is asked for with `--again`.

A listwise softmax over an issue's chunks is fitted: half of the loss is the logarithm of the odds that any
right one is drawn, half the mean of those of all, and L2 draws the standardised weights to 0. Printed: the weights, and how often all
places of an issue are among the first k, with weights that were fitted on other projects (five folds), and on the projects kept aside.

Carrel must be installed beside `training/requirements.txt`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.optimize import minimize
from tests.bench.issues import KEPT_ASIDE, Case, at_their_commits
from tests.bench.quality import indexed

from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.candidates import Stopwatch
from carrel.search.issue_chunks import BEST_CHUNK_BONUS, FITTED, ChunkSignals
from carrel.search.localize import localize
from carrel.search.order import Place
from training.places import WORK

KEPT = WORK / "issues"
L2 = 0.005
FOLDS = 5
HITS = 100
LEAST_BEHIND = -8.0
"""Points behind the best file: further behind are those that a penalty puts there."""
FILE_CUTOFFS, PLACE_CUTOFFS = (1, 3, 5, 10), (5, 10, 20)
FILE_SCORE, FILE_PLACE = (ChunkSignals._fields.index(name) for name in ("file_score", "file_place"))


class Weighed(NamedTuple):
    """The chunks of an issue: `signals` is (number, signals)."""

    signals: np.ndarray
    is_right: np.ndarray


@dataclass(frozen=True, slots=True)
class Asked:
    """An issue and the chunks that were found."""

    case: Case
    spans: list[tuple[str, int, int]]
    chunks: Weighed


def record(clones: Path, cases: Sequence[Case], folder: Path) -> None:
    """Ask the issues of one project, in the order of its history, and keep what is found."""
    embedder = bundled()
    for case, tree in at_their_commits(cases, clones, folder / "trees"):
        store, view = indexed(str(tree.folder), embedder, folder / "indexes")
        prepared = prepare_blocking(Query(case.text, limit=HITS), embedder)
        answer = localize(view, prepared.issue, prepared, CancelToken(), Stopwatch()) if prepared.issue else None
        # those that write a message come first whatever else is known of them
        chunks = [place for place in answer.order.places if "writes_message" not in dict(place.steps)] if answer else []
        store.close()
        np.savez_compressed(
            kept_at(folder, case),
            signals=np.array([_signals(place) for place in chunks], np.float32).reshape(-1, len(ChunkSignals._fields)),
            paths=[place.candidate.path for place in chunks],
            lines=[(place.candidate.start_line, place.candidate.end_line) for place in chunks],
        )


def _signals(place: Place) -> list[float]:
    """Return what is known of a chunk, from what each signal added to its score."""
    steps = dict(place.steps)
    return [steps[name] / weight for name, weight in zip(FITTED._fields, FITTED, strict=True)]


def kept_at(folder: Path, case: Case) -> Path:
    """Return the file of an issue's signals."""
    return folder / (re.sub(r"[^\w.+-]", "_", case.id) + ".npz")


def load(folder: Path, case: Case) -> Asked | None:
    """Read what was kept; nothing for an issue that couldn't be asked, or that isn't read in parts."""
    try:
        kept = np.load(kept_at(folder, case))
    except FileNotFoundError:
        return None
    if not len(kept["paths"]):
        return None
    spans = [(str(path), int(first), int(last)) for path, (first, last) in zip(kept["paths"], kept["lines"], strict=True)]
    is_right = np.array([any(place.overlaps([span]) for place in case.gold_functions) for span in spans])
    return Asked(case, spans, Weighed(kept["signals"], is_right))


def fit(asked: Sequence[Asked]) -> np.ndarray:
    """Return the weights of all signals."""
    return softmax_weights([Weighed(inputs(issue.chunks.signals), issue.chunks.is_right) for issue in asked])


def softmax_weights(issues: Sequence[Weighed]) -> np.ndarray:
    """Return the weights that give the right ones of each issue the best odds; issues without a right one tell nothing."""
    known = [issue for issue in issues if issue.is_right.any()]
    x = np.concatenate([issue.signals for issue in known]).astype(np.float64)
    mean, spread = x.mean(0), x.std(0) + 1e-6
    x = (x - mean) / spread
    right = np.concatenate([issue.is_right for issue in known]).astype(np.float64)
    sizes = np.array([len(issue.is_right) for issue in known])
    starts = np.cumsum([0, *sizes])[:-1]
    sum_of = partial(np.add.reduceat, indices=starts)
    share = right / np.repeat(sum_of(right), sizes)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        score = x @ w
        score -= np.repeat(np.maximum.reduceat(score, starts), sizes)
        odds = np.exp(score)
        total, of_right = sum_of(odds), sum_of(odds * right)
        p, q = odds / np.repeat(total, sizes), odds * right / np.repeat(of_right, sizes)
        value = 0.5 * (np.log(total) - np.log(of_right)).mean() + 0.5 * (np.log(total) - sum_of(score * share)).mean()
        slope = x.T @ (p - 0.5 * q - 0.5 * share) / len(known)
        return value + L2 * w @ w, slope + 2 * L2 * w

    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x / spread


def inputs(signals: np.ndarray) -> np.ndarray:
    """Return the signals of chunks that are fitted."""
    x = signals.astype(np.float64)
    x[:, FILE_SCORE] = np.maximum(x[:, FILE_SCORE], LEAST_BEHIND)  # how far behind would rule the spread of the signal
    return x


def hits(issue: Asked, weights: np.ndarray) -> Iterator[tuple[str, int, int]]:
    """Order an issue's chunks as Carrel does, without those that overlap a better one."""
    signals = issue.chunks.signals
    scores = signals @ weights
    seen: set[str] = set()
    for at in np.argsort(-scores, kind="stable"):
        if (path := issue.spans[at][0]) not in seen:
            seen.add(path)
            scores[at] += BEST_CHUNK_BONUS * signals[at, FILE_PLACE]
    taken: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at in np.argsort(-scores, kind="stable"):
        path, first, last = issue.spans[at]
        if not any(a <= last and first <= b for a, b in taken[path]):
            taken[path].append((first, last))
            yield path, first, last


def figures(issue: Asked, weights: np.ndarray) -> dict[str, bool]:
    """Tell at which cutoffs all places are found."""
    places, case = list(islice(hits(issue, weights), HITS)), issue.case
    files = list(dict.fromkeys(path for path, _, _ in places))
    found = {f"file @{k}": set(case.gold_files) <= set(files[:k]) for k in FILE_CUTOFFS}
    if case.gold_functions:
        found |= {f"place @{k}": all(place.overlaps(places[:k]) for place in case.gold_functions) for k in PLACE_CUTOFFS}
    return found


def table(rows: Iterable[tuple[str, Sequence[dict[str, bool]]]]) -> None:
    """Print the shares in percent."""
    heads = [*(f"file @{k}" for k in FILE_CUTOFFS), *(f"place @{k}" for k in PLACE_CUTOFFS)]
    print("| | n | " + " | ".join(heads) + " |\n|" + " --- |" * (len(heads) + 2))
    for name, chosen in rows:
        cells = [f"{100 * np.mean([found[head] for found in chosen if head in found]):.1f}" for head in heads]
        print(f"| {name} | {len(chosen)} | " + " | ".join(cells) + " |")


def is_aside(case: Case) -> bool:
    """Tell whether an issue of the reports is only checked on: by a hash of its project's name."""
    digest = hashlib.sha256(case.repo.encode()).digest()
    return digest[0] % 3 == 0 if is_python(case) else digest[1] % 2 == 0


def is_python(case: Case) -> bool:
    """Tell whether a fix changes Python alone."""
    return all(path.endswith(".py") for path in case.gold_files)


def split(reports: Sequence[Case], benchmark: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Return what to fit on and what to check on. A project that would be on both sides is left out."""
    sides: dict[str, set[bool]] = defaultdict(set)
    for case in reports:
        sides[case.repo].add(is_aside(case))
    clear = [case for case in reports if len(sides[case.repo]) == 1]
    kept_aside = KEPT_ASIDE.split(",")
    aside = [case for case in clear if is_aside(case)] + [case for case in benchmark if case.repo in kept_aside]
    return [case for case in clear if not is_aside(case)] + [case for case in benchmark if case.repo not in kept_aside], aside


def by_folds(asked: Sequence[Asked]) -> list[dict[str, bool]]:
    """Return the figures of each issue by weights that were fitted on other projects."""
    repos = sorted({issue.case.repo for issue in asked}, key=lambda repo: hashlib.md5(repo.encode()).hexdigest())  # noqa: S324
    fold = {repo: number % FOLDS for number, repo in enumerate(repos)}
    weights = [fit([issue for issue in asked if fold[issue.case.repo] != k]) for k in range(FOLDS)]
    return [figures(issue, weights[fold[issue.case.repo]]) for issue in asked]


def read(file: Path | None) -> list[Case]:
    """Read issues."""
    lines = file.read_text("utf-8").splitlines() if file else []
    return [msgspec.json.decode(line, type=Case) for line in lines]


def main() -> None:
    """Ask, fit, and print the weights and figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("reports", type=Path)
    parser.add_argument("benchmark", type=Path, nargs="?")
    parser.add_argument("--again", action="store_true", help="ask issues whose signals are kept, too")
    arguments = parser.parse_args()
    fitted, aside = split(read(arguments.reports), read(arguments.benchmark))
    KEPT.mkdir(parents=True, exist_ok=True)
    todo: dict[str, list[Case]] = defaultdict(list)
    for case in fitted + aside:
        if arguments.again or not kept_at(KEPT, case).exists():
            todo[case.clone].append(case)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        largest_first = sorted(todo.values(), key=len, reverse=True)
        for _ in pool.map(partial(record, arguments.clones.resolve()), largest_first, [KEPT] * len(todo)):
            pass
    asked = [issue for case in fitted if (issue := load(KEPT, case))]
    checked = [issue for case in aside if (issue := load(KEPT, case))]
    shipped, weights = np.array(FITTED), fit(asked)
    print("| signal | shipped | fitted |\n| --- | --- | --- |")
    for name, before, now in zip(ChunkSignals._fields, shipped, weights, strict=True):
        print(f"| {name} | {before:.2f} | {now:.2f} |")
    kinds: list[tuple[str, Callable[[Asked], bool]]] = [
        ("Python", lambda issue: is_python(issue.case)),
        ("other languages", lambda issue: not is_python(issue.case)),
    ]
    rows = [
        ("fitted on, shipped weights", [figures(issue, shipped) for issue in asked]),
        ("fitted on, by folds", by_folds(asked)),
    ]
    for name, belongs in kinds:
        for of, chosen in (("shipped", shipped), ("fitted", weights)):
            rows.append((f"kept aside, {name}, {of}", [figures(issue, chosen) for issue in checked if belongs(issue)]))
    table(rows)


if __name__ == "__main__":
    main()
