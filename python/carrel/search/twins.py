"""Copies, and code that differs by version, platform or manner of calling: which one a question is about.

Two files are twins if their paths are the same but for versions and the words of `variants.txt` (`v1/fields.py` and `fields.py`,
`_unix.py` and `_windows.py`); pieces of code are twins if their files are and they have the same name. Where files of three
versions define a name, and one beside them that says no version does, that one is current and they say what it was. A file in
another language is the twin of the English one where there are three languages or more.
"""

from __future__ import annotations

import locale
import math
import platform
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from carrel.model.local_index import SnapshotView
from carrel.model.native import Candidate, split_names
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Query
from carrel.search.order import Order, Place

_ROWS = [
    row.split(":") for row in Path(__file__).with_name("variants.txt").read_text("utf-8").strip().split("\n") if row[0] != "#"
]
_WIDER = [(*head.partition(" < ")[0].split(), head.partition(" < ")[2]) for head, *_ in _ROWS]
_KINDS = {name: kind for kind, name, _ in _WIDER}
_FITTING = {name: (name, *wider.split()) for _, name, wider in _WIDER}
"""By the name of what is wanted, the names of variants that serve, best first."""
_NAMES = {word: name for (_, *words), name in zip(_ROWS, _KINDS, strict=True) for word in (words[0] if words else name).split()}
_SYSTEMS = "|".join(word for word, name in _NAMES.items() if _KINDS[name] == "system" and len(word) > 2)
_MARK = lazy_pattern(
    rf"(?<![a-z\d.])(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?![a-z\d])"
    rf"|(?<=[a-z])(?:{_SYSTEMS})(?=[/.])"  # _pslinux.py
    r"|(?:(?<![a-z\d])|(?<=api))v(\d+(?:[._]\d+)*(?:p\d+)?(alpha|beta|rc|preview)?\d*)(?![a-z\d])"  # v2, apiv1, v1beta1
    r"|(?<=[a-z][-_ ])(\d+(?:\.\d+)+)(?!\w|\.\w)"  # lua-5.3.6
    r"|(?<=[a-z\d]--)(?:\d+(?:\.\d+)+--)?(\d+(?:\.\d+)+)(?=\.[a-z])"  # shop--1.0--1.1.sql makes 1.1
)
_LANGUAGE = lazy_pattern(r"(?:^|(?<=[/._-]))([a-z]{2})(?:[-_][a-z]{2,4})?(?=[/.])")  # lang/fr/, pt-br.yml, messages_de.properties
_ENGLISH = "en"
_SERIES = 3
"""So many versions, or languages, are no chance."""
_AS_GOOD = 0.1
"""A translation that is more relevant than the English text by more than this holds what was asked for itself."""
_Marks = frozenset[tuple[str, str]]
"""Kinds with names, of a variant or of what is wanted; a version's name is its numbers."""


