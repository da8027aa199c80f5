"""Query -> hits: what the searches found, in order, with texts that are checked at this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from carrel.model.diagnostics import CandidateCounts, RetrievalDiagnostics
from carrel.model.local_index import SnapshotView
from carrel.model.native import (
    CancelToken,
    Candidate,
    ChunkInfo,
    CurrentChunk,
    EditorContext,
    ReadFiles,
    contributions,
    detect_language,
)
from carrel.model.types import Chunk, Dropped, Hit, Query, Span
from carrel.question import query_words
from carrel.question.confidence import OF_A_TRACE, confidence, is_enough
from carrel.question.follow_up import SHARE, SHARE_OF_FOLLOW_UP, join
from carrel.question.issue_text import IssueText
from carrel.question.mistyped import corrected
from carrel.question.prepare import PreparedQuery, SearchText
from carrel.search import twins
from carrel.search.candidates import Stopwatch, search_each
from carrel.search.focus import focus
from carrel.search.localize import LocatedFile, localize
from carrel.search.ranking import SURE_OF, RankingContext, editor_context, rank, relevances, score, signals

_NOT_CODE = frozenset({"", "css", "html", "ini", "json", "markdown", "rst", "text", "toml", "xml", "yaml"})
"""Languages in which a name that stands at the head of something defines nothing that is used by that name."""


@dataclass(frozen=True, slots=True)
class Order:
    """Every candidate, best first, with its score in this order and its relevance from 0 to 1; both fall with the order.

    `reranked` holds what a reranker said, by the candidate's number, of those that it judged.
    """

    ranked: tuple[Candidate, ...] = ()
    scores: tuple[float, ...] = ()
    relevances: tuple[float, ...] = ()
    reranked: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the searches found for a query in one snapshot, in order; nothing was read yet. `contexts` are those of candidates
    that another text than the first one found. `stands_for` is by the number of a candidate that one of its twins which is meant.
    """

    view: SnapshotView
    query: Query
    order: Order
    context: RankingContext
    editor: EditorContext
    stages: dict[str, float]  # milliseconds
    diagnostics: RetrievalDiagnostics
    files: tuple[LocatedFile, ...] = ()
    contexts: Mapping[int, RankingContext] = field(default_factory=dict)
    stands_for: Mapping[int, Candidate] = field(default_factory=dict)
    read_files: ReadFiles = field(default_factory=ReadFiles)  # what was read as a whole
    by_rule: bool = False  # what comes first is decided by more than the scores: a follow-up's place, definitions of a name
    confidence: float = 0.0  # how sure it is that there is anything relevant at all

    def context_of(self, doc: int) -> RankingContext:
        """Return the question that a candidate was found for."""
        return self.contexts.get(doc, self.context)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first, and what is needed to explain them."""

    hits: tuple[Hit, ...]
    given: tuple[int, ...]  # which candidates they are, in their order
    dropped: tuple[Dropped, ...]
    order: Order
    context: RankingContext
    editor: EditorContext
    stages: dict[str, float]  # milliseconds
    diagnostics: RetrievalDiagnostics
    files: tuple[LocatedFile, ...] = ()  # of a text that was read as an issue: the files that it is about
    confidence: float = 0.0  # from 0 to 1: is there anything relevant at all

    @property
    def relevant(self) -> tuple[Hit, ...]:
        """The hits, and none where it is all but sure that nothing answers."""
        return self.hits if is_enough(self.confidence) else ()

    @property
    def ranked(self) -> tuple[Candidate, ...]:
        """Every candidate, in the final order."""
        return self.order.ranked


def retrieve(view: SnapshotView, prepared: PreparedQuery, cancel: CancelToken) -> Retrieval:
    """Find the best chunks for a query, at most its `limit`. Raises `Cancelled`; an empty query finds nothing."""
    return read(find(view, prepared, cancel), prepared.query, cancel)


def find(view: SnapshotView, prepared: PreparedQuery, cancel: CancelToken) -> Ranking:
    """Find and order the candidates of a query, without reading any.

    A text with the structure of an issue is asked for in parts; every other one as a whole, and with what was said before, too.
    Raises `Cancelled`.
    """
    query = prepared.query
    search = _Search(view, prepared, editor_context(query), cancel)
    search.watch.stages["embed"] = prepared.milliseconds
    if not query.text.strip():
        found = _Found(Order(), RankingContext(query_words.read("")))
        return search.ranking(found, RetrievalDiagnostics(prepared.model.id))
    found = search.issue(prepared.issue) if prepared.issue else search.question()
    return search.ranking(found, _diagnostics(found.order, found.context, prepared, found.meant))


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold what was found for a text, in order. `meant` is the text with its names corrected, where that was searched for."""

    order: Order
    context: RankingContext
    files: tuple[LocatedFile, ...] = ()
    stands_for: Mapping[int, Candidate] = field(default_factory=dict)
    meant: SearchText | None = None
    confidence: float = 0.0


