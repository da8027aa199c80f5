"""Which lines of the best candidates a pack is filled with: the passages that say most about the question for their size.

A list of hits spreads over files, so that further chunks of one file come late; a pack shows where the answer is, even if all
of it is in one file. Only candidates of the search take part: what filters leave out stays out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from carrel.core import native
from carrel.core.native import CancelToken
from carrel.core.types import Chunk, ContextItem, Hit, Query
from carrel.engine.contributions import contributions
from carrel.engine.pieces import some_lines
from carrel.engine.ranking import score, signals
from carrel.engine.retriever import Ranking, to_chunk

MOST_CHUNKS = 40
"""So many candidates are read and looked into: each costs some 15 microseconds."""

_LINE_ENDS = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """Lines of a hit's chunk, from 0; `count` of them."""

    hit: Hit
    first: int
    count: int

    @property
    def is_whole(self) -> bool:
        """Tell whether it is all of its chunk."""
        span = self.hit.chunk.span
        return self.first == 0 and self.count > span.end_line - span.start_line

    def touches(self, other: Passage) -> bool:
        """Tell whether another one of the chunk overlaps it, or follows at once."""
        return self.first <= other.first + other.count and other.first <= self.first + self.count

    def joined(self, other: Passage) -> Passage:
        """Return both as one, from the first line of either to the last."""
        first = min(self.first, other.first)
        return Passage(self.hit, first, max(self.first + self.count, other.first + other.count) - first)

    def item(self, rows: Sequence[str]) -> ContextItem:
        """Return it as it is shown; `rows` are the lines of its chunk."""
        return ContextItem(self.hit, self.hit.chunk.text) if self.is_whole else some_lines(self.hit, rows, self.first, self.count)


def rows_of(chunk: Chunk) -> list[str]:
    """Return the lines of a chunk without their ends, as passages count them."""
    rows = _LINE_ENDS.split(chunk.text)
    return rows[:-1] if rows and not rows[-1] else rows


def find_passages(ranking: Ranking, query: Query, cancel: CancelToken) -> list[Passage]:
    """Return the passages of the best candidates, best first; they overlap. Of copies only the one that is meant has any.

    Nothing for a text that asks for a change, which may touch several files, nor where the order is more than one text's: an
    issue that was read in parts, several searches, a reranker's judgement, a rule that goes before the scores.
    """
    if ranking.by_rule or ranking.context.question.is_change or ranking.files or ranking.contexts or ranking.order.reranked:
        return []
    order, least = ranking.order, query.filters.min_score
    ranked_of = {r.doc: (r, value, found) for r, value, found in zip(order.ranked, order.scores, order.relevances, strict=True)}
    # Each by itself: the order counts further chunks of one file less.
    alone = score(order.ranked, ranking.context, ranking.editor)
    alone = [r for r in alone if r.doc not in ranking.stands_for and (least is None or ranked_of[r.doc][2] >= least)]
    alone.sort(key=lambda r: (-r.score, r.path, r.start_line))
    top = alone[0].score if alone and alone[0].score > 0 else 1.0
    left_out = [(lines.path, lines.start_line, lines.end_line) for lines in query.left_out]
    read = ranking.view.read_best([r.doc for r in alone], MOST_CHUNKS, left_out, cancel, files=ranking.read_files)
    hits: list[Hit] = []
    inputs: list[tuple[str, str, str, float]] = []
    for candidate, current in zip(alone, read, strict=False):  # as far as was read
        if not isinstance(current, str):
            chunk = to_chunk(current)
            ranked, value, found = ranked_of[candidate.doc]
            hits.append(Hit(chunk, found, signals(ranked, shares=contributions(ranked, value, found))))
            inputs.append((chunk.text, chunk.symbol, chunk.path, max(candidate.score, 0.0) / top))
    lines = native.passages(inputs, ranking.context.rarity)
    return [Passage(hits[chunk], first, last - first + 1) for chunk, first, last in lines]
