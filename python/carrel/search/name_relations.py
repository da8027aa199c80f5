"""Questions about how names hang together: who calls, uses, extends or overrides one, and what one calls.

The index's table of definitions says whether there is such a name, and where what it calls is defined. Uses are lines that hold
the name as a whole word: no types are resolved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.lines import rows_of
from carrel.model.native import CancelToken, Candidate, path_kinds
from carrel.model.patterns import lazy_pattern, whole_word
from carrel.model.types import Hit, Query, Signals
from carrel.question import query_words
from carrel.question.query_words import last_part
from carrel.search.candidates import allowed, native_filter
from carrel.search.passages import Passage
from carrel.search.pieces import head_of, runs_of
from carrel.search.ranking import signals
from carrel.search.retriever import Ranking, Retrieval, to_chunk

Kind = Literal["users", "heirs", "definitions", "callees"]

MOST_CHUNKS = 100
"""Chunks that hold a name and are read."""
_POOL = 1_000
"""Chunks that hold a name and are found; `MOST_CHUNKS` of them are read."""
LINES_AROUND = 2
HEAD_LINES = 8
"""Of what a name calls, so many lines are shown."""
MOST_CALLED = 20
AMBIGUOUS = 4
"""A name that is defined so often says too little about what is called."""

_LONGEST = 400
"""Longer texts are no such questions; the forms take time by the square of a text's length."""
_NOUN = r"(?:function|method|class|macro|type|struct|interface|trait|constant|variable)"
_NAME = rf"(?:the\s+)?(?:{_NOUN}\s+)?[`'\"]?(?P<name>[^\W\d][\w.:#]*\w(?:[!?](?=[`'\"]))?)(?:\(\))?[`'\"]?"
_WHICH = r"which(?:\s+\w+){1,3}?"
_ASKER = rf"(?:(?:find|list|show|tell)\s+(?:me\s+)?(?:all\s+)?)?(?:who|what|where|{_WHICH})(?:\s+else)?"
_LIST = r"(?:(?:find|list|show)\s+(?:me\s+)?)?(?:all\s+|the\s+)*"
_USE = r"(?:call|invoke|reference|use|import|instantiate|construct)"
_USED = r"(?:called|invoked|referenced|used|imported|instantiated|constructed)"
_USERS = r"(?:callers?|call\s+sites?|usages?|uses|users|references)"
_HEIR = r"(?:extend|implement|subclass|inherit(?:s|ing|ed)?\s+from|derive[sd]?\s+from)"
_HEIRS = r"(?:subclasses|implementations|implementors|implementers)"
_REST = r"(?=\W|\Z).{0,80}\Z"
_FORMS: tuple[tuple[Kind, str], ...] = (
    ("callees", rf"(?:what|{_WHICH})\s+(?:does|do)\s+{_NAME}\s+(?:call|invoke|use)s?\b.{{0,40}}\Z"),
    ("callees", rf"(?:what|{_WHICH})\s+(?:is|are|gets?)\s+{_USED}\s+(?:by|in|from)\s+{_NAME}{_REST}"),
    ("users", rf"(?:what|who|where)\s+(?:is|are|gets?|do\s+we)\s+{_NAME}\s+(?:being\s+)?(?:{_USED}|{_USE})\b.{{0,60}}\Z"),
    ("users", rf"where\s+do(?:es)?\s+(?:we|it|they|the\s+code)\s+{_USE}\s+{_NAME}{_REST}"),
    ("users", rf"{_ASKER}\s+(?:is\s+|are\s+)?{_USE}(?:e?s|ing)?\s+{_NAME}{_REST}"),
    ("users", rf"{_LIST}{_USERS}\s+(?:of|to)\s+{_NAME}{_REST}"),
    ("users", rf"{_ASKER}\s+(?:creates?|makes?|builds?)\s+(?=`){_NAME}{_REST}"),
    ("heirs", rf"{_ASKER}\s+{_HEIR}s?\s+{_NAME}{_REST}"),
    ("heirs", rf"{_LIST}{_HEIRS}\s+of\s+{_NAME}{_REST}"),
    ("definitions", rf"{_ASKER}\s+(?:override|redefine|define)s?\s+{_NAME}{_REST}"),
    ("definitions", rf"{_LIST}(?:overrides|definitions)\s+of\s+{_NAME}{_REST}"),
)
_READ = tuple((kind, lazy_pattern(form, re.IGNORECASE | re.DOTALL)) for kind, form in _FORMS)
_LEAD = frozenset("also and but hm hmm hmmm now ok okay so thank thanks then yes".split()) | {""}  # noqa: SIM905
_NO_NAMES = frozenset(
    "and first former it its last latter one ones or second that the them these they third this those".split()  # noqa: SIM905
)
_CALLED = lazy_pattern(r"([^\W\d]\w*)\s*(?:::\s*<[^<>()]{0,80}>|<[^<>()]{0,80}>)?!?\(")
_NO_CODE = lazy_pattern(
    r"\s*(?://|#(?!\w)|/?\*|--|;|\"\"\"|\'\'\'|import\b|from\b.*\bimport\b|use\s|#\s*include\b|export\b.*\bfrom\b|.*\brequire\s*\()"
)
"""A line that is a comment, or an import."""
_DECLARES = lazy_pattern(
    r"\b(?P<type>class|interface|struct|trait|type|enum|record|protocol)\s+|\b(?:impl|extends|implements)\b|(?P<asserted>^\s*(?:var\s+)?_\s+[\w.\[\]]+\s*=)"
)
"""A line that may say what a type extends: in Go that is `var _ Store = (*Memory)(nil)`."""