class _Search:
    """The steps of one search."""

    def __init__(self, view: SnapshotView, prepared: PreparedQuery, editor: EditorContext, cancel: CancelToken) -> None:
        self.watch = Stopwatch()
        self._view, self._prepared, self._query, self._editor = view, prepared, prepared.query, editor
        self._floor, self._cancel = prepared.model.floor, cancel
        self._read_files = ReadFiles()

    def ranking(self, found: _Found, diagnostics: RetrievalDiagnostics) -> Ranking:
        """Return what was found with all that reading and explaining it takes."""
        return Ranking(
            self._view,
            self._query,
            found.order,
            found.context,
            self._editor,
            self.watch.stages,
            diagnostics,
            found.files,
            stands_for=found.stands_for,
            read_files=self._read_files,
            by_rule=self._prepared.follow_up.text is not None or found.context.question.is_symbol,
            confidence=found.confidence,
        )

    def issue(self, issue: IssueText) -> _Found:
        """Find the places of a text with the structure of an issue, in parts."""
        located = localize(self._view, issue, self._prepared, self._cancel, self.watch)
        ordered, scores = tuple(found.chunk for found in located.chunks), tuple(found.score for found in located.chunks)
        order = Order(ordered, scores, relevances(ordered, scores, self._floor, logarithmic=True))
        sure = confidence(order.ranked, order.relevances, located.context.question)
        return _Found(order, located.context, located.files, confidence=max(sure, OF_A_TRACE) if located.traced else sure)

    def question(self) -> _Found:
        """Find the places of a question: by its own words, and by what was said before it."""
        prepared, query, follow_up = self._prepared, self._query, self._prepared.follow_up
        front = (query.active_path,) if follow_up.in_front and query.active_path else ()
        searched = replace(query, pinned=(*query.pinned, *front))
        text = prepared.texts[""]
        candidates, context = self._ask([text], searched)[0]
        if meant := corrected(self._view, text, candidates):
            text = meant
            candidates, context = self._ask([text], searched)[0]
        self.watch.lap("search")
        ranked = self._ranked(candidates, context)
        order, stands_for = self._settled(ranked, [one.score for one in ranked], context)
        self.watch.lap("rank")
        # Before what the conversation does to the order: that says which place is meant, not whether there is one.
        sure = 1.0 if front else confidence(order.ranked, order.relevances, context.question)
        # A question that seems to stand alone and stands somewhere as it is needs no more.
        sought = follow_up.text or not any(one.literal for one in order.ranked[:SURE_OF])
        if len(prepared.texts) > 1 and order.ranked and sought:
            order, stands_for = self._with_conversation(order, text, context)
            self.watch.lap("conversation")
        if follow_up.text:
            top, given = max(order.scores, default=0.0), zip(order.ranked, order.scores, strict=True)
            pairs = sorted(((one, follow_up.score(one, value, top, query)) for one, value in given), key=lambda pair: -pair[1])
            ranked, scores = [one for one, _ in pairs], [value for _, value in pairs]
            order = Order(tuple(ranked), tuple(scores), relevances(ranked, scores, self._floor))
        return _Found(definitions_first(order, context, query), context, (), stands_for, meant, sure)

    def _with_conversation(self, own: Order, text: SearchText, context: RankingContext) -> tuple[Order, Mapping[int, Candidate]]:
        """Return the order joined with what the texts find that take in what was said."""
        around = self._ask([beside for name, beside in self._prepared.texts.items() if name], self._query)
        asked = text.parsed(quotes=False)
        pairs = join(
            list(zip(own.ranked, own.scores, strict=True)),
            [[(one, one.score) for one in self._ranked(*found)] for found in around],
            SHARE_OF_FOLLOW_UP if self._prepared.follow_up.text else SHARE,
            lambda docs: score(self._view.evidence(asked, docs), context, self._editor),
        )
        return self._settled([one for one, _ in pairs], [value for _, value in pairs], context)

    def _ask(self, texts: Sequence[SearchText], query: Query) -> list[tuple[list[Candidate], RankingContext]]:
        return search_each(self._view, texts, query, self._floor, self._cancel, files=self._read_files)

    def _ranked(self, candidates: Sequence[Candidate], context: RankingContext) -> list[Candidate]:
        return rank(candidates, context, self._editor)

    def _settled(
        self, ranked: Sequence[Candidate], scores: Sequence[float], context: RankingContext
    ) -> tuple[Order, Mapping[int, Candidate]]:
        """Return the order with the twins that are meant before the others, and which ones these stand for."""
        found = relevances(ranked, scores, self._floor)
        settled = twins.settle(self._view, ranked, self._query)
        # A change is often wanted in every copy.
        stands_for = {} if context.question.is_change else dict(settled.stands_for)
        return Order(settled.order, tuple(scores), found), stands_for


