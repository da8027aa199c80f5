"""Do packs show the lines that answer? `python -m tests.bench.spans [--only NAME] [--hits N] [--out FILE]`.

The questions of tests/bench/spans with their answering lines, over pinned packages that are fetched at the first run and kept.
Printed: the mean share of a question's answering lines (blank ones left out) that packs of so many tokens show, and how many
questions are answered wholly; by language, by kind, what was fitted on and what was kept aside apart. `BM25` is a baseline in the
same run: windows of 40 lines, ranked by the words of the question, as many as the budget holds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from tests.bench.quality import indexed
from tests.bench.spans_packages import FetchError, Package, Question, packages, problems, sources

from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken, Snapshot, split_names, stem
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, Query
from carrel.pack.context import pack_answer
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import find, read

BUDGETS = (1_000, 2_000, 4_000, 8_000)
HITS = 50
WINDOW, STEP = 40, 20
K1, B = 1.2, 0.75

Lines = set[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the share of its answering lines that packs show, by budget; of Carrel and of the baseline."""

    package: Package
    question: Question
    shown: dict[int, float]
    baseline: dict[int, float]
    milliseconds: float


class Windows:
    """BM25 over overlapping windows of lines."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.places: list[tuple[str, int, str]] = []
        self._counts: list[Counter[str]] = []
        for path, text in sorted(texts.items()):
            lines = text.splitlines()
            for start in range(0, max(1, len(lines) - STEP), STEP):
                body = "\n".join(lines[start : start + WINDOW])
                self.places.append((path, start + 1, body))
                self._counts.append(Counter(map(stem, split_names(body))))
        self._holders = Counter(word for counts in self._counts for word in counts)
        self._mean = statistics.fmean(counts.total() for counts in self._counts)

    def ranked(self, question: str) -> list[tuple[str, int, str]]:
        """Windows with a word of the question, best first."""
        words = {stem(word) for word in split_names(question)} & self._holders.keys()
        total = len(self._counts)
        rarity = {word: math.log(1 + (total - self._holders[word] + 0.5) / (self._holders[word] + 0.5)) for word in words}
        scores = [
            sum(
                rarity[word] * counts[word] * (K1 + 1) / (counts[word] + K1 * (1 - B + B * counts.total() / self._mean))
                for word in words & counts.keys()
            )
            for counts in self._counts
        ]
        order = sorted(range(total), key=lambda place: -scores[place])
        return [self.places[place] for place in order if scores[place] > 0]


def fill(windows: Iterable[tuple[str, int, str]], amount: int, tokenizer: Tokenizer) -> Lines:
    """The lines of the best windows that fit so many tokens; each line is paid for once."""
    shown: Lines = set()
    for path, start, body in windows:
        fresh = [(number, line) for number, line in enumerate(body.splitlines(), start) if (path, number) not in shown]
        cost = tokenizer.count(path + "\n" + "\n".join(line for _, line in fresh))
        if cost > amount:
            break
        amount -= cost
        shown.update((path, number) for number, _ in fresh)
    return shown


def packed(
    view: Snapshot, question: str, amount: int, embedder: CoreEmbedder, tokenizer: Tokenizer, *, hits: int = HITS
) -> Lines:
    """The lines that a pack shows."""
    query, token = Query(question, limit=hits), CancelToken()
    ranking = find(view, prepare_blocking(query, embedder), token)
    found = read(ranking, query, token)
    items = pack_answer(ranking, found.hits, query, Budget(amount, "tokens"), tokenizer, token, read_lines=ranking.lines).items
    spans = ((i.hit.chunk.path, *run) for i in items for run in i.runs)
    return {(path, number) for path, first, last in spans for number in range(first, last + 1)}


def share(question: Question, shown: Lines, texts: dict[str, str]) -> float:
    """Of a question's answering lines that aren't blank: the share that is shown."""
    wanted = answering(question, texts)
    return len(wanted & shown) / len(wanted)


def answering(question: Question, texts: dict[str, str]) -> Lines:
    """A question's answering lines that aren't blank."""
    wanted: Lines = set()
    for answer in question.answers:
        lines = texts[answer.path].splitlines()
        wanted |= {(answer.path, n) for n in range(answer.start, answer.end + 1) if lines[n - 1].strip()}
    return wanted


def ask(package: Package, root: Path, embedder: CoreEmbedder, tokenizer: Tokenizer, place: Path, hits: int) -> list[Asked]:
    """Index a package and ask all its questions."""
    store, view = indexed(str(root), embedder, place)
    texts = {path: text for path in view.paths() if (text := view.text(path)) is not None}
    windows = Windows(texts)
    asked = []
    for question in package.questions:
        began = time.perf_counter()
        shown = {n: share(question, packed(view, question.question, n, embedder, tokenizer, hits=hits), texts) for n in BUDGETS}
        took = 1000 * (time.perf_counter() - began) / len(BUDGETS)
        ranked = windows.ranked(question.question)
        baseline = {n: share(question, fill(ranked, n, tokenizer), texts) for n in BUDGETS}
        asked.append(Asked(package, question, shown, baseline, took))
    store.close()
    return asked


def row(name: str, chosen: Sequence[Asked]) -> str:
    """One line of the table."""

    def cells(figures: Callable[[Asked], dict[int, float]]) -> Iterable[str]:
        for amount in BUDGETS:
            values = [figures(one)[amount] for one in chosen]
            yield f"{100 * statistics.fmean(values):.1f} ({100 * statistics.fmean(v == 1 for v in values):.0f})"

    carrel, baseline = cells(lambda one: one.shown), cells(lambda one: one.baseline)
    return f"| {name} | {len(chosen)} | " + " | ".join([*carrel, *baseline]) + " |"


def table(asked: Sequence[Asked]) -> None:
    """Print it."""
    heads = [f"{n // 1000}k" for n in BUDGETS] + [f"BM25 {n // 1000}k" for n in BUDGETS]
    print("| % of the lines (of questions wholly answered) | n | " + " | ".join(heads) + " |\n|" + " --- |" * (len(heads) + 2))
    print(row("all", asked))
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        groups["kept aside" if one.package.kept_aside else "fitted on"].append(one)
    for one in sorted(asked, key=lambda one: (one.package.language, one.question.kind)):
        groups[one.package.language].append(one)
    for one in sorted(asked, key=lambda one: one.question.kind):
        groups[f"kind: {one.question.kind}"].append(one)
    for name, chosen in groups.items():
        print(row(name, chosen))
    print(f"\nmedian of a question with its pack: {statistics.median(one.milliseconds for one in asked):.1f} ms")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only packages whose name holds this")
    parser.add_argument("--hits", type=int, default=HITS, help=f"hits to ask for ({HITS})")
    parser.add_argument("--out", type=Path, help="write the figures of each question as JSON")
    arguments = parser.parse_args()
    cache = Path(platformdirs.user_cache_dir("carrel-bench-spans"))
    embedder, tokenizer = bundled(), ExactTokenizer()
    asked: list[Asked] = []
    for package in packages():
        if arguments.only not in package.package:
            continue
        try:
            root = sources(package, cache / "packages")
        except FetchError as error:
            sys.exit(str(error))
        if wrong := problems(package, root):
            sys.exit("\n".join(wrong))
        asked += ask(package, root, embedder, tokenizer, cache / "indexes", arguments.hits)
    if not asked:
        sys.exit(f"No labelled package has a name that holds {arguments.only!r}.")
    table(asked)
    if arguments.out:
        arguments.out.write_text(json.dumps({one.question.id: [one.shown, one.baseline] for one in asked}))


if __name__ == "__main__":
    main()
