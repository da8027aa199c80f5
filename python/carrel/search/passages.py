"""Which lines of the best candidates a pack is filled with: the passages that say most about the question for their size.

A list of hits spreads over files, so that further chunks of one file come late; a pack shows where the answer is, even if all
of it is in one file. Only candidates of the search take part: what filters leave out stays out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from carrel.model import native
from carrel.model.lines import rows_of
from carrel.model.native import CancelToken
from carrel.model.types import Hit, Query
from carrel.search.ranking import score, signals
from carrel.search.retriever import Ranking, to_chunk

MOST_CHUNKS = 40
"""So many candidates are read and looked into: each costs some 15 microseconds."""
LEAST_SHARE = 0.25
"""A candidate whose score is a smaller share of the best one's is no place of a pack, unless it must be one."""
HEADER = " (header)"
"""Behind the name of a type whose methods are chunks of their own."""
SURE_FILES = 2
"""The best so many files of the search have a place each: which files answer is surer than which lines do."""


class Passage(Struct, frozen=True, eq=False):
    """Lines of a hit's chunk, from 0; `count` of them."""

    hit: Hit
    first: int
    count: int


class Choice(Struct, frozen=True):
    """Passages for a pack, best first; they overlap. Those of `first` must be there, in that order."""

    first: tuple[Passage, ...]
    passages: tuple[Passage, ...]

    def after(self, others: Sequence[Passage], most: int) -> Choice:
        """Return this choice after other passages; of `most` places one is kept for the first of this one's."""
        if not others:
            return self
        ids = list(dict.fromkeys(passage.hit.chunk.id for passage in others))
        before = set(ids[: max(most - 1, 1)] if self.first and self.first[0].hit.chunk.id not in ids[:most] else ids)
        first = [passage for passage in others if passage.hit.chunk.id in before]
        rest = [passage for passage in others if passage.hit.chunk.id not in before]
        return Choice((*first, *self.first[:1], *rest, *self.first[1:]), self.passages)


class Offer(Struct, frozen=True, eq=False):
    """Passages that one search or several offer for a pack.

    `hits` are what was read of the ranking; the passages are taken from `chunks`, each with its share of the best score. Those of
    `sure` must have a place. With `in_order` the hits' order says more than scores do. `related` lines come before all, and
    before them the `whole` definition of what is asked for by its name, where a pack has the room.
    """

    hits: tuple[Hit, ...]
    chunks: tuple[tuple[Hit, float], ...]
    sure: tuple[Hit, ...]
    rarity: Mapping[str, float]
    in_order: bool
    related: tuple[Passage, ...] = ()
    whole: tuple[Passage, ...] = ()


def offer(ranking: Ranking, hits: Sequence[Hit], query: Query, cancel: CancelToken) -> Offer:
    """Return what a search offers; of copies only the one that is meant.

    `hits` are what was read of the ranking. Where their order says more than scores do, they come first, and nothing else: in a
    text that asks for a change, which may touch several files, and where the order is more than one text's: an issue that was
    read in parts, several searches, a reranker's judgement, a rule that goes before the scores. Raises `Cancelled`.
    """
    several = ranking.files or ranking.contexts or ranking.order.reranked
    if several or ranking.by_rule or ranking.context.question.is_change:
        return _in_order(hits, ranking.context.rarity)
    first_of = {hit.chunk.path: hit for hit in reversed(hits)}
    sure = (*hits[:1], *(first_of[path] for path in ranking.query.pinned if path in first_of))
    chunks = _candidates(ranking, sure, query, cancel)
    return Offer(tuple(hits), tuple(chunks), sure, ranking.context.rarity, in_order=False)


def joined(offers: Sequence[Offer], hits: Sequence[Hit]) -> Offer:
    """Return the offers of several folders as one. `hits` are theirs, merged; each offer has some.

    A share of a folder's best score counts as much as its best hit is relevant, and a word is as rare as where it is least so.
    """
    rarity: dict[str, float] = {}
    for part in offers:
        for word, rare in part.rarity.items():
            rarity[word] = min(rare, rarity.get(word, rare))
    best_first = sorted(offers, key=lambda part: -_best(part))
    related = tuple(passage for part in best_first for passage in part.related)
    whole = best_first[0].whole
    if any(part.in_order for part in offers):
        return replace(_in_order(hits, rarity), related=related, whole=whole)
    top = _best(best_first[0]) or 1.0
    sure = (*hits[:1], *(hit for part in offers for hit in part.sure[1:]))
    ids = {hit.chunk.id for hit in (*sure, *hits)}
    scaled = ((hit, share * _best(part) / top) for part in best_first for hit, share in part.chunks)
    chunks = tuple((hit, share) for hit, share in scaled if share >= LEAST_SHARE or hit.chunk.id in ids)
    return Offer(tuple(hits), chunks, sure, rarity, in_order=False, related=related, whole=whole)


