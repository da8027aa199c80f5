"""Is exact text found wherever it stands? `python -m tests.bench.needles FOLDER… [--count N] [--seed S]`.

Of each folder so many texts of a kind are drawn that stand in one of its files only: identifiers, messages, string constants,
headings, keys of configuration files. Each is asked for alone, in a sentence, and (identifiers) within some 60 words of another
file, a document where there is one. Found is what is in one of the first three files. Printed: a table by kind and by what the
file is.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import platformdirs
from tests.bench.quality import indexed

from carrel.model.native import CancelToken, Snapshot, path_kinds
from carrel.model.ports import Embedder
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import retrieve

FIRST = 3
HITS = 10
SENTENCES = ("where does {} come from?", "I get {} and do not know why", "what is {} for", "explain {}")
AROUND = 60
"""Words of another file around a name."""
LEAST_SIZE, MOST_SIZE = 200, 300_000

ALONE, SENTENCE, LONGER = "alone", "in a sentence", f"within {AROUND} words"
FORMS = (ALONE, SENTENCE, LONGER)
CODE = frozenset("py js jsx mjs ts tsx go rs java kt c h cc cpp hpp cs rb php swift scala lua sh".split())  # noqa: SIM905 - reads best so
DOCUMENTS = frozenset({"md", "rst", "txt", "mdx"})

_IDENTIFIER = re.compile(r"\b[A-Za-z]\w{9,40}\b")
_NAME_LIKE = re.compile(r"_|[a-z][A-Z]")
_MESSAGE = re.compile(r"[\"'`]([A-Z][a-z]+(?: [\w'-]+){3,9})[.:!]?[\"'`]")
_CONSTANT = re.compile(r"[\"']([A-Za-z][\w-]*(?:[./:-][\w-]+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]{3,})[\"']")
_SECTION = re.compile(r"^#{1,6} ([A-Z][\w-]+(?: [\w-]+){2,7})$|^([A-Z][\w-]+(?: [\w-]+){2,7})\n[=~*^-]{6,}$", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*[\"']?([A-Za-z][\w-]{5,40})[\"']?[ \t]*[:=]", re.MULTILINE)
_KEY_FILES = frozenset({"toml", "yaml", "yml", "json"})


@dataclass(frozen=True, slots=True)
class Needle:
    """A text and the one file that holds it."""

    kind: str
    text: str
    path: str

    @property
    def row(self) -> str:
        return f"{self.kind} in {place(self.path)}"


def place(path: str) -> str:
    """What kind of file it is."""
    kinds = path_kinds(path)
    suffix = PurePosixPath(path).suffix.lstrip(".")
    if "test" in kinds:
        return "a test"
    return "a document" if suffix in DOCUMENTS else "configuration" if "data" in kinds else "code"


def texts_of(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Texts in a file that somebody may paste, as (kind, text)."""
    suffix = PurePosixPath(path).suffix.lstrip(".")
    for word in set(_IDENTIFIER.findall(text)):
        if _NAME_LIKE.search(word):
            yield "identifier", word
    if suffix in CODE:
        for kind, form in (("message", _MESSAGE), ("string constant", _CONSTANT)):
            for found in set(form.findall(text)):
                yield kind, found
    if suffix in DOCUMENTS:
        for match in _SECTION.finditer(text):
            yield "heading", match[1] or match[2]
    if suffix in _KEY_FILES:
        for key in set(_KEY.findall(text)):
            yield "key", key


def drawn(texts: Mapping[str, str], count: int, rng: random.Random) -> list[Needle]:
    """So many of each kind and kind of file that stand in one file only."""
    holders: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path, text in texts.items():
        for found in texts_of(path, text):
            holders[found].add(path)
    rows: dict[str, list[Needle]] = defaultdict(list)
    for (kind, text), found_in in sorted(holders.items()):
        if len(found_in) == 1:
            needle = Needle(kind, text, next(iter(found_in)))
            rows[needle.row].append(needle)
    chosen: list[Needle] = []
    for _, needles in sorted(rows.items()):
        rng.shuffle(needles)
        taken = 0
        for needle in needles:
            if taken == count:
                break
            if sum(needle.text in text for text in texts.values()) == 1:
                chosen.append(needle)
                taken += 1
    return chosen


