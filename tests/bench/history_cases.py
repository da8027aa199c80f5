"""How well search finds what a repository's own commits changed: the subject is the question, the changed files the answer.

Measured on the tree as it stands now, which already has the change: good for comparing settings and models on one
repository, a little kinder than asking before the commit was made.
"""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tests.support.repositories import CommitRecord

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, path_kinds
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, Hit
from carrel.pack.context import pack
from carrel.question.prepare import PreparedQuery
from carrel.search.retriever import retrieve

BUDGETS = (500, 1000, 2000, 4000)
"""Tokens of the packs that are judged."""
CUTOFF = 10
MOST_FILES = 8
"""A commit that touches more files is a sweep, not the answer to one question."""
LEAST_WORDS = 3
_ROUTINE = re.compile(r"(?i)^(?:merge|revert|bump|release|version|prepare|update changelog|v?\d+\.\d+)\b")
_NOT_ASKED_FOR = {"test", "example", "prose", "data", "generated"}


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the files that answer it."""

    sha: str
    question: str
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Figures:
    """One case's figures, from 0 to 1. `recall_at` is the share of the files that a pack of so many tokens shows."""

    case: Case
    ndcg: float
    recall: float  # of the files, among the first ten that were found
    first: bool  # the best hit is one of them
    recall_at: dict[int, float]
    milliseconds: float
    found: tuple[str, ...]  # the first ten files


def cases(history: Iterable[CommitRecord], indexed: Collection[str], limit: int) -> list[Case]:
    """Return commits that can be asked about: with a telling subject, and a few files of code that are in the index."""
    chosen = []
    for commit in history:
        paths = frozenset(p for p in commit.paths if p in indexed and _NOT_ASKED_FOR.isdisjoint(path_kinds(p)))
        subject = question_of(commit.subject)
        if 0 < len(paths) <= MOST_FILES and len(subject.split()) >= LEAST_WORDS and not is_routine(subject):
            chosen.append(Case(commit.sha, subject, paths))
        if len(chosen) == limit:
            break
    return chosen


def question_of(subject: str) -> str:
    """Return the subject of a commit without the number of its pull request."""
    return re.sub(r"\s*\(#\d+\)$", "", subject).strip()


def is_routine(subject: str) -> bool:
    """Tell whether a commit says nothing of the code: a merge, a release, a changelog."""
    return _ROUTINE.match(subject) is not None


def ndcg(hits: Sequence[str], wanted: Collection[str], cutoff: int = CUTOFF) -> float:
    """Return the NDCG with binary gains (Järvelin and Kekäläinen 2002), each file counted once."""
    seen: set[str] = set()
    gain = 0.0
    for rank, path in enumerate(hits[:cutoff], 1):
        if path in wanted and path not in seen:
            gain += 1 / math.log2(rank + 1)
        seen.add(path)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(cutoff, len(wanted)) + 1))
    return gain / ideal if ideal else 0.0


def measure(view: SnapshotView, prepared: PreparedQuery, tokenizer: Tokenizer, case: Case, cancel: CancelToken) -> Figures:
    """Ask a case's question, at least fifty hits of it, and judge the answer."""
    began = time.perf_counter()
    found = retrieve(view, prepared, cancel)
    took = prepared.milliseconds + 1000 * (time.perf_counter() - began)
    paths = [hit.chunk.path for hit in found.hits]
    files = tuple(dict.fromkeys(paths))[:CUTOFF]
    return Figures(
        case,
        ndcg(paths, case.paths),
        _share(files, case),
        bool(paths) and paths[0] in case.paths,
        {tokens: _share(_shown(found.hits[:CUTOFF], tokens, tokenizer), case) for tokens in BUDGETS},
        took,
        files,
    )


def _shown(hits: Sequence[Hit], tokens: int, tokenizer: Tokenizer) -> set[str]:
    return {item.hit.chunk.path for item in pack(hits, Budget(tokens, "tokens"), tokenizer).items}


def _share(paths: Collection[str], case: Case) -> float:
    return len(case.paths & set(paths)) / len(case.paths)


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over all cases, the median time of a query, and the questions that went worst."""

    questions: int
    ndcg10: float
    recall10: float
    hit1: float
    recall_at: dict[int, float]
    query_ms: float
    misses: tuple[Figures, ...]


def summarize(figures: Sequence[Figures], most_misses: int = 10) -> Summary:
    """Sum up; `figures` must not be empty."""

    def mean(value: Callable[[Figures], float]) -> float:
        return round(statistics.fmean(map(value, figures)), 4)

    misses = sorted((f for f in figures if f.ndcg < 0.5), key=lambda f: (f.ndcg, f.case.sha))
    return Summary(
        len(figures),
        mean(lambda f: f.ndcg),
        mean(lambda f: f.recall),
        mean(lambda f: float(f.first)),
        {tokens: round(statistics.fmean(f.recall_at[tokens] for f in figures), 4) for tokens in BUDGETS},
        round(statistics.median(f.milliseconds for f in figures), 2),
        tuple(misses[:most_misses]),
    )
