"""Several rankings become one: by rank, each chunk once, relevance falling with the order."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.model.diagnostics import RetrievalDiagnostics
from carrel.model.local_index import SnapshotView
from carrel.model.native import Candidate
from carrel.model.types import Query
from carrel.question import query_words
from carrel.search.merge import calibrated, merged
from carrel.search.ranking import RankingContext, editor_context
from carrel.search.retriever import Order, Ranking


def ranking(text: str, *relevances: tuple[int, float]) -> Ranking:
    """A ranking of chunks by number, with their relevance."""
    found = tuple(Candidate(doc, f"{doc}.py", 1, 2) for doc, _ in relevances)
    sure = tuple(relevance for _, relevance in relevances)
    query = Query(text)
    return Ranking(
        cast("SnapshotView", None),  # nothing is read
        query,
        Order(found, sure, sure),
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
    assert both.order.relevances == (0.9, 0.8, 0.6, 0.4, 0.3)
    assert both.stages == {"search": 2.0}
    assert both.context_of(2) is staging.context
    assert both.context_of(1) is prod.context


def test_one_ranking_is_left_as_it_is() -> None:
    alone = ranking("alone", (1, 0.9))
    assert merged([alone]) is alone


def test_a_cut_by_relevance_takes_nothing_that_is_relevant_enough() -> None:
    good, weak = ranking("good", (1, 0.9), (2, 0.8)), ranking("weak", (3, 0.1), (4, 0.05))
    assert docs(merged([good, weak])) == [1, 3, 2, 4]
    kept = merged([good, weak], 0.5)
    assert docs(kept) == [1, 2, 3, 4]
    assert [found >= 0.5 for found in kept.order.relevances] == [True, True, False, False]


@given(st.lists(st.floats(0, 1)))
def test_relevance_never_rises_and_keeps_its_mean(values: list[float]) -> None:
    found = calibrated(values)
    assert list(found) == sorted(found, reverse=True)
    assert sum(found) == pytest.approx(sum(values), abs=1e-4 * len(values) + 1e-9)
    if list(values) == sorted(values, reverse=True):
        assert found == tuple(pytest.approx(value, abs=1e-4) for value in values)