class NameQuestion(Struct, frozen=True):
    """What is asked about which name."""

    kind: Kind
    name: str


def read(text: str) -> NameQuestion | None:
    """Return what a question asks about a name; None where it has another form."""
    if len(text) > _LONGEST:
        return None
    words = text.split()
    while words and words[0].strip(",.!:-").lower() in _LEAD:  # a dash alone is nothing
        del words[0]
    text = " ".join(words)
    for kind, form in _READ:
        if match := form.match(text):
            name = last_part(match["name"]).rpartition(":")[2]
            return None if name.lower() in _NO_NAMES else NameQuestion(kind, name)
    return None


def related(ranking: Ranking, hits: Sequence[Hit], query: Query, cancel: CancelToken) -> tuple[Passage, ...]:
    """Return the lines that answer a question about a name, best first; none for any other question, or for a name that nothing
    in the index defines. They are as sure as the first of the `hits`. Raises `Cancelled`.
    """
    question = read(ranking.diagnostics.rewritten or query.text)
    if question is None or not hits:
        return ()
    look = _Lookup(ranking, hits[0].score, query, cancel)
    defining = look.defining(question.name)
    if not defining and not look.is_defined(question.name):
        return ()
    if question.kind == "callees":
        return look.callees(question.name, defining[0]) if defining else ()
    if question.kind == "definitions":
        return tuple(_at_head(hit, question.name) for hit in defining)
    return look.users(question.name) if question.kind == "users" else look.heirs(question.name)


def related_first(retrieval: Retrieval, ranking: Ranking, query: Query, cancel: CancelToken) -> Retrieval:
    """Return the search with what answers a question about a name before the rest, each with the lines that do as its focus.

    Raises `Cancelled`.
    """
    firsts: dict[str, Hit] = {}
    for passage in related(ranking, retrieval.hits, query, cancel):
        chunk = passage.hit.chunk
        start = chunk.span.start_line + passage.first
        firsts.setdefault(chunk.id, replace(passage.hit, focus=(start, start + passage.count - 1)))
    if not firsts:
        return retrieval
    hit_of = {hit.chunk.id: hit for hit in retrieval.hits}
    answering = (replace(hit_of.get(key, hit), focus=hit.focus, score=hit.score) for key, hit in firsts.items())
    others = (hit for hit in retrieval.hits if hit.chunk.id not in firsts)
    return replace(retrieval, hits=(*answering, *others)[: query.limit])


