"""From what each search found to one order, by the core's rules, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from carrel.model import native
from carrel.model.native import Candidate, EditorContext
from carrel.model.types import Query, Signals
from carrel.question.query_words import ParsedQuery
from carrel.search.order import Place

WEIGHTS: Mapping[str, float] = {}
"""Take the place of some of `native.ranking_weights`, for tests and benchmarks that ask what a weight is worth."""


class RankingContext:
    """The question with what the rules want to know of it: the rarity of each of its words, 1 where none is given.

    `everywhere` is what it finds without its filter: a hit's evidence is compared with all that the index holds.
    """

    def __init__(
        self,
        question: ParsedQuery,
        rarities: Sequence[float] | None = None,
        parsed: native.ParsedQuery | None = None,
        *,
        documents: bool = False,
        everywhere: Sequence[Candidate] = (),
    ) -> None:
        rarities = [1.0] * len(question.words) if rarities is None else rarities
        self.question = question
        self.rarity = dict(zip(question.words, rarities, strict=True))
        self.native = native.RankingContext(
            parsed or question.parsed(),
            rarities,
            wants_documents=documents or question.wants_documents,
            weights=WEIGHTS,
            everywhere=everywhere,
        )


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


def signals(place: Place, *, rerank: float | None = None) -> Signals:
    """Return what callers are told of a candidate in its place, and of what a reranker said of it."""
    ranked = place.candidate
    return Signals(
        dense=ranked.dense,
        dense_rank=ranked.dense_rank,
        lexical=ranked.lexical,
        lexical_rank=ranked.lexical_rank,
        fused=ranked.fused,
        rerank=rerank,
        matched=tuple(ranked.matched),
        boosts=(*ranked.boosts, *place.steps),
        contributions=tuple(native.contributions(ranked, place.relevance)),
    )