def whole_definition(ranking: Ranking, hits: Sequence[Hit], query: Query, cancel: CancelToken) -> tuple[Passage, ...]:
    """Return all chunks of what the first hit defines, in their order, where the question is nothing but its name.

    A class is cut into its head and its methods, a long function into parts. Raises `Cancelled`.
    """
    if not hits or not ranking.context.question.identifier:
        return ()
    first = hits[0].chunk
    candidate = next((candidate for candidate in ranking.order.ranked if candidate.id == first.id), None)
    if candidate is None or candidate.defines < 1 or first.source != "code":
        return ()
    name = first.symbol.removesuffix(HEADER)
    after = [info for info in ranking.view.file_chunks(first.path) if info.start_line > first.span.start_line]
    parts = takewhile(lambda info: info.symbol == name or f"{info.container}.".startswith(f"{name}."), after)
    docs = [candidate.doc, *(info.doc for info in parts)][:MOST_CHUNKS]
    read = ranking.read_best(docs, MOST_CHUNKS, query, cancel)
    chunks = [to_chunk(current) for current in read if not isinstance(current, str)]
    hit_of = {hit.chunk.id: hit for hit in hits}
    whole = [replace(hit_of.get(chunk.id, hits[0]), chunk=chunk, focus=None) for chunk in chunks]
    return tuple(Passage(hit, 0, len(rows_of(hit.chunk.text))) for hit in whole)


def _best(offered: Offer) -> float:
    return max((hit.score for hit in offered.hits), default=0.0)


def choice(offered: Offer) -> Choice:
    """Return the passages of what is offered, best first."""
    passages = _passages(offered.chunks, offered.rarity)
    if offered.in_order:
        return Choice(_best_of(offered.sure, passages), passages)
    files = list(dict.fromkeys(hit.chunk.path for hit in offered.hits))[1:SURE_FILES]
    further = [next((passage for passage in passages if passage.hit.chunk.path == path), None) for path in files]
    return Choice((*_best_of(offered.sure, passages), *filter(None, further)), passages)


def _in_order(hits: Sequence[Hit], rarity: Mapping[str, float]) -> Offer:
    top = max((hit.score for hit in hits), default=0.0) or 1.0
    return Offer(tuple(hits), tuple((hit, hit.score / top) for hit in hits), tuple(hits), rarity, in_order=True)


def _candidates(ranking: Ranking, sure: Sequence[Hit], query: Query, cancel: CancelToken) -> list[tuple[Hit, float]]:
    """Read the best candidates, each with its share of the best score; what is `sure` is among them."""
    order, least = ranking.order, query.filters.min_score
    place_of = {place.candidate.doc: place for place in order.places}
    # Each by itself: the order counts further chunks of one file less.
    alone = score(order.ranked, ranking.context, ranking.editor)
    alone = [r for r in alone if r.doc not in ranking.stands_for and (least is None or place_of[r.doc].relevance >= least)]
    top = max((r.score for r in alone), default=0.0)
    top = top if top > 0 else 1.0
    ids = {hit.chunk.id for hit in sure}
    alone = [r for r in alone if r.score >= LEAST_SHARE * top or r.id in ids]
    alone.sort(key=lambda r: (r.id not in ids, -r.score, r.path, r.start_line))
    read = ranking.read_best([r.doc for r in alone], MOST_CHUNKS, query, cancel)
    candidates: list[tuple[Hit, float]] = []
    for candidate, current in zip(alone, read, strict=False):  # as far as was read
        if not isinstance(current, str):
            place = place_of[candidate.doc]
            candidates.append((Hit(ranking.chunk_of(current), place.relevance, signals(place)), max(candidate.score, 0.0) / top))
    return candidates


def _passages(chunks: Sequence[tuple[Hit, float]], rarity: Mapping[str, float]) -> tuple[Passage, ...]:
    inputs = [(hit.chunk.text, hit.chunk.symbol, hit.chunk.path, share) for hit, share in chunks]
    lines = native.passages(inputs, rarity)
    return tuple(Passage(chunks[chunk][0], first, last - first + 1) for chunk, first, last in lines)


def _best_of(hits: Sequence[Hit], passages: Sequence[Passage]) -> tuple[Passage, ...]:
    best: dict[str, Passage] = {}
    for passage in passages:
        best.setdefault(passage.hit.chunk.id, passage)
    return tuple(best[hit.chunk.id] for hit in hits if hit.chunk.id in best)
