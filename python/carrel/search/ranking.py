"""From what each search found to one order, by the core's rules, and what is told of it.

`relevances` are estimates from 0 to 1 that fall with the order and can be compared across queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

from carrel.model import native
from carrel.model.native import Candidate, EditorContext
from carrel.model.types import Query, Signals
from carrel.question.query_words import ParsedQuery
from carrel.question.routing_rules import asks_for_documents

WEIGHTS: Mapping[str, float] = {}
"""Take the place of some of `native.ranking_weights`, for tests and benchmarks that ask what a weight is worth."""


class RankingContext:
    """The question with what the rules want to know of it: the rarity of each of its words, 1 where none is given."""

    def __init__(
        self,
        question: ParsedQuery,
        rarities: Sequence[float] | None = None,
        parsed: native.ParsedQuery | None = None,
    ) -> None:
        rarities = [1.0] * len(question.words) if rarities is None else rarities
        self.question = question
        self.rarity = dict(zip(question.words, rarities, strict=True))
        self.native = native.RankingContext(
            parsed or question.parsed(),
            rarities,
            wants_documents=asks_for_documents(question.text),
            weights=WEIGHTS,
        )


SURE_OF = 3
"""The first so many candidates say whether anything answers: the order of close ones is no matter of certainty."""
RELEVANCE_STEPS = 10_000
"""Relevances are rounded to as many steps: what differs by less differs by nothing that was measured."""
LOGARITHMIC_STEP = 3.0
"""A logarithmic score that is lower by this is worth 1 / e."""


def editor_context(query: Query) -> EditorContext:
    """Return what the person who asks has in front of them."""
    return EditorContext(query.active_path, frozenset(query.open_paths), frozenset(query.pinned))


def rank(
    candidates: Sequence[Candidate], context: RankingContext, editor: EditorContext, *, without: AbstractSet[str] = frozenset()
) -> list[Candidate]:
    """Return candidates with their scores, best first. `without` names rules to leave out."""
    return native.rank(candidates, context.native, editor, without=without)


def score(candidates: Sequence[Candidate], context: RankingContext, editor: EditorContext) -> list[Candidate]:
    """Return candidates, each scored by itself."""
    return native.score(candidates, context.native, editor)


def signals(ranked: Candidate, *, rerank: float | None = None, shares: Iterable[tuple[str, float]] = ()) -> Signals:
    """Return what callers are told of a candidate that was ranked, of what a reranker said of it, and of its rules' shares."""
    return Signals(
        dense=ranked.dense,
        dense_rank=ranked.dense_rank,
        lexical=ranked.lexical,
        lexical_rank=ranked.lexical_rank,
        fused=ranked.fused,
        rerank=rerank,
        matched=tuple(ranked.matched),
        boosts=tuple(ranked.boosts),
        contributions=tuple(shares),
    )


def relevance(ranked: Candidate, floor: float) -> float:
    """Return how sure it is that the chunk answers, from 0 to 1, by itself: whatever else was found.

    The kinds of evidence are independent witnesses: 1 - (1 - lexical)(1 - dense)(1 - definition)(1 - verbatim), with the
    lexical share as it is, the cosine counted from the model's noise floor to 0.9, a definition and text that stands there word
    for word at 0.85.
    """
    dense = min(max((ranked.dense - floor) / (0.9 - floor), 0.0), 1.0)
    lexical = min(max(ranked.lexical, 0.0), 1.0)
    value = 1 - (1 - lexical) * (1 - dense) * (1 - 0.85 * ranked.defines) * (1 - 0.85 * ranked.literal)
    return round(min(max(value, 0.0), 1.0), 4) if math.isfinite(value) else 0.0


def relevances(
    order: Sequence[Candidate], scores: Sequence[float], floor: float, *, logarithmic: bool = False
) -> tuple[float, ...]:
    """Return the relevance of each candidate of an order, never rising.

    The best of the first `SURE_OF` says how sure it is that there is an answer at all; the others have their scores' share of
    it. `logarithmic` scores differ by what others multiply by.
    """
    sure = max((relevance(r, floor) for r in order[:SURE_OF]), default=0.0)
    top = scores[0] if scores else 0.0
    if logarithmic:
        shares = [math.exp((score - top) / LOGARITHMIC_STEP) for score in scores]
    else:
        shares = [score / top if score > 0 < top else 0.0 for score in scores]
    steps = sure * RELEVANCE_STEPS
    found = [int(steps * share + 0.5) / RELEVANCE_STEPS for share in shares]  # twice as fast as `round`
    return tuple(accumulate(found, min, initial=1.0))[1:]