class _Lookup:
    """Names looked up for one question."""

    def __init__(self, ranking: Ranking, score: float, query: Query, cancel: CancelToken) -> None:
        self._ranking, self._score, self._query, self._cancel = ranking, score, query, cancel
        self._place: Mapping[int, int] = {candidate.doc: place for place, candidate in enumerate(ranking.order.ranked)}

    def is_defined(self, name: str) -> bool:
        """Tell whether code defines a name, whatever the filters leave out."""
        [listed] = self._ranking.view.exact_definitions([name], AMBIGUOUS)
        return any(info.source == "code" for info in self._ranking.view.describe([doc for doc, _ in listed]))

    def defining(self, name: str) -> list[Hit]:
        """Return what defines a name, what the question is nearest to first."""
        [listed] = self._ranking.view.exact_definitions([name], MOST_CHUNKS)
        return [hit for hit in self._read([doc for doc, _ in listed]) if _is_called(hit, name)]

    def users(self, name: str) -> tuple[Passage, ...]:
        """Return the lines that use a name: calls before other code, then imports, comments and documents; tests last.

        Definitions of the name that call another of it (a wrapper, an override) come behind what else does the same.
        """
        word, called = whole_word(name), name.rstrip("!?")
        ranked: list[tuple[tuple[bool, int, bool], Hit, list[int]]] = []
        for hit in self._holding(name, own_last=True):
            rows = rows_of(hit.chunk.text)
            defines = _is_called(hit, name)
            head = head_of(rows, hit.chunk.signature) if defines else range(0)
            uses = [at for at, row in enumerate(rows) if at not in head and word.search(row)]
            code = [at for at in uses if not _NO_CODE.match(rows[at])]
            calls = [at for at in code if called in _CALLED.findall(rows[at])]
            chosen = calls or code or uses
            if chosen:
                kind = 2 if hit.chunk.source != "code" else 0 if calls else 1 if code else 2
                is_test = "test" in path_kinds(hit.chunk.path)
                ranked.append(((is_test, kind, defines), hit, chosen))
        ranked.sort(key=lambda entry: entry[0])
        return tuple(passage for _, hit, rows in ranked for passage in _around(hit, rows, LINES_AROUND))

    def heirs(self, name: str) -> tuple[Passage, ...]:
        """Return the declarations that name a type as what they extend or implement."""
        word = whole_word(name)
        passages: list[Passage] = []
        for hit in self._holding(name):
            rows = rows_of(hit.chunk.text)
            lines = [at for at, row in enumerate(rows) if word.search(row) and _says_heir(row, word) and not _NO_CODE.match(row)]
            passages += _around(hit, lines, 1)
        return tuple(passages)

    def callees(self, name: str, first: Hit) -> tuple[Passage, ...]:
        """Return the first definition of a name, and those of what is called in it."""
        names = [called for called in dict.fromkeys(_CALLED.findall(first.chunk.text)) if called != name][:MOST_CALLED]
        passages = [Passage(first, 0, len(rows_of(first.chunk.text)))]
        for called, listed in zip(names, self._ranking.view.exact_definitions(names, AMBIGUOUS), strict=True):
            near = [doc for doc, path in listed if path == first.chunk.path]
            docs = near or ([doc for doc, _ in listed] if len(listed) < AMBIGUOUS else [])
            passages += [_at_head(hit, called) for hit in self._read(docs)[:1] if _is_called(hit, called)]
        return tuple(passages)

    def _holding(self, name: str, *, own_last: bool = False) -> list[Hit]:
        [(candidates, _)] = self._ranking.view.find(
            [query_words.read(name).parsed()],
            pool=_POOL,
            floor=2.0,
            filter=native_filter(self._query.filters),
            pinned=None,
            active_path=None,
            cancel=self._cancel,
        )

        def behind(candidate: Candidate) -> tuple[bool, bool, float, str, int]:
            """Order chunks, since more may hold the name than are read: tests, and with `own_last` its definitions, are last."""
            defines = own_last and last_part(candidate.symbol) == name
            return ("test" in path_kinds(candidate.path), defines, -candidate.lexical, candidate.path, candidate.start_line)

        best = sorted(candidates, key=behind)
        return self._read([candidate.doc for candidate in best[:MOST_CHUNKS]])

    def _read(self, docs: Sequence[int]) -> list[Hit]:
        """Return chunks as they stand now, what the question is nearest to first."""
        order = sorted(
            allowed(self._ranking.view, docs, self._query.filters, self._cancel),
            key=lambda doc: self._place.get(doc, len(self._place)),
        )
        read = self._ranking.read_best(order, MOST_CHUNKS, self._query, self._cancel)
        hits = []
        for doc, current in zip(order, read, strict=False):
            if not isinstance(current, str):
                ranked = self._place.get(doc)
                seen = Signals() if ranked is None else signals(self._ranking.order.places[ranked])
                hits.append(Hit(to_chunk(current), self._score, seen))
        return hits


def _says_heir(row: str, word: re.Pattern[str]) -> bool:
    """Tell whether a line declares something that may extend the type which `word` finds."""
    declared = list(_DECLARES.finditer(row))
    if not declared or any(each["type"] and word.match(row, each.end()) for each in declared):
        return False
    return not declared[0]["asserted"] or word.search(declared[0][0]) is not None


def _is_called(hit: Hit, name: str) -> bool:
    chunk = hit.chunk
    return chunk.source == "code" and (last_part(chunk.symbol) == name or name in chunk.definitions)


def _around(hit: Hit, rows: Sequence[int], lines: int) -> list[Passage]:
    """Return these lines of a chunk with those around them."""
    last = len(rows_of(hit.chunk.text)) - 1
    wanted = {at for row in rows for at in range(max(row - lines, 0), min(row + lines, last) + 1)}
    return [Passage(hit, first, end - first + 1) for first, end in runs_of(wanted)]


def _at_head(hit: Hit, name: str) -> Passage:
    """Return the lines at which a chunk defines a name."""
    rows = rows_of(hit.chunk.text)
    word = whole_word(name)
    head = head_of(rows, hit.chunk.signature)
    at = next((row for row in (*head, *range(len(rows))) if word.search(rows[row])), 0)
    return Passage(hit, at, min(HEAD_LINES, len(rows) - at))
