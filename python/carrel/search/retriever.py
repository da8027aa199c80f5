"""Query -> hits: what the searches found, in order, with texts that are checked at this moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.local_index import SnapshotView
from carrel.model.native import (
    CancelToken,
    Candidate,
    ChunkInfo,
    CurrentChunk,
    EditorContext,
    ReadFiles,
)
from carrel.model.types import CandidateCounts, Chunk, Dropped, Filters, Hit, Query, RetrievalDiagnostics, Span
from carrel.question import query_words
from carrel.question.issue_text import IssueText
from carrel.question.prepare import PreparedQuery, SearchText
from carrel.search import twins
from carrel.search.candidates import Stopwatch, corrected, search_each
from carrel.search.certainty import (
    BEST,
    GUESSES,
    IN_FRONT,
    OF_A_TRACE,
    OF_CONVERSATION,
    STANDS,
    confidence,
    is_about_code,
    is_enough,
    is_sure,
    relevance,
)
from carrel.search.definitions import definitions_first
from carrel.search.focus import focus
from carrel.search.frames import chunks_of_frames, with_places
from carrel.search.localize import LocatedFile, localize
from carrel.search.order import Order, Place, joined
from carrel.search.ranking import RankingContext, editor_context, rank, score, signals


class Ranking(Struct, frozen=True):
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
    alone: float = 0.0  # the same by the question's own words, whatever was said before it
    floor: float = 0.0  # of the model that gave the cosines
    with_facts: Callable[[Chunk], Chunk] = lambda chunk: chunk  # adds what a document says of itself

    def context_of(self, doc: int) -> RankingContext:
        """Return the question that a candidate was found for."""
        return self.contexts.get(doc, self.context)

    def read_best(self, docs: Sequence[int], most: int, query: Query, cancel: CancelToken) -> Sequence[CurrentChunk | str]:
        """Read chunks as they stand now, in their order, up to so many that can be given; of others the reason why not."""
        left_out = [(lines.path, lines.start_line, lines.end_line) for lines in query.left_out]
        return self.view.read_best(docs, most, left_out, cancel, files=self.read_files)

    def chunk_of(self, current: CurrentChunk) -> Chunk:
        """Return a chunk that was read, with what its document says of itself."""
        return self.with_facts(to_chunk(current))

    def lines(self, path: str, first: int, last: int) -> str | None:
        """Return lines of a file as they stand now; None where they can't be read."""
        return self.view.lines(path, first, last, files=self.read_files)


class Retrieval(Struct, frozen=True):
    """Hits, best first, and what is needed to explain them."""

    hits: tuple[Hit, ...]
    hit_docs: tuple[int, ...]  # which candidates they are, in their order
    dropped: tuple[Dropped, ...]
    order: Order
    context: RankingContext
    editor: EditorContext
    stages: dict[str, float]  # milliseconds
    diagnostics: RetrievalDiagnostics
    files: tuple[LocatedFile, ...] = ()  # of a text that was read as an issue: the files that it is about
    confidence: float = 0.0  # from 0 to 1: is there anything relevant at all
    floor: float = 0.0

    @property
    def wanted(self) -> tuple[Hit, ...]:
        """Return what may be added to a text whose writer asked for none of it. Who says "ok" doesn't mean what is called so."""
        question = self.context.question
        if not is_enough(self.confidence) or question.is_small_talk:
            return ()
        is_meant = self.confidence >= IN_FRONT or self.diagnostics.is_issue or is_about_code(self.ranked, question, self.floor)
        return self.hits if is_meant else ()

    @property
    def answer(self) -> tuple[Hit, ...]:
        """Return what answers somebody who asks: where that isn't sure the best few places that hold any evidence.

        A bare word may be no more than a greeting, and be sought all the same; "hello!" and a sentence of such words aren't.
        """
        if is_sure(self.confidence):
            return self.hits
        text = self.context.question.text
        asks = self.confidence > 0 or (len(text.split()) == 1 and not text.endswith(("!", "?", ".")))
        best, holding = self.hits if asks else (), self.diagnostics.holding
        if holding is not None and 0 < holding <= len(best):  # a word with few uses: all of them
            return tuple(hit for hit in best if hit.signals.matched)
        if not is_enough(self.confidence):  # the evidence may be that of what was said before
            best = tuple(hit for hit in best if hit.signals.matched or hit.signals.rerank or is_enough(hit.score))
        return best[:GUESSES]

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
    if prepared.own and search.certainty(prepared.own) >= STANDS:
        prepared = prepared.by_itself(prepared.own)
        search = _Search(view, prepared, editor_context(query), cancel)
    search.watch.stages["embed"] = prepared.milliseconds
    if not query.text.strip():
        result = _Result(Order(), RankingContext(query_words.read("")))
        return search.ranking(result, RetrievalDiagnostics(prepared.model.id))
    result = search.issue(prepared.issue) if prepared.issue else search.question()
    return search.ranking(result, _diagnostics(view, result, prepared))


