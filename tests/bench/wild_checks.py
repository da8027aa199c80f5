"""What must hold of any source tree, without labels: questions drawn from its files, and whether the answers hold.

Definitions are those of `ctags`, or listed beside a fixture. What is drawn depends on the seed alone.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tests.bench.wild_trees import Definition, lines_of, texts_of
from tests.support.indexing import run_index_blocking

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted_blocking
from carrel.model.local_index import CoreEmbedder
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Budget, Filters, Hit, Query
from carrel.model_calls.embedding import embed_batch_blocking
from carrel.pack.context import pack_answer
from carrel.providers.tokenizers import ExactTokenizer
from carrel.search.name_relations import related_first
from carrel.search.retriever import Ranking, Retrieval, read

T = TypeVar("T")

INDEXED = "text files in the index"
NAMED = "text files in the index, or named as left out"
ANSWERED = "words with an answer"
HELD = "answered words in the first hit"
DEFINED = "definitions first"
WHOLE = "definitions whole in 3,000 tokens"
LINE = "lines among the first three"
BEGINS = "pieces that begin a line"
ADDED = "relevance beside 50 other files"
FILTERED = "relevance with a filter"
ORDER = "relevance in another order of indexing"
GOALS: dict[str, float | None] = {
    INDEXED: None,
    NAMED: 100,
    ANSWERED: 100,
    HELD: 99,
    DEFINED: 97,
    WHOLE: 97,
    LINE: 98,
    BEGINS: 100,
    ADDED: 100,
    FILTERED: 100,
    ORDER: 100,
}
"""In per cent of what was looked at."""

USES = 5
HITS, FIRST = 10, 3
PACK, FITS = Budget(3_000, "tokens"), 2_500
"""A definition of at most `FITS` tokens must be whole: the rest of a pack is for what stands around it."""
LONG_LINE = 2_000
"""A longer line may be cut."""
CLOSE = 0.02
UNRELATED = 50
PORTIONS = 4
DEFINITIONS = 7
"""Times as many as of the rest: of 60 a package their mean has a standard error of .7, which is more than is left to mend."""

_WORD = re.compile(r"(?<![\w\\])[^\W\d]\w+")


@dataclass(slots=True)
class Tally:
    """How often an invariant held, and what failed."""

    held: int = 0
    looked_at: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, failure: str = "") -> None:
        """Count one; an empty failure is none."""
        self.looked_at += 1
        self.held += not failure
        if failure:
            self.failures.append(failure)


Tallies = Mapping[str, Tally]


class Tree:
    """A source tree with its index, in a temporary folder until it is closed."""

    def __init__(self, root: Path, embedder: CoreEmbedder) -> None:
        self.root, self.embedder, self.texts = root, embedder, texts_of(root)
        self.tokenizer = ExactTokenizer()
        self._folder = tempfile.TemporaryDirectory(prefix="carrel-wild-")
        self.store = self._open("index")
        run_index_blocking(self.store, embedder, CancelToken())
        self.view = self.store.snapshot()
        self._skipped = {path.rstrip("/"): reason for path, reason in self.store.skipped(1_000_000)}

    def close(self) -> None:
        """Close the index and delete it."""
        self.store.close()
        self._folder.cleanup()

    def texts_meant(self) -> dict[str, str]:
        """Return the texts of files that the index doesn't leave out by name."""
        return {path: text for path, text in self.texts.items() if self.reason(path) is None}

    def reason(self, path: str) -> str | None:
        """Return why the index leaves a file out; None where it says nothing of it."""
        around = [path, *map(Path.as_posix, Path(path).parents)]
        return next((self._skipped[name] for name in around if name in self._skipped), None)

    def ask(self, text: str, view: Snapshot | None = None, filters: Filters | None = None) -> tuple[Ranking, Retrieval]:
        """Search as editors do."""

        def finish(ranking: Ranking, token: CancelToken) -> tuple[Ranking, Retrieval]:
            return ranking, related_first(read(ranking, ranking.query, token), ranking, ranking.query, token)

        question = Question(Query(text, HITS, filters=filters or Filters()))
        return retrieve_assisted_blocking(question, lambda: view or self.view, self.embedder, ALONE, finish, CancelToken())

    def packed(self, text: str) -> set[tuple[str, int]]:
        """Return the lines that a pack shows, as (path, line)."""
        ranking, found = self.ask(text)
        items = pack_answer(
            ranking, found.answer, ranking.query, PACK, self.tokenizer, CancelToken(), read_lines=self.view.lines
        ).items
        shown = ((item.hit.chunk.path, *run) for item in items for run in item.runs)
        return {(path, line) for path, first, last in shown for line in range(first, last + 1)}

    def in_reverse(self) -> Store:
        """Index the same files anew, the last ones first, in some commits."""
        store, paths = self._open("in reverse"), sorted(self.view.paths(), reverse=True)
        size = max(1, -(-len(paths) // PORTIONS))
        for start in range(0, len(paths), size):
            run_index_blocking(store, self.embedder, CancelToken(), scope=paths[start : start + size])
        return store

    def _open(self, name: str) -> Store:
        spec, place = self.embedder.spec, str(Path(self._folder.name) / name)
        return Store.open(place, str(self.root), embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions())


def examine(
    tree: Tree, texts: Mapping[str, str], definitions: Sequence[Definition], count: int, seed: int, uses: int = USES
) -> dict[str, Tally]:
    """Look at every invariant, with at most `count` questions of a kind that are drawn from some of the tree's texts.

    Words are asked for that have so many `uses` there.
    """
    tallies = {name: Tally() for name in GOALS}
    look_at_files(tree, tallies)
    look_at_pieces(tree, tallies[BEGINS])

    def rng(kind: str) -> random.Random:  # what is drawn of a kind doesn't depend on what there is of another
        return random.Random(f"{seed} {kind}")  # noqa: S311 - repeatable, no secret

    times = Counter(word for text in texts.values() for word in _WORD.findall(text))
    words = drawn([word for word, used in times.items() if used >= uses], count, rng("words"))
    names = drawn(
        [one for one in definitions if any(path in texts for path, _, _ in one.places)], DEFINITIONS * count, rng("names")
    )
    lines = lines_once(texts, count, rng("lines"))
    for word in words:
        look_at_word(tree, word, times[word], tallies)
    for definition in names:
        look_at_definition(tree, definition, texts, tallies)
    for path, number, line in lines:
        look_at_line(tree, path, number, line, tallies[LINE])
    asked = [*words, *(one.name for one in names[:count]), *(line for _, _, line in lines)]
    look_at_relevance(tree, drawn(asked, count // 2, rng("relevance")), tallies)
    return tallies


def drawn(choices: Sequence[T], count: int, rng: random.Random) -> list[T]:
    """Draw at most `count` of some choices, which are in an order that never changes."""
    return rng.sample(choices, min(count, len(choices)))


def lines_once(texts: Mapping[str, str], count: int, rng: random.Random) -> list[tuple[str, int, str]]:
    """Draw lines that stand once in a tree, also within others, and say enough to be found by: (path, line, its text)."""
    numbered = ((path, *pair) for path, text in texts.items() for pair in enumerate(map(str.strip, lines_of(text)), 1))
    places = [one for one in numbered if 20 <= len(one[2]) <= 300]
    times, every = Counter(line for _, _, line in places), "\n".join(texts.values())
    rng.shuffle(places)
    fit = (one for one in places if times[one[2]] == 1 and len(_WORD.findall(one[2])) >= 3 and every.count(one[2]) == 1)
    return list(islice(fit, count))


def look_at_files(tree: Tree, tallies: Tallies) -> None:
    """Compare the text files on disk with those of the index."""
    indexed = set(tree.view.paths())
    for path in tree.texts:
        reason = tree.reason(path)
        tallies[INDEXED].add("" if path in indexed else f"{path}: {reason or 'not named'}")
        tallies[NAMED].add("" if path in indexed or reason else path)


def look_at_pieces(tree: Tree, tally: Tally) -> None:
    """Look where each piece of each file begins."""
    for path in tree.view.paths():
        lines = lines_of(tree.view.text(path) or "")
        docs = [info.doc for info in tree.view.file_chunks(path)]
        for piece in tree.view.read_current(docs, CancelToken()):
            if isinstance(piece, str):
                continue
            number = piece.info.start_line
            line = lines[number - 1] if number <= len(lines) else ""
            before = line[: piece.start_character]
            cut = before.strip() and len(line) <= LONG_LINE
            tally.add(f"{path}:{number}: begins behind {before[-60:]!r}" if cut else "")


def look_at_word(tree: Tree, word: str, times: int, tallies: Tallies) -> None:
    """Ask for a word that the tree uses."""
    _, found = tree.ask(word)
    hits = found.answer
    why = f"none, confidence {found.confidence}" if found.hits else "no hit"
    tallies[ANSWERED].add("" if hits else f"{word} ({times} uses): {why}")
    if hits:
        holds = word.casefold() in hits[0].chunk.text.casefold()
        tallies[HELD].add("" if holds else f"{word} ({times} uses): {_seen(hits)}")


def look_at_definition(tree: Tree, definition: Definition, texts: Mapping[str, str], tallies: Tallies) -> None:
    """Ask for a bare name, and for a pack of it."""
    _, found = tree.ask(definition.name)
    first = any(_covers(hit, path, start) for hit in found.answer[:1] for path, start, _ in definition.places)
    where = ", ".join(f"{path}:{start}-{end or '?'}" for path, start, end in definition.places)
    tallies[DEFINED].add("" if first else f"{definition.name} ({where}): {_seen(found.answer)}")
    bodies = {}
    for path, start, end in definition.places:
        lines = lines_of(texts.get(path, ""))
        if end and tree.tokenizer.count("\n".join(lines[start - 1 : end])) <= FITS:
            bodies[path, start] = {
                (path, number) for number in range(start, end + 1) if any(map(str.strip, lines[number - 1 : number]))
            }
    if bodies:
        shown = tree.packed(definition.name)
        missing = min((sorted(body - shown) for body in bodies.values()), key=len)
        tallies[WHOLE].add(
            f"{definition.name} ({where}): {len(missing)} lines are missing, from {missing[0][1]} on" if missing else ""
        )


def look_at_line(tree: Tree, path: str, number: int, line: str, tally: Tally) -> None:
    """Ask for a line as it stands."""
    hits = tree.ask(line)[1].answer
    found = any(_covers(hit, path, number) for hit in hits[:FIRST])
    tally.add("" if found else f"{path}:{number}: {line!r}: {_seen(hits)}")


def look_at_relevance(tree: Tree, questions: Sequence[str], tallies: Tallies) -> None:
    """Ask the same of the index as it is, with a filter, beside other files, and made in another order."""
    before = {text: hits[0] for text in questions if (hits := tree.ask(text)[1].hits)}

    def compare(name: str, ask: Callable[[str], Retrieval]) -> None:
        for text, hit in before.items():
            same = [one.score for one in ask(text).hits if one.chunk.path == hit.chunk.path and one.chunk.span == hit.chunk.span]
            changed = not same or abs(same[0] - hit.score) > CLOSE
            now = f"{same[0]:.3f}" if same else "not among the hits"
            tallies[name].add(f"{text!r}: {hit.chunk.path}: {hit.score:.3f}, then {now}" if changed else "")

    compare(FILTERED, lambda text: tree.ask(text, filters=Filters(path_globs=(before[text].chunk.path,)))[1])
    reverse = tree.in_reverse()
    compare(ORDER, lambda text: tree.ask(text, reverse.snapshot())[1])
    reverse.close()
    for path, text in unrelated():
        batch = tree.store.cut_buffer(path, text, CancelToken())
        embed_batch_blocking(batch, tree.embedder, CancelToken())
        tree.store.commit_buffer(batch)
    compare(ADDED, lambda text: tree.ask(text, tree.store.snapshot())[1])


def unrelated() -> Iterator[tuple[str, str]]:
    """Make files that have nothing to do with any project: paragraphs of invented words."""
    rng = random.Random(50)  # noqa: S311 - repeatable, no secret
    syllables = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "zu"]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(800)]
    for number in range(UNRELATED):
        paragraphs = (" ".join(rng.choices(words, k=60)).capitalize() + "." for _ in range(8))
        yield f"unrelated/{number:02}.md", "\n\n".join(paragraphs) + "\n"


def _covers(hit: Hit, path: str, line: int) -> bool:
    span = hit.chunk.span
    return hit.chunk.path == path and span.start_line <= line <= span.end_line


def _seen(hits: Sequence[Hit]) -> str:
    """Name the first hits."""
    spans = [f"{hit.chunk.path}:{hit.chunk.span.start_line}-{hit.chunk.span.end_line} {hit.chunk.symbol}" for hit in hits[:FIRST]]
    return "; ".join(map(str.strip, spans)) or "nothing"
