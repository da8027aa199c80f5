"""Issue text -> the files and functions to change.

A long text is asked for in parts, since what it is about is said in its title and drowned by the rest: the title, how the prose
begins, title and prose together, the names in it, and all of it. What the parts find is joined by linear models: first the files,
then their chunks (`issue_chunks`). The files' weights were fitted on issues of three projects and checked on three others;
docs/quality.md has the figures.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, Candidate
from carrel.model.patterns import lazy_pattern
from carrel.question.issue_text import LEAD, NAMES, OPENING, TITLE, WHOLE, IssueText
from carrel.question.prepare import PreparedQuery
from carrel.question.query_words import is_sentence
from carrel.search.candidates import Stopwatch, search_each
from carrel.search.certainty import OF_A_TRACE, OF_CONVERSATION, confidence, is_about_code, relevance
from carrel.search.frames import chunks_of_frames, with_places
from carrel.search.issue_chunks import PLACE, Definers, FileStanding, order_chunks
from carrel.search.order import Order, Place
from carrel.search.ranking import RankingContext, editor_context, rank, score

POOL = 50
"""Each part is searched for as if so many hits were wanted."""
_WITHOUT = frozenset({"spread", "coherence", "path_penalty"})
"""Rules that are about one list of hits: here several are joined, and paths count at the end. What commits say was measured on
their subjects alone."""
_PINNED = frozenset({"pinned"})
"""The rule that would take the places of what writes a message."""

# Fitted weights of files. A place in a list counts 6 / (6 + places before it), a score its share of the best one.
_FILE_PLACE = {TITLE: 2.1, OPENING: 1.3, LEAD: 0.9, NAMES: 0.7}
_FILE_SCORE = {TITLE: 0.3, LEAD: 0.6, NAMES: 1.3, WHOLE: 0.9}
_FILE_TITLE_DENSE, _FILE_TITLE_LEXICAL = 1.0, 0.7
_FILE_CHUNKS = 0.25
"""For the logarithm of how many of its chunks the parts find, for its length."""
_FEW_WORDS = 400
"""A file of fewer is no longer than one of so many."""
_LAST_IN_TRACE, _PATH_NAMED = 1.0, 0.85

_LEAST_HELD, _LEAST_WORDS = 0.8, 3
"""A chunk writes a message if its text holds so much of it, in so many words."""
_MOST_WRITERS = 2
"""Of each message."""

_TEST_OR_DOCUMENT_PENALTY = -13.0
"""Tests, documents, examples and data: a fix changes code, so they come after all of it unless the title asks for them."""

_BEST_PLACES = 3
"""A place further down a list is no reason that a person would give."""
_MOST_LISTED = 50
"""So many definers of a name are looked up."""
_MOST_OWNERS = 2
"""A path that more files could be is nobody's."""
_MOST_FRAMES = 10
"""So many functions of a trace come first, the innermost ones: callers far out say little."""
_LATER_KINDS = frozenset({"test", "example", "prose", "changes", "data", "generated"})
_ASKED_FOR = (
    (
        frozenset({"test"}),
        lazy_pattern(r"\b(?:add|write|missing|flaky|more|broken|failing|improve)\b.{0,40}\btests?\b", re.IGNORECASE),
    ),
    (
        frozenset({"prose", "example", "changes"}),
        lazy_pattern(r"\b(?:docs?|documentation|docstrings?|readme|typos?|tutorials?|examples?|changelog)\b", re.IGNORECASE),
    ),
    (
        frozenset({"data"}),
        lazy_pattern(
            r"\b(?:config(?:uration)?|ya?ml|json|toml|css|html|workflows?|packaging|dependenc(?:y|ies))\b", re.IGNORECASE
        ),
    ),
)
"""Titles that ask for files of these kinds. A test that fails says where to look, not what to change."""


