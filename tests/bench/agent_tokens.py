"""How many tokens does a reader take in until it has seen the answer?

`python -m tests.bench.agent_tokens [--issues CLONES FILE]`. No model takes part. Three scripted readers have the questions of
tests/bench/spans and, with `--issues`, a sample of issues (as in tests/bench/issues.py). Tokens are those of all outputs, each
counted once and whole, up to the one after which the answer was seen; what isn't seen within 30,000 tokens or 40 steps is never
reached, and counts as 30,000. The answer to a question is all its answering lines that aren't blank; to an issue half of the
lines of each function that its fix changed.

The rules of the reader that searches and reads, `grep`, were written before anything was measured:

1. Its terms are the words of the question of four letters or more. Names of code (with `_`, `.`, `::`, a capital inside, or in
   backticks) come before plain words, and among each the rarer first: those that fewest lines of the project hold, in any case of
   letters. A term that no line holds is dropped, and of a long text the first twelve terms stay.
2. A step is a search for the next term (`path:line:text` of each line that holds it, as ripgrep prints them by path, 200
   characters of a line and 50 lines at most), or a read of 100 numbered lines of a file around a line that a search showed.
3. First come three searches, then two reads after each further search, and reads alone when no term is left. It reads where the
   100 lines hold the most: each term that a search showed there counts once, by its rarity; half in tests and documents.
   Lines that were read already are no reason to read.

`context` gets a pack of 1,500 tokens (5 places) first, then does the same, knowing what the pack showed. `places` first asks for
8 places alone, as `search_code` with `format: "places"` gives them, reads each (100 lines at most), then does the same.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import platformdirs
from tests.bench.issues import Case, at_their_commits
from tests.bench.quality import indexed
from tests.bench.spans import Lines, answering
from tests.bench.spans_packages import packages, sources

from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken, Snapshot
from carrel.model.ports import Tokenizer
from carrel.model.types import Budget, Query
from carrel.pack.context import pack_answer
from carrel.pack.formats import places_text
from carrel.providers.local import bundled
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import find, read, retrieve

MOST_TOKENS, MOST_STEPS = 30_000, 40
TERMS, SHOWN_LINES, SHOWN_CHARACTERS, READ_LINES = 12, 50, 200, 100
SEARCHES_FIRST, READS_EACH = 3, 2
PACK_TOKENS, PACK_PLACES, PLACES = 1_500, 5, 8
READERS = ("grep", "context", "places")

_WORD = re.compile(r"`[^`\s]+`|[A-Za-z_][\w.:]*\w")
_NAME = re.compile(r"[_.`]|::|[a-z][A-Z]")
_BESIDE = re.compile(r"(?:^|[/_.])(?:tests?|spec|docs?)(?:[/_.]|$)|\.(?:md|rst|txt)$", re.IGNORECASE)

Output = tuple[str, Lines]
"""What a step prints, and the lines of files that it shows."""


class Project:
    """The files of an index as lines."""

    def __init__(self, view: Snapshot) -> None:
        self.view = view
        texts = ((path, view.text(path)) for path in sorted(view.paths()))
        self.texts = {path: text for path, text in texts if text is not None}
        self.lines = {path: text.splitlines() for path, text in self.texts.items()}
        self._lower = {path: text.lower() for path, text in self.texts.items()}
        self.count = sum(map(len, self.lines.values()))

    def holding(self, term: str) -> list[tuple[str, int]]:
        """Places of the lines that hold a term, in the order of their paths."""
        term = term.lower()
        return [
            (path, number)
            for path, text in self._lower.items()
            if term in text
            for number, line in enumerate(text.splitlines(), 1)
            if term in line
        ]

    def read(self, path: str, first: int, last: int) -> Output:
        """Numbered lines of a file."""
        numbers = range(max(first, 1), min(last, len(self.lines[path])) + 1)
        return "\n".join(f"{n}\t{self.lines[path][n - 1]}" for n in numbers), {(path, n) for n in numbers}


@dataclass(slots=True)
class Searcher:
    """The reader that searches and reads; `seen` are lines around which it needn't look: read, or shown by Carrel."""

    project: Project
    terms: list[tuple[str, list[tuple[str, int]]]]
    seen: Lines = field(default_factory=set)
    _shown: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def steps(self) -> Iterator[Output]:
        """Yield what each step prints, until there is nothing more to do."""
        left = list(self.terms)
        for _ in range(min(SEARCHES_FIRST, len(left))):
            yield self._search(*left.pop(0))
        while True:
            reads = 0
            while (not left or reads < READS_EACH) and (place := self._best()):
                reads += 1
                path, line = place
                output = self.project.read(path, line - READ_LINES // 2, line + READ_LINES // 2 - 1)
                self.seen |= output[1]
                yield output
            if not left:
                return
            yield self._search(*left.pop(0))

    def _search(self, term: str, places: list[tuple[str, int]]) -> Output:
        for path, number in places[:SHOWN_LINES]:
            self._shown[path][number].add(term)
        lines = [f"{path}:{n}:{self.project.lines[path][n - 1][:SHOWN_CHARACTERS]}" for path, n in places[:SHOWN_LINES]]
        return "\n".join(lines), set(places[:SHOWN_LINES])

    def _best(self) -> tuple[str, int] | None:
        """Return the line around which to read: one that no read and no pack showed, beside as many rare terms as can be."""
        weights = {term: math.log(1 + self.project.count / len(places)) for term, places in self.terms}
        best, place = 0.0, None
        for path, shown in self._shown.items():
            fresh = {n: terms for n, terms in shown.items() if (path, n) not in self.seen}
            for line in fresh:
                near = range(line - READ_LINES // 2, line + READ_LINES // 2)
                terms = set().union(*(terms for n, terms in fresh.items() if n in near))
                value = sum(weights[term] for term in terms) * (0.5 if _BESIDE.search(path) else 1)
                if value > best:
                    best, place = value, (path, line)
        return place


def terms_of(text: str, project: Project) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return the terms of a text and the lines that hold them, in the order in which they are searched for."""
    words = list(dict.fromkeys(word.strip("`") for word in _WORD.findall(text) if len(word.strip("`")) >= 4))
    names = [word for word in words if _NAME.search(word)]
    found = []
    for group in (names, [word for word in words if word not in names]):
        held = [(word, places) for word in group if (places := project.holding(word))]
        found += sorted(held, key=lambda one: len(one[1]))
    return found[:TERMS]


@dataclass(frozen=True, slots=True)
class Reached:
    """The tokens that each reader took in for one question; None where it never saw the answer."""

    name: str
    tokens: dict[str, int | None]


def ask(name: str, text: str, project: Project, seen_all: Callable[[Lines], bool], tools: Tools) -> Reached:
    """Let all readers look for an answer."""
    terms = terms_of(text, project)
    tokens: dict[str, int | None] = {}
    first: dict[str, Callable[[], Iterator[Output]]] = {
        "grep": lambda: iter(()),
        "context": lambda: tools.packed(project, text),
        "places": lambda: tools.places(project, text),
    }
    for reader in READERS:
        tokens[reader] = taken_in(Searcher(project, terms), first[reader](), seen_all, tools.tokenizer)
    return Reached(name, tokens)


def taken_in(searcher: Searcher, first: Iterator[Output], seen_all: Callable[[Lines], bool], tokenizer: Tokenizer) -> int | None:
    """Return the tokens of all outputs up to the one after which the answer was seen."""
    total, shown = 0, set[tuple[str, int]]()
    for number, (text, lines) in enumerate(_outputs(searcher, first)):
        total += tokenizer.count(text)
        shown |= lines
        if total > MOST_TOKENS or number >= MOST_STEPS:
            return None
        if seen_all(shown):
            return total
    return None


def _outputs(searcher: Searcher, first: Iterator[Output]) -> Iterator[Output]:
    for output in first:
        searcher.seen |= output[1]
        yield output
    yield from searcher.steps()


@dataclass(frozen=True, slots=True)
class Tools:
    """What Carrel gives to a reader."""

    embedder: CoreEmbedder
    tokenizer: Tokenizer

    def packed(self, project: Project, text: str) -> Iterator[Output]:
        """A pack."""
        query, token = Query(text, limit=PACK_PLACES), CancelToken()
        ranking = find(project.view, prepare_blocking(query, self.embedder), token)
        budget = Budget(PACK_TOKENS, "tokens")
        pack = pack_answer(
            ranking, read(ranking, query, token).hits, query, budget, self.tokenizer, token, read_lines=ranking.lines
        )
        runs = ((item.hit.chunk.path, *run) for item in pack.items for run in item.runs)
        yield pack.text, {(path, number) for path, first, last in runs for number in range(first, last + 1)}

    def places(self, project: Project, text: str) -> Iterator[Output]:
        """Places alone, then the lines of each."""
        query = Query(text, limit=PLACES)
        hits = retrieve(project.view, prepare_blocking(query, self.embedder), CancelToken()).hits
        yield places_text(hits), set()
        for hit in hits:
            span = hit.chunk.span
            yield project.read(hit.chunk.path, span.start_line, min(span.end_line, span.start_line + READ_LINES - 1))


def questions(tools: Tools, cache: Path, most: int | None) -> Iterator[Reached]:
    """Ask the questions with answering lines, of each package so many."""
    for package in packages():
        root = sources(package, cache / "packages")
        store, view = indexed(str(root), tools.embedder, cache / "indexes")
        project = Project(view)
        for question in package.questions[:most]:
            wanted = answering(question, project.texts)
            yield ask(question.id, question.question, project, lambda shown, wanted=wanted: wanted <= shown, tools)  # type: ignore[misc]
        store.close()


def issues(tools: Tools, cache: Path, clones: Path, cases: Sequence[Case]) -> Iterator[Reached]:
    """Ask issues, each at the commit before its fix."""
    for case, tree in at_their_commits(cases, clones, cache / "trees"):
        store, view = indexed(str(tree.folder), tools.embedder, cache / "indexes")
        project = Project(view)
        changed = [
            {(f.file, n) for n in range(f.start, f.end + 1) if project.lines[f.file][n - 1 : n] != [""]}
            for f in case.gold_functions
            if f.file in project.lines
        ]
        if changed and all(changed):

            def seen_all(shown: Lines, changed: list[Lines] = changed) -> bool:
                return all(2 * len(lines & shown) >= len(lines) for lines in changed)

            yield ask(case.id, case.text, project, seen_all, tools)
        store.close()


def table(name: str, asked: Sequence[Reached]) -> None:
    """Print medians, shares and the paired comparison."""
    print(
        f"\n{name}, {len(asked)}\n| reader | median tokens | never reached | fewer than grep / more |\n| --- | --- | --- | --- |"
    )

    def counted(one: Reached, reader: str) -> int:
        tokens = one.tokens[reader]
        return MOST_TOKENS if tokens is None else tokens

    for reader in READERS:
        median = statistics.median(counted(one, reader) for one in asked)
        never = statistics.fmean(one.tokens[reader] is None for one in asked)
        fewer = statistics.fmean(counted(one, reader) < counted(one, "grep") for one in asked)
        more = statistics.fmean(counted(one, reader) > counted(one, "grep") for one in asked)
        print(f"| {reader} | {median:,.0f} | {never:.0%} | {fewer:.0%} / {more:.0%} |")
    both = [one for one in asked if None not in one.tokens.values()]
    for reader in READERS[1:] if both else ():
        ratio = statistics.median(counted(one, reader) / counted(one, "grep") for one in both)
        print(f"where all reach it ({len(both)}): {reader} takes {ratio:.2f} of grep's tokens at the median")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, help="questions of each package (all)")
    parser.add_argument(
        "--issues", type=Path, nargs=2, metavar=("CLONES", "FILE"), help="git directories, and issues as JSON lines"
    )
    parser.add_argument("--sample", type=int, default=40, help="issues, drawn with seed 7 (40)")
    parser.add_argument("--out", type=Path, help="write the tokens of each question as JSON")
    arguments = parser.parse_args()
    cache, tools = Path(platformdirs.user_cache_dir("carrel-bench-spans")), Tools(bundled(), ExactTokenizer())
    asked = list(questions(tools, cache, arguments.each))
    table("questions", asked)
    if arguments.issues:
        clones, file = arguments.issues
        cases = [msgspec.json.decode(line, type=Case) for line in file.read_bytes().splitlines() if line.strip()]
        cases = [case for case in cases if case.gold_functions]
        drawn = random.Random(7).sample(cases, min(arguments.sample, len(cases)))  # noqa: S311 - repeatable, no secret
        found = list(issues(tools, Path(platformdirs.user_cache_dir("carrel-bench-issues")), clones, drawn))
        table("issues", found)
        asked += found
    if arguments.out:
        arguments.out.write_text(json.dumps({one.name: one.tokens for one in asked}))


if __name__ == "__main__":
    main()
