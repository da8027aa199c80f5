"""Whether a source holds what a question names, though no word of the question asks for such a source.

Cheap searches by words in indexes that are open: names and numbers that only the source holds, several words that only it holds
together, and a document's own title. docs/quality.md has how often that is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken, Candidate, ParsedQuery, split_names, stem
from carrel.core.structs import whole_characters
from carrel.engine import query_words

_LONGEST_QUESTION = 2_000
_MOST_NAMES = 12
_MOST_WORDS = 24
_POOL = 8
_TOGETHER = 2
"""How many words that the workspace has nowhere one passage must hold."""
_SHORT = 3
"""Words of a question that is nothing but names."""
_NAME = re.compile(r"(?<![\w-])(?=[\w.-]*[A-Z\d_-])[A-Za-z0-9][\w-]*(?:\.[\w-]+)*")
"""What may be a name: it has a capital, a digit or a joint."""


@dataclass(frozen=True, slots=True)
class AskedWords:
    """What of a question can be looked for: names as they are written, and its telling words, stemmed."""

    names: tuple[str, ...]
    words: tuple[str, ...]
    all_words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> AskedWords:
        """Take a question apart."""
        asked = whole_characters(text)[:_LONGEST_QUESTION]
        words = query_words.read(asked).words
        return cls(tuple(dict.fromkeys(_names(asked)))[:_MOST_NAMES], tuple(words)[:_MOST_WORDS], frozenset(_stems(asked)))


def evidence(asked: AskedWords, source: SnapshotView, workspace: SnapshotView) -> str | None:
    """Return why a source may answer; None where nothing speaks for it. Runs on a thread."""
    if not asked.words:
        return None
    whole = ParsedQuery(" ".join(asked.words), " ".join(asked.words), words=asked.words)
    queries = [whole, *map(_of_name, asked.names), *map(_of_word, asked.words)]
    found = _find(source, queries)
    there, names_there = found[0], found[1 : 1 + len(asked.names)]
    words_there = {word for word, hits in zip(asked.words, found[1 + len(asked.names) :], strict=True) if hits}
    if title := next((title for hit in there for title in _titles(hit) if asked.all_words.issuperset(_stems(title))), None):
        return f'it holds the title "{title[:60]}"'
    names = [name for name, hits in zip(asked.names, names_there, strict=True) if any(hit.covered > 0.99 for hit in hits)]
    at_home = _find(workspace, [*map(_of_name, names), *map(_of_word, sorted(words_there))])
    for name, hits in zip(names, at_home, strict=False):
        if not any(hit.covered > 0.99 for hit in hits):
            return f'"{name[:60]}" is found there alone'
    lone = {word for word, hits in zip(sorted(words_there), at_home[len(names) :], strict=True) if not hits}
    best = max((sorted(lone.intersection(hit.matched)) for hit in there), key=len, default=[])
    return f'"{" ".join(best)[:60]}" is found there alone' if len(best) >= _TOGETHER else None


def _find(view: SnapshotView, queries: Sequence[ParsedQuery]) -> list[list[Candidate]]:
    if not queries:
        return []
    answers = view.find(queries, pool=_POOL, floor=1.0, filter=None, pinned=None, active_path=None, cancel=CancelToken())
    return [[hit for hit in hits if hit.matched] for hits, _ in answers]


def _of_name(name: str) -> ParsedQuery:
    words = [stem(word) for word in split_names(name)] or [name.lower()]
    return ParsedQuery(name, name, words=words)


def _of_word(word: str) -> ParsedQuery:
    return ParsedQuery(word, word, words=[word])


def _names(text: str) -> Iterator[str]:
    """Give what may be a name; a capital at the start of a sentence makes none, but in a question that is hardly more."""
    short = len(text.split()) <= _SHORT
    for match in _NAME.finditer(text):
        name = match[0].strip(".-")
        starts = re.search(r"(?:^|[.!?]\s+|\n\s*)$", text[: match.start()]) is not None
        if len(name) > 1 and not (starts and not short and name[1:].islower() and name.isalpha()) and not name.isdigit():
            yield name


def _titles(hit: Candidate) -> Iterator[str]:
    """Give the titles of a passage: the headings above it, and the name of its file."""
    for title in (*hit.symbol.split(" > "), PurePosixPath(hit.path).name.partition(".")[0]):
        if len(set(_stems(title))) >= 2:
            yield title


def _stems(text: str) -> list[str]:
    return [stem(word) for word in split_names(text) if not word.isdigit()]