def questions(needle: Needle, texts: Mapping[str, str], rng: random.Random) -> Iterator[tuple[str, str]]:
    """The forms in which it is asked for."""
    yield ALONE, needle.text
    yield SENTENCE, rng.choice(SENTENCES).format(needle.text)
    if needle.kind == "identifier":
        others = [path for path in sorted(texts) if path != needle.path]
        words = texts[rng.choice([path for path in others if place(path) == "a document"] or others)].split()
        start = rng.randrange(max(1, len(words) - AROUND))
        around = words[start : start + AROUND]
        around.insert(rng.randrange(len(around) + 1), needle.text)
        yield LONGER, " ".join(around)


def readable(view: Snapshot) -> dict[str, str]:
    """The texts of indexed files of a usual size."""
    texts = ((path, view.text(path)) for path in view.paths())
    return {path: text for path, text in texts if text is not None and LEAST_SIZE < len(text) < MOST_SIZE}


@dataclass(slots=True)
class Tally:
    """Found of asked."""

    found: int = 0
    asked: int = 0

    def add(self, *, found: bool) -> None:
        self.found += found
        self.asked += 1

    def __str__(self) -> str:
        return f"{100 * self.found / self.asked:.0f} % of {self.asked}" if self.asked else "-"


def ask(
    view: Snapshot, embedder: Embedder, count: int, seed: int, misses: list[str]
) -> tuple[dict[str, dict[str, Tally]], list[float]]:
    """The tally of each row and form, and the time of each question in milliseconds."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, no secret
    texts = readable(view)
    tallies: dict[str, dict[str, Tally]] = defaultdict(lambda: {form: Tally() for form in FORMS})
    times: list[float] = []
    for needle in drawn(texts, count, rng):
        for form, question in questions(needle, texts, rng):
            began = time.perf_counter()
            hits = retrieve(view, prepare_blocking(Query(question, limit=HITS), embedder), CancelToken()).hits
            times.append(1000 * (time.perf_counter() - began))
            paths = list(dict.fromkeys(hit.chunk.path for hit in hits))
            found = needle.path in paths[:FIRST]
            tallies[needle.row][form].add(found=found)
            tallies["all"][form].add(found=found)
            if not found:
                misses.append(f"{form}: {question} | {needle.path} | {', '.join(paths[:FIRST])}")
    return tallies, times


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a folder of code")
    parser.add_argument("--count", type=int, default=60, help="texts of each kind and kind of file at most (60)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn (1)")
    parser.add_argument("--misses", action="store_true", help="also print each question that wasn't answered")
    arguments = parser.parse_args()
    embedder, cache = bundled(), Path(platformdirs.user_cache_dir("carrel-bench-index")) / "needles"
    for folder in arguments.folders:
        store, view = indexed(str(folder.resolve()), embedder, cache)
        misses: list[str] = []
        tallies, times = ask(view, embedder, arguments.count, arguments.seed, misses)
        print(f"\n{folder.name}: {view.files} files, {view.chunks} chunks; found among the first {FIRST} files\n")
        print("| | " + " | ".join(FORMS) + " |\n|" + " --- |" * (len(FORMS) + 1))
        for row, forms in sorted(tallies.items(), key=lambda pair: (pair[0] != "all", pair[0])):
            print(f"| {row} | " + " | ".join(str(forms[form]) for form in FORMS) + " |")
        print(f"\nmedian of {len(times)} questions: {statistics.median(times or [0.0]):.1f} ms")
        if arguments.misses:
            print("\n".join(misses))
        del store, view


if __name__ == "__main__":
    main()