class _FileEvidence(Struct):
    score: float = 0.0
    reasons: dict[str, None] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)  # where it stands for each part of the text, 0 for the first
    best: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The best that a chunk of it has, by signal."""

    def add(self, gain: float, reason: str = "") -> None:
        self.score += gain
        if reason:
            self.note(reason)

    def note(self, reason: str) -> None:
        """Name what a person would want to know and the score has already."""
        self.reasons[reason] = None

    def explanation(self) -> tuple[str, ...]:
        """Return the reasons, the most telling first."""
        places = ", ".join(f"number {place + 1} for the {part}" for part, place in self.places.items() if place < _BEST_PLACES)
        return (*self.reasons, *([places] if places else []))


class LocatedFile(Struct, frozen=True):
    """A file that the text is about, and why."""

    path: str
    reasons: tuple[str, ...]


class Localization(Struct, frozen=True):
    """Chunks, best first, and their files in the same order."""

    files: tuple[LocatedFile, ...]
    order: Order
    context: RankingContext
    by_title: tuple[list[Candidate], RankingContext]
    """The hits of the title alone, since the rest of a text may drown it, and the context that they were ranked in."""
    of_this_code: bool
    """The code writes a message of the text, or a frame of its trace is a place here."""

    def confidence(self, issue: IssueText, floor: float) -> float:
        """Return how sure it is that the text is about this code, by all of it or by its title; printed lines alone don't say."""
        sure = confidence(self.order.ranked, self.context.question, floor)
        ranked, about = self.by_title
        is_about = is_about_code(ranked, about.question, floor)
        if is_about and is_sentence(issue.title):
            sure = max(sure, confidence(ranked, about.question, floor))
        elif issue.is_beside_output and not is_about:
            sure = min(sure, OF_CONVERSATION)
        return max(sure, OF_A_TRACE) if self.of_this_code else sure


def localize(
    view: SnapshotView, issue: IssueText, prepared: PreparedQuery, cancel: CancelToken, watch: Stopwatch
) -> Localization:
    """Find what an issue is about. Filters, the file in front and pinned files of its query hold; raises `Cancelled`."""
    query = replace(prepared.query, limit=POOL)
    editor = editor_context(query)
    texts, messages = list(prepared.texts.values()), prepared.messages
    each = search_each(view, texts, query, prepared.model.floor, cancel, quotes=False, messages=messages)
    results, printed = each[: len(texts)], each[len(texts) :]
    watch.lap("search")
    lists = {
        part: rank(candidates, about, editor, without=_WITHOUT)
        for part, (candidates, about) in zip(prepared.texts, results, strict=True)
    }
    context = next((about for part, (_, about) in zip(prepared.texts, results, strict=True) if part == LEAD), results[0][1])
    watch.lap("rank")
    definers = _definers(view, issue)
    files = _files(issue, lists)
    writers = _writers(rank(candidates, about, editor, without=_PINNED) for candidates, about in printed)
    for writer in writers:
        files[writer.path].note("writes the message")

    def relevant(candidate: Candidate) -> float:
        return relevance(candidate, context.question, prepared.model.floor)

    order = order_chunks(issue, lists, _standings(files), definers, relevant)
    order = _with_writers(order, [Place(writer, 0.0, relevant(writer)) for writer in writers])
    traced = chunks_of_frames(view, issue.frames, query, cancel)
    if issue.is_output and traced:
        of_whole = texts[-1].parsed(quotes=False)
        running = score(view.evidence(of_whole, traced[:_MOST_FRAMES]), context, editor)
        order = with_places(order, [Place(candidate, 0.0, relevant(candidate)) for candidate in running], "in_trace")
    order = order.lifted("pinned", _best_of(frozenset(query.pinned), order))
    paths = dict.fromkeys(candidate.path for candidate in order.ranked)
    located = tuple(LocatedFile(path, files[path].explanation()) for path in paths)
    watch.lap("join")
    by_title = next((lists[TITLE], about) for part, (_, about) in zip(prepared.texts, results, strict=True) if part == TITLE)
    return Localization(located, order, context, by_title, bool(writers or traced))


def _writers(rankings: Iterable[Sequence[Candidate]]) -> list[Candidate]:
    """Return the chunks that write the messages which were asked for, the best few of each."""
    writers: dict[int, Candidate] = {}
    for ranked in rankings:
        for best in ranked[:_MOST_WRITERS]:
            if best.verbatim >= _LEAST_HELD and best.verbatim_words >= _LEAST_WORDS:
                writers.setdefault(best.doc, best)
    return list(writers.values())


def _with_writers(order: Order, writers: Sequence[Place]) -> Order:
    """Return the order with what writes a message first, whatever it scores."""
    return order.with_missing(writers).lifted("writes_message", {writer.candidate.doc: 1 for writer in writers})


