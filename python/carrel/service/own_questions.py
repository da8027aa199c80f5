"""Questions that a repository asks of itself: texts that stand in one of its files, and questions that nothing in it answers.

Drawn by a seed from files that are read once, within a limit of files and of time.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from carrel.model.errors import Cancelled
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.question.prepare import PreparedQuery
from carrel.search.certainty import is_enough
from carrel.search.retriever import Retrieval, retrieve

NeedleKind = Literal["identifier", "message", "heading"]
Progress = Callable[[int, int, str], None]
Prepare = Callable[[Query], PreparedQuery]

MOST_FILES = 2_000
"""Files that are read. A text that stands in one of them may stand in another of a larger repository: that one counts as well."""
MOST_CHARACTERS = 300_000
FIRST = 3
"""A needle is found where one of the first so many files holds it."""
_SENTENCES = ("where does {} come from?", "I get {} and do not know why", "what is {} for", "explain {}")

_IDENTIFIER = re.compile(r"\b(?=[A-Za-z]*(?:_|[a-z][A-Z]))[A-Za-z]\w{9,40}\b")
_MESSAGE = re.compile(r"[\"'`]([A-Z][a-z]+(?: [\w'-]+){3,9})[.:!]?[\"'`]")
_HEADING = re.compile(r"^#{1,6} ([A-Z][\w-]+(?: [\w-]+){2,7})$|^([A-Z][\w-]+(?: [\w-]+){2,7})\n[=~*^-]{6,}$", re.MULTILINE)
_DOCUMENTS = frozenset({".md", ".mdx", ".rst", ".txt"})

FOREIGN = (
    "hello!",
    "thanks a lot, that helped",
    "good morning, how are you?",
    "who painted the Mona Lisa",
    "recipe for potato soup with leeks",
    "what is the weather in Paris tomorrow?",
    "how do I remove red wine stains",
    "asdfasdf qwertz",
    "how are tectonic plates simulated in the mantle convection solver",
    "where is the interest of a mortgage amortised over its term",
    "how does the chess engine prune moves in quiescence search",
    "which class dispatches ambulances to the nearest hospital",
    "where are sheet music bars engraved with ties and slurs",
    "how is the boiling point of a refrigerant mixture estimated",
    "where are crop rotation plans checked against soil nitrogen",
    "how do elevators decide which floor is served next",
    "where is the orbit of a satellite propagated with drag",
    "how are DNA reads aligned to the reference genome",
    "where is the blood glucose of a patient predicted",
    "how does the tokamak controller shape the plasma",
    "where are airline seats overbooked and passengers rebooked",
    "how is a violin string excited in the physical model synthesis",
    "where are lottery tickets drawn and prizes paid out",
    "how does the robot vacuum plan its path around furniture",
    "where is the tide height at a harbour computed",
    "how are knitting patterns turned into machine instructions",
    "where does the traffic light controller yield to pedestrians",
    "how is beer fermentation temperature regulated",
    "where are tax brackets applied to a married couple",
    "how is the bite force of a dinosaur estimated from its skull",
    "ElevatorDispatchStrategy",
    "computeMortgageAmortisation",
    "plasma_boundary_reconstruction",
    "Crop rotation violates the nitrogen rule of this field",
    "Seat 14C has been sold twice on this flight",
    "TidalHarmonicConstituents",
)
"""Questions that hardly any repository answers: small talk, general knowledge, and projects that few people have."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A text and a file that holds it."""

    kind: NeedleKind
    text: str
    path: str


@dataclass(frozen=True, slots=True)
class NeedleTally:
    """Of `asked` needles of a kind, how many were found alone and in a sentence."""

    kind: NeedleKind
    asked: int
    alone: int
    in_sentence: int


@dataclass(frozen=True, slots=True)
class ConfidenceTally:
    """How well the confidence tells the repository's own questions from foreign ones.

    `area` is how often an own question has the higher number. `refused` own ones and `sent` foreign ones are the mistakes of the
    floor.
    """

    own: int
    foreign: int
    area: float
    refused: int
    sent: int


@dataclass(frozen=True, slots=True)
class OwnFigures:
    """What a repository's own questions showed; `complete` is False where the time was up before all were asked."""

    needles: tuple[NeedleTally, ...]
    confidence: ConfidenceTally | None
    misses: tuple[Needle, ...]
    complete: bool