def settle(view: SnapshotView, order: Order, query: Query) -> tuple[Order, Mapping[int, Candidate]]:
    """Put of twins the one first that is meant: it takes the place of the best one. The others keep their order.

    Return the order, and by the number of each other one that which stands for it.

    What the question names counts most, then what the file in front is, this machine, and of those that may answer as well the
    newer version. Variants that the question names side by side all stay, as does a file that is pinned.
    """
    stands_for: dict[int, Candidate] = {}
    gains: dict[int, float] = {}
    scores = {place.candidate.doc: place.score for place in order.places}
    relevance = {place.candidate.doc: place.relevance for place in order.places}
    question, front = _read(query.searched_text)[1] - {("system", "other")}, _read(query.active_path or "")[1]
    system, processor = machine()
    usual = frozenset({("system", system), ("processor", processor), ("manner", "sync"), ("age", "current")})
    ranked = [r for r in order.ranked if not query.leaves_out(r.path, r.start_line, r.end_line)]
    for group in _same_names(view, ranked):
        marks = {twin.path: _read(twin.path)[1] for twin in group}
        named = {path: _fit(question, variant) for path, variant in marks.items()}
        wants = {path: (_fit(front, variant), _fit(usual, variant)) for path, variant in marks.items()}
        unversioned = [math.inf] if len({_read(path)[0] for path in marks}) > 1 else _FIRST
        enough = max(relevance[twin.doc] for twin in group) / 2
        newness = {twin.doc: (relevance[twin.doc] >= enough, _newness(marks[twin.path]) or unversioned) for twin in group}
        meant = max(group, key=lambda twin: (named[twin.path], *wants[twin.path], *newness[twin.doc]))
        if meant is not group[0]:
            gains[meant.doc] = math.nextafter(scores[group[0].doc], math.inf) - scores[meant.doc]
        for twin in group:
            path = twin.path
            stays = marks[path] == marks[meant.path] or named[path] == named[meant.path] > 0 or path in query.pinned
            if not stays:
                stands_for[twin.doc] = meant
    translated = _translations(order, query)
    behind = scores[order.places[-1].candidate.doc] - order.best - 1.0 if order.places else 0.0
    return order.moved("variant", gains | dict.fromkeys(translated, behind)), {**translated, **stands_for}


def _translations(order: Order, query: Query) -> Mapping[int, Candidate]:
    """Return by the number of each piece of a translation that holds no more of the answer the English one that does."""
    families = defaultdict[str, dict[str, list[Place]]](dict)
    for place in order.places:
        candidate = place.candidate
        family, language = _translation(candidate.path)
        if language and not query.leaves_out(candidate.path, candidate.start_line, candidate.end_line):
            families[family].setdefault(language, []).append(place)
    stands_for: dict[int, Candidate] = {}
    meant = _languages_in(query.searched_text)
    for languages in families.values():
        if len(languages) < _SERIES or not (english := languages.pop(_ENGLISH, [])):
            continue
        enough = max(place.relevance for place in english) + _AS_GOOD
        for place in (place for language, places in languages.items() if language not in meant for place in places):
            if place.relevance <= enough and place.candidate.path not in (*query.pinned, query.active_path):
                stands_for[place.candidate.doc] = english[0].candidate
    return stands_for


@lru_cache(maxsize=1 << 16)
def _translation(path: str) -> tuple[str, str]:
    """Return a path without what names its language, and this language; nothing where it names none."""
    lowered = path.lower()
    found = [match for match in _LANGUAGE.finditer(lowered) if match[1] in _languages()]
    return (f"{lowered[: found[-1].start()]}*{lowered[found[-1].end() :]}", found[-1][1]) if found else ("", "")


@cache
def _languages() -> frozenset[str]:
    """Return the codes of the languages that Python's locales have."""
    return frozenset(name[:2] for name in locale.locale_alias if re.match(r"[a-z]{2}(?:_|$)", name))


@cache
def _language_names() -> Mapping[str, str]:
    """Return the codes of languages by their names of five letters or more."""
    return {name: code[:2] for name, code in locale.locale_alias.items() if name.isalpha() and len(name) > len("univ")}


def _languages_in(question: str) -> set[str]:
    """Return the languages that a question means: `french`, or those of the files that it names (`fr.yml`)."""
    words, names = question.lower().split(), _language_names()
    return {language for word in words if (language := names.get(word.strip("'\",.:;?!()")) or _translation(word)[1])}


def copies(view: SnapshotView, ranked: Sequence[Candidate], query: Query) -> Mapping[int, Candidate]:
    """Return by the number of each piece of a file the first one of a file with the same bytes, which stands for it."""
    alike = defaultdict[tuple[str, int, int], list[Candidate]](list)
    for candidate in ranked:
        if not query.leaves_out(candidate.path, candidate.start_line, candidate.end_line):
            alike[candidate.symbol, candidate.start_line, candidate.end_line].append(candidate)
    several = [candidate for group in alike.values() if len(group) > 1 for candidate in group]
    first: dict[tuple[str, int], Candidate] = {}
    stands_for: dict[int, Candidate] = {}
    described = view.describe([candidate.doc for candidate in several]) if several else ()
    for candidate, chunk in zip(several, described, strict=True):
        earlier = first.setdefault((chunk.content_hash, chunk.start_line), candidate)
        if earlier is not candidate and candidate.path != earlier.path and candidate.path not in query.pinned:
            stands_for[candidate.doc] = earlier
    return stands_for