def _best_of(pinned: frozenset[str], order: Order) -> dict[int, int]:
    """Return the best chunk of each pinned file, on level 1."""
    best = {path: place.candidate.doc for place in reversed(order.places) if (path := place.candidate.path) in pinned}
    return dict.fromkeys(best.values(), 1)


def _definers(view: SnapshotView, issue: IssueText) -> Definers:
    """Look up who defines the functions of the trace."""
    names = list(dict.fromkeys(frame.function for frame in issue.frames if frame.function))
    return dict(zip(names, view.exact_definitions(names, _MOST_LISTED), strict=True)) if names else {}


def _files(issue: IssueText, lists: dict[str, list[Candidate]]) -> dict[str, _FileEvidence]:
    files: dict[str, _FileEvidence] = defaultdict(_FileEvidence)
    chunks: dict[str, set[int]] = defaultdict(set)
    words: dict[str, int] = {}
    for part, ranked in lists.items():
        top = max((r.score for r in ranked), default=0.0)
        for place, path in enumerate(dict.fromkeys(r.path for r in ranked)):
            files[path].add(_FILE_PLACE.get(part, 0.0) * PLACE / (PLACE + place))
            files[path].places[part] = place
        for r in ranked:
            best = files[r.path].best
            best[part] = max(best[part], r.score / top if top > 0 else 0.0)
            chunks[r.path].add(r.doc)
            words[r.path] = r.file_words
            if part == TITLE:
                best["dense"] = max(best["dense"], r.dense)
                best["lexical"] = max(best["lexical"], r.lexical)
    later_kinds = _later_kinds(issue.title)
    one_of_each = {r.path: r for ranked in lists.values() for r in ranked}
    for path, evidence in files.items():
        best = evidence.best
        evidence.add(sum(weight * best[part] for part, weight in _FILE_SCORE.items()))
        evidence.add(_FILE_TITLE_DENSE * best["dense"] + _FILE_TITLE_LEXICAL * best["lexical"])
        evidence.add(_FILE_CHUNKS * math.log((1 + len(chunks[path])) / max(words[path] / _FEW_WORDS, 1.0)))
        evidence.add(0.0 if later_kinds.isdisjoint(one_of_each[path].kinds) else _TEST_OR_DOCUMENT_PENALTY)
    _add_named_places(issue, files)
    return files


def _later_kinds(title: str) -> frozenset[str]:
    """Return the kinds of files that come after all code, as far as the title doesn't ask for them."""
    return _LATER_KINDS.difference(*(kinds for kinds, words in _ASKED_FOR if words.search(title)))


def _add_named_places(issue: IssueText, files: dict[str, _FileEvidence]) -> None:
    """Find files that a stack trace or a path stands for."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in files:
        by_name[path.rpartition("/")[2]].append(path)
    traced = [owners for frame in issue.frames if (owners := _owners(by_name, frame.path))]
    for path in {path for owners in traced for path in owners}:
        if path in traced[-1]:
            files[path].add(_LAST_IN_TRACE, "the last of its files in the trace")
        else:
            files[path].note("in the trace")
    for path in {owner for written in issue.paths for owner in _owners(by_name, written.removeprefix("./"))}:
        files[path].add(_PATH_NAMED, "named by its path")


def _owners(by_name: dict[str, list[str]], written: str) -> Sequence[str]:
    """Return the files that a written path stands for: those that share the longest end with it, if they are few."""
    parts = [part for part in written.split("/") if part not in ("", ".", "..")]
    if not parts:
        return ()
    owners = [path for path in by_name.get(parts[-1], ()) if path == parts[-1] or path.endswith("/" + parts[-1])]
    for take in range(2, len(parts) + 1):
        end = "/".join(parts[-take:])
        narrowed = [path for path in owners if path == end or path.endswith("/" + end)]
        if not narrowed:
            break
        owners = narrowed
    return owners if len(owners) <= _MOST_OWNERS else ()


def _standings(files: Mapping[str, _FileEvidence]) -> dict[str, FileStanding]:
    """Return where each file stands."""
    best = max((evidence.score for evidence in files.values()), default=0.0)
    by_score = sorted(files, key=lambda path: (-files[path].score, path))
    return {
        path: FileStanding(behind=files[path].score - best, place=PLACE / (PLACE + place)) for place, path in enumerate(by_score)
    }