def needles(view: SnapshotView, count: int, seed: int, cancel: CancelToken) -> tuple[list[Needle], dict[str, str]]:
    """Draw so many texts of each kind that stand in one file only; also return the texts of the files that were read."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, no secret
    paths = sorted(view.paths())
    texts: dict[str, str] = {}
    for path in sorted(rng.sample(paths, min(MOST_FILES, len(paths)))):
        if cancel.cancelled:
            raise Cancelled
        text = view.text(path)
        if text is not None and len(text) < MOST_CHARACTERS:
            texts[path] = text
    holders: dict[tuple[NeedleKind, str], list[str]] = defaultdict(list)
    for path, text in texts.items():
        for found in set(_texts_of(path, text)):
            holders[found].append(path)
    by_kind: dict[NeedleKind, list[Needle]] = defaultdict(list)
    for (kind, text), paths in sorted(holders.items()):
        if len(paths) == 1:
            by_kind[kind].append(Needle(kind, text, paths[0]))
    chosen: list[Needle] = []
    for _, offered in sorted(by_kind.items()):
        rng.shuffle(offered)
        taken = (needle for needle in offered if sum(needle.text in text for text in texts.values()) == 1)
        chosen += [needle for needle, _ in zip(taken, range(count), strict=False)]
    return chosen, texts


def measure(
    view: SnapshotView,
    prepare: Prepare,
    commits: Sequence[str],
    count: int,
    seed: int,
    seconds: float,
    cancel: CancelToken,
    progress: Progress,
) -> OwnFigures:
    """Ask for needles, the subjects of `commits` and foreign questions, until all are asked or `seconds` are over."""
    end = time.monotonic() + seconds
    chosen, texts = needles(view, count, seed, cancel)
    rng = random.Random(seed)  # noqa: S311 - repeatable, no secret
    rng.shuffle(chosen)
    tallies: dict[NeedleKind, list[int]] = defaultdict(lambda: [0, 0, 0])
    own, foreign, misses = list[float](), list[float](), list[Needle]()
    total = len(chosen) + len(commits) + len(FOREIGN)

    def ask(text: str) -> Retrieval:
        return retrieve(view, prepare(Query(text, limit=10)), cancel)

    def steps() -> Iterator[str]:  # the few foreign questions first: without them there is no comparison
        for text in FOREIGN:
            if not any(text in whole for whole in texts.values()):
                foreign.append(ask(text).confidence)
            yield text
        for needle in chosen:
            alone, sentence = ask(needle.text), ask(rng.choice(_SENTENCES).format(needle.text))
            own.append(sentence.confidence)
            held = [_holds(found, needle, view) for found in (alone, sentence)]
            tally = tallies[needle.kind]
            for place, found in enumerate((True, *held)):
                tally[place] += found
            if not all(held):
                misses.append(needle)
            yield needle.text
        for subject in commits:
            own.append(ask(subject).confidence)
            yield subject

    done = 0
    for done, text in enumerate(steps(), 1):
        progress(done, total, text)
        if time.monotonic() > end:
            break
    compared = None
    if own and foreign:
        compared = ConfidenceTally(
            len(own), len(foreign), _area(own, foreign), sum(not is_enough(n) for n in own), sum(map(is_enough, foreign))
        )
    found = tuple(NeedleTally(kind, *tally) for kind, tally in sorted(tallies.items()))
    return OwnFigures(found, compared, tuple(misses), done == total)


def _holds(found: Retrieval, needle: Needle, view: SnapshotView) -> bool:
    first = list(dict.fromkeys(hit.chunk.path for hit in found.hits))[:FIRST]
    return needle.path in first or any(needle.text in (view.text(path) or "") for path in first)


def _area(own: Sequence[float], foreign: Sequence[float]) -> float:
    pairs = [(mine > other) + (mine == other) / 2 for mine in own for other in foreign]
    return round(sum(pairs) / len(pairs), 4)


def _texts_of(path: str, text: str) -> Iterator[tuple[NeedleKind, str]]:
    for word in _IDENTIFIER.findall(text):
        yield "identifier", word
    if PurePosixPath(path).suffix in _DOCUMENTS:
        for match in _HEADING.finditer(text):
            yield "heading", match[1] or match[2]
    else:
        for message in _MESSAGE.findall(text):
            yield "message", message