class _Result(Struct, frozen=True):
    """Hold what was found for a text, in order. `meant` is the text with its names corrected, where that was searched for."""

    order: Order
    context: RankingContext
    files: tuple[LocatedFile, ...] = ()
    stands_for: Mapping[int, Candidate] = field(default_factory=dict)
    meant: SearchText | None = None
    confidence: float = 0.0
    alone: float | None = None  # the confidence by the question's own words, where that isn't the same


class _Search:
    """The steps of one search."""

    def __init__(self, view: SnapshotView, prepared: PreparedQuery, editor: EditorContext, cancel: CancelToken) -> None:
        self.watch = Stopwatch()
        self._view, self._prepared, self._query, self._editor = view, prepared, prepared.query, editor
        self._floor, self._cancel = prepared.model.floor, cancel
        self._read_files = ReadFiles()

    def ranking(self, result: _Result, diagnostics: RetrievalDiagnostics) -> Ranking:
        """Return what was found with all that reading and explaining it takes."""
        return Ranking(
            self._view,
            self._query,
            result.order,
            result.context,
            self._editor,
            self.watch.stages,
            diagnostics,
            result.files,
            stands_for=result.stands_for,
            read_files=self._read_files,
            by_rule=self._prepared.follow_up.text is not None or result.context.question.is_symbol,
            confidence=result.confidence,
            alone=result.confidence if result.alone is None else result.alone,
            floor=self._floor,
        )

    def issue(self, issue: IssueText) -> _Result:
        """Find the places of a text with the structure of an issue, in parts."""
        located = localize(self._view, issue, self._prepared, self._cancel, self.watch)
        return _Result(located.order, located.context, located.files, confidence=located.confidence(issue, self._floor))

    def certainty(self, text: SearchText) -> float:
        """Return how sure it is that a text is answered by itself."""
        candidates, context = self._ask([text], self._query)[0]
        return confidence(self._ranked(candidates, context).ranked, context.question, self._floor)

    def question(self) -> _Result:
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
        order = self._ranked(candidates, context)
        sure = IN_FRONT if front else confidence(order.ranked, context.question, self._floor)
        alone = 0.0 if follow_up.text and not follow_up.in_front else sure
        says = bool(order.places)
        # A question that seems to stand alone and stands somewhere as it is needs no more.
        sought = follow_up.text or not any(candidate.literal for candidate in order.ranked[:BEST])
        if len(prepared.texts) > 1 and sought:
            order, of_others = self._with_conversation(order, text, context)
            sure = max(sure, of_others)
            self.watch.lap("conversation")
        if follow_up.is_small_talk or not says:
            sure = min(sure, OF_CONVERSATION)
        if follow_up.text:
            best = order.best
            gains = {place.candidate.doc: follow_up.gain(place.candidate, place.score, best, query) for place in order.places}
            order = order.moved("follow_up", gains)
        order, stands_for = twins.settle(self._view, order, query)
        order = definitions_first(order, context, query)
        if places := self._named_places(text, context):
            order = with_places(order, places, "named_place")
            sure = alone = max(sure, OF_A_TRACE)
        if context.question.is_change:  # it is often wanted in every copy
            stands_for = {}
        else:
            others = [candidate for candidate in order.ranked if candidate.doc not in stands_for]
            stands_for = {**stands_for, **twins.copies(self._view, others, query)}
        self.watch.lap("rank")
        return _Result(order, context, (), stands_for, meant, sure, alone)

    def _named_places(self, text: SearchText, context: RankingContext) -> tuple[Place, ...]:
        """Return the places that the text names by file and line."""
        named = text.question.places
        docs = chunks_of_frames(self._view, named, self._query, self._cancel) if named else ()
        candidates = score(self._view.evidence(text.parsed(quotes=False), docs), context, self._editor) if docs else ()
        return self._placed(candidates, context)

    def _with_conversation(self, question_order: Order, text: SearchText, context: RankingContext) -> tuple[Order, float]:
        """Return the order joined with what the texts find that take in what was said, and how sure these are."""
        results = self._ask([beside for name, beside in self._prepared.texts.items() if name], self._query)
        others = [(self._ranked(candidates, about), about) for candidates, about in results]
        parsed = text.parsed(quotes=False)
        says = () if self._prepared.follow_up.is_small_talk else (question_order,)
        first, *rest = [order for order in (*says, *(other for other, _ in others)) if order.places] or [question_order]
        order = joined(
            first,
            rest,
            lambda docs: self._placed(score(self._view.evidence(parsed, docs), context, self._editor), context),
        )
        return order, max((confidence(other.ranked, about.question, self._floor) for other, about in others), default=0.0)

    def _ask(self, texts: Sequence[SearchText], query: Query) -> list[tuple[list[Candidate], RankingContext]]:
        return search_each(self._view, texts, query, self._floor, self._cancel, files=self._read_files)

    def _ranked(self, candidates: Sequence[Candidate], context: RankingContext) -> Order:
        return Order(self._placed(rank(candidates, context, self._editor), context))

    def _placed(self, candidates: Sequence[Candidate], context: RankingContext) -> tuple[Place, ...]:
        return placed(candidates, context, self._floor)