def machine() -> tuple[str, str]:
    """Return this machine's system and processor, as `variants.txt` names them."""
    system = {"win32": "windows", "cygwin": "windows"}.get(sys.platform, re.sub(r"\d+$", "", sys.platform))
    return system, _NAMES.get(platform.machine().lower(), "")


@lru_cache(maxsize=1 << 16)
def _read(text: str) -> tuple[str, _Marks]:
    """Return a path without its words for a variant, and these; or what a question names."""
    marks = set[tuple[str, str]]()
    for match in _MARK.finditer(lowered := text.lower()):
        if version := match[1] or match[3] or match[4]:
            marks.add(("version", version.replace("_", ".")))
        if name := "unfinished" if match[2] else _NAMES.get(match[0]):
            marks.add((_KINDS[name], name))
    return re.sub(r"[-_./]+", "/", _MARK.sub("", lowered)).strip("/"), frozenset(marks)


def _fit(wanted: _Marks, variant: _Marks) -> float:
    """Return how well a variant is what is wanted: above 0 where it says so, below 0 where it is for something else."""
    best = dict[str, float]()
    for kind, want in wanted:
        for name in (name for other, name in variant if other == kind):
            fitting = _FITTING.get(want, ())
            serves = f"{name}.".startswith(f"{want}.") if kind == "version" else name in fitting
            closeness = 1 / (1 + fitting.index(name)) if name in fitting else 1 if serves else -1
            best[kind] = max(best.get(kind, -1), closeness)
    return sum(best.values())


_FIRST = [1.5]
"""Where the others say their version, code that says none is the one after the first."""


def _newness(marks: _Marks) -> list[float]:
    return max(([float(n) for n in re.findall(r"\d+", name)] for kind, name in marks if kind == "version"), default=[])


def _same_names(view: SnapshotView, order: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group candidates in variants of a file by what they hold: a symbol, or the same few definitions."""
    variants = defaultdict[str, set[_Marks]](set)
    for path in {candidate.path for candidate in order}:
        family, marks = _read(path)
        variants[family].add(marks)
    twins = [candidate for candidate in order if len(variants[_read(candidate.path)[0]]) > 1]
    nameless = [candidate.doc for candidate in twins if not candidate.symbol]
    described = dict(zip(nameless, view.describe(nameless), strict=True)) if nameless else {}
    groups = defaultdict[tuple[str, str], list[Candidate]](list)
    for candidate in twins:
        name = candidate.symbol or " ".join(described[candidate.doc].definitions)
        if plain := "".join(word for word in split_names(name) if word not in _NAMES):
            groups[_read(candidate.path)[0], plain].append(candidate)
    for (family, _), group in groups.items():
        versions = {marks for candidate in group if _newness(marks := _read(candidate.path)[1])}
        if len(versions) < _SERIES or not (symbol := group[0].symbol):
            continue
        own = (candidate for candidate in order if candidate.symbol == symbol and _read(candidate.path)[0] != family)
        group.extend(candidate for candidate in own if not _newness(_read(candidate.path)[1]) and _same_end(candidate, group[0]))
        places = {candidate.doc: at for at, candidate in enumerate(order)}
        group.sort(key=lambda candidate: places[candidate.doc])
    return [group for group in groups.values() if len({_read(candidate.path)[1] for candidate in group}) > 1]


def _same_end(candidate: Candidate, other: Candidate) -> bool:
    return candidate.path.rpartition(".")[2] == other.path.rpartition(".")[2]