def definitions_first(order: Order, context: RankingContext, query: Query) -> Order:
    """Return the order with the definitions of an identifier before its uses, where the question is an identifier alone.

    Both parts stay in their order, but of a qualified name what is called so goes before what holds it. What a person pinned
    stays first. A key or a heading of that name is no definition, and a plain word may mean more than a name.
    """
    identifier = context.question.identifier
    if not context.question.is_symbol or not identifier:
        return order

    def is_definition(found: Candidate) -> bool:
        named = found.defines >= 1 and query_words.is_named(found.symbol, identifier)
        return named and detect_language(found.path) not in _NOT_CODE

    def holds_it(place: int) -> bool:
        return not query_words.ends_with(order.ranked[place].symbol, identifier)

    pinned = frozenset(query.pinned)
    places = range(len(order.ranked))
    defining = sorted((at for at in places if is_definition(order.ranked[at])), key=holds_it)
    first = [at for at in places if order.ranked[at].path in pinned]
    moved = list(dict.fromkeys((*first, *defining, *places)))
    return replace(
        order,
        ranked=tuple(order.ranked[at] for at in moved),
        scores=_falling([order.scores[at] for at in moved]),
        relevances=_falling([order.relevances[at] for at in moved]),
    )


def _falling(numbers: Sequence[float]) -> tuple[float, ...]:
    """Raise numbers to those that follow them."""
    return tuple(accumulate(reversed(numbers), max))[::-1]


def read(ranking: Ranking, query: Query, cancel: CancelToken, *, one_of_twins: bool = False) -> Retrieval:
    """Read the best candidates as they stand now: at most `limit` of `query`, none below its least score.

    With `one_of_twins` no place is given to a copy for which another one stands.
    """
    watch = Stopwatch()
    hits, given, dropped = list[Hit](), list[int](), list[Dropped]()
    if query.text.strip():
        hits, given, dropped = _take(ranking, query, cancel, one_of_twins)
        watch.lap("read")
    return Retrieval(
        tuple(hits),
        tuple(given),
        tuple(dropped),
        ranking.order,
        ranking.context,
        ranking.editor,
        {**ranking.stages, **watch.stages},
        ranking.diagnostics,
        ranking.files,
        ranking.confidence,
    )


def _diagnostics(
    order: Order, context: RankingContext, prepared: PreparedQuery, meant: SearchText | None
) -> RetrievalDiagnostics:
    question = context.question
    counts = CandidateCounts(
        dense=len([r for r in order.ranked if r.dense_rank is not None]),
        lexical=len([r for r in order.ranked if r.lexical_rank is not None]),
        definitions=len([r for r in order.ranked if r.defines > 0]),
    )
    return RetrievalDiagnostics(
        prepared.model.id,
        tuple(question.words),
        tuple(question.names),
        question.is_symbol,
        prepared.issue is not None,
        counts,
        prepared.problem,
        rewritten=meant.question.text if meant else prepared.follow_up.text,
    )


def _take(ranking: Ranking, query: Query, cancel: CancelToken, one_of_twins: bool) -> tuple[list[Hit], list[int], list[Dropped]]:
    """Read the best candidates in one call; one that can't be given as it stands is replaced by the next."""
    order, least = ranking.order, query.filters.min_score
    best = list(zip(order.ranked, order.relevances, order.scores, strict=True))
    if least is not None:
        best = [one for one in best if one[1] >= least]
    stands_for = ranking.stands_for if one_of_twins else {}
    wanted = [one for one in best if one[0].doc not in stands_for] if stands_for else best
    left_out = [(lines.path, lines.start_line, lines.end_line) for lines in query.left_out]
    current_texts = ranking.view.read_best([r.doc for r, _, _ in wanted], query.limit, left_out, cancel, files=ranking.read_files)
    hits: list[Hit] = []
    given: list[int] = []
    dropped: list[Dropped] = []
    for (ranked, found, value), current in zip(wanted, current_texts, strict=False):  # as far as was read
        if isinstance(current, str):
            dropped.append(Dropped(ranked.path, ranked.start_line, ranked.end_line, current))
            continue
        chunk = to_chunk(current)
        given.append(ranked.doc)
        rarity = ranking.context_of(ranked.doc).rarity
        shares = contributions(ranked, value, found, reranked=ranked.doc in order.reranked)
        told = signals(ranked, rerank=order.reranked.get(ranked.doc), shares=shares)
        hits.append(Hit(chunk, found, told, focus(chunk, rarity, sought=ranked.defines > 0)))
    there = set(given)
    for ranked, _, _ in best[: query.limit]:  # those that would have been given
        if (meant := stands_for.get(ranked.doc)) and meant.doc in there:
            reason = f"another variant of {meant.path}:{meant.start_line}-{meant.end_line}"
            dropped.append(Dropped(ranked.path, ranked.start_line, ranked.end_line, reason))
    return hits, given, dropped


def to_chunk(current: CurrentChunk) -> Chunk:
    """Turn a native chunk with its checked text into a value of `model`."""
    info: ChunkInfo = current.info
    return Chunk(
        id=info.id,
        path=info.path,
        language=info.language,
        source=info.source,
        kind=info.kind,
        symbol=info.symbol,
        container=info.container,
        signature=info.signature,
        definitions=tuple(info.definitions),
        imports=tuple(current.imports),
        span=Span(info.start_line, info.end_line, current.start_character, current.end_character),
        text=current.text,
        content_hash=info.content_hash,
        updated_at=info.updated_at,
        masked=current.masked,
    )