def placed(candidates: Sequence[Candidate], context: RankingContext, floor: float) -> tuple[Place, ...]:
    """Return candidates in their places, each with its relevance."""
    return tuple(Place(candidate, candidate.score, relevance(candidate, context.question, floor)) for candidate in candidates)


def read(ranking: Ranking, query: Query, cancel: CancelToken, *, one_of_twins: bool = False) -> Retrieval:
    """Read the best candidates as they stand now: at most `limit` of `query`, none below its least score.

    With `one_of_twins` no place is given to a copy for which another one stands.
    """
    watch = Stopwatch()
    hits, hit_docs, dropped = list[Hit](), list[int](), list[Dropped]()
    if query.text.strip():
        hits, hit_docs, dropped = _take(ranking, query, cancel, ranking.stands_for if one_of_twins else {})
        watch.lap("read")
    return Retrieval(
        tuple(hits),
        tuple(hit_docs),
        tuple(dropped),
        ranking.order,
        ranking.context,
        ranking.editor,
        {**ranking.stages, **watch.stages},
        ranking.diagnostics,
        ranking.files,
        ranking.confidence,
        ranking.floor,
    )


def _diagnostics(view: SnapshotView, result: _Result, prepared: PreparedQuery) -> RetrievalDiagnostics:
    order, question, meant = result.order, result.context.question, result.meant
    problems = [prepared.problem, _corrections(prepared.texts[""].question.names, question.names) if meant else None]
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
        " ".join(filter(None, problems)) or None,
        rewritten=meant.question.text if meant else prepared.follow_up.text,
        holding=view.holding(question.words[0]) if len(question.words) == 1 and prepared.query.filters == Filters() else None,
    )


def _corrections(names: Sequence[str], searched: Sequence[str]) -> str | None:
    """Say which names of a question are nobody's, and which were searched for in their place."""
    missing = [name for name in names if name not in searched]
    nearest = [name for name in searched if name not in names]
    if not missing or not nearest:
        return None
    return f"Nothing is called {', '.join(missing)}: what is written nearly so was searched for, {', '.join(nearest)}."


def _take(
    ranking: Ranking, query: Query, cancel: CancelToken, stands_for: Mapping[int, Candidate]
) -> tuple[list[Hit], list[int], list[Dropped]]:
    """Read the best candidates in one call; one that can't be given as it stands is replaced by its copy, or the next."""
    order, least = ranking.order, query.filters.min_score
    best = [place for place in order.places if least is None or place.relevance >= least]
    wanted = [place for place in best if place.candidate.doc not in stands_for] if stands_for else best
    current_texts = ranking.read_best([place.candidate.doc for place in wanted], query.limit, query, cancel)
    hits: list[Hit] = []
    hit_docs: list[int] = []
    dropped: list[Dropped] = []
    for place, current in zip(wanted, current_texts, strict=False):  # as far as was read
        ranked = place.candidate
        if isinstance(current, str):
            dropped.append(Dropped(ranked.path, ranked.start_line, ranked.end_line, current))
            continue
        chunk = ranking.chunk_of(current)
        hit_docs.append(ranked.doc)
        rarity = ranking.context_of(ranked.doc).rarity
        seen = signals(place, rerank=order.reranked.get(ranked.doc))
        hits.append(Hit(chunk, place.relevance, seen, focus(chunk, rarity, sought=ranked.defines > 0)))
    unread = {place.candidate.doc for place, current in zip(wanted, current_texts, strict=False) if isinstance(current, str)}
    readable = {doc: meant for doc, meant in stands_for.items() if meant.doc not in unread}
    if len(readable) < len(stands_for):
        return _take(ranking, query, cancel, readable)
    there = set(hit_docs)
    for ranked in (place.candidate for place in best[: query.limit]):  # those that would have been given
        if (meant := stands_for.get(ranked.doc)) and meant.doc in there:
            reason = f"a copy or variant of {meant.path}:{meant.start_line}-{meant.end_line}"
            dropped.append(Dropped(ranked.path, ranked.start_line, ranked.end_line, reason))
    return hits, hit_docs, dropped


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
