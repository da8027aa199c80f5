"""Several rankings become one: by rank, each chunk once, as relevant as where it answers best."""

from __future__ import annotations

from typing import cast

from carrel.model.local_index import SnapshotView
from carrel.model.native import Candidate
from carrel.model.types import Query, RetrievalDiagnostics
from carrel.question import query_words
from carrel.search.merge import merged
from carrel.search.order import Order, Place
from carrel.search.ranking import RankingContext, editor_context
from carrel.search.retriever import Ranking


def ranking(text: str, *relevances: tuple[int, float]) -> Ranking:
    """A ranking of chunks by number, with their relevance."""
    places = tuple(Place(Candidate(doc, f"{doc}.py", 1, 2), relevance, relevance) for doc, relevance in relevances)
    query = Query(text)
    return Ranking(
        cast("SnapshotView", None),  # nothing is read
        query,
        Order(places),
        RankingContext(query_words.read(text)),
        editor_context(query),
        {"search": 1.0},
        RetrievalDiagnostics("m"),
    )


def docs(found: Ranking) -> list[int]:
    return [candidate.doc for candidate in found.order.ranked]


def test_what_one_search_has_first_comes_before_what_both_have_later() -> None:
    prod = ranking("prod", (1, 0.9), (3, 0.5), (4, 0.4))
    staging = ranking("staging", (2, 0.8), (3, 0.6), (5, 0.3))
    both = merged([prod, staging])
    assert docs(both) == [1, 2, 3, 4, 5]
    assert [place.relevance for place in both.order.places] == [0.9, 0.8, 0.6, 0.4, 0.3]
    assert both.stages == {"search": 2.0}
    assert both.context_of(2) is staging.context
    assert both.context_of(1) is prod.context


def test_one_ranking_is_left_as_it_is() -> None:
    alone = ranking("alone", (1, 0.9))
    assert merged([alone]) is alone
