"""Several searches for a question in a conversation, joined by their files."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from carrel.model.native import Candidate
from carrel.search.order import Order, Place, sort
from carrel.search.order import joined as join


def search(*found: tuple[int, str, float]) -> Order:
    return Order(sort(Place(Candidate(doc, path, doc, doc), score, 0.1) for doc, path, score in found))


PATHS = {4: "b.py", 5: "other.py"}


def judged(docs: Sequence[int]) -> list[Place]:
    return [Place(Candidate(doc, PATHS[doc], doc, doc, dense=0.5), 0.0, 0.0) for doc in docs]


def joined(own: Order, *others: Order) -> list[tuple[int, float]]:
    return [(one.candidate.doc, round(one.score, 3)) for one in join(own, others, judged).places]


def test_a_file_counts_by_its_best_places_in_all_searches() -> None:
    own = search((1, "a.py", 10.0), (2, "b.py", 9.0), (3, "b.py", 1.0))
    assert joined(own, search((4, "b.py", 2.0)))[0][0] == 2, "another place of b.py speaks for it"


def test_the_own_search_has_the_scale_and_others_their_share() -> None:
    own = search((1, "a.py", 10.0), (2, "b.py", 5.0))
    assert joined(own, search((1, "a.py", 3.0)), search((1, "a.py", 7.0)))[0] == (1, 10.0)
    assert joined(own) == [(1, 10.0), (2, 5.0)]


def test_what_only_others_found_is_judged_by_the_question_itself() -> None:
    first, second = join(search((1, "a.py", 10.0)), [search((5, "other.py", 4.0))], judged).places
    assert (first.candidate.doc, second.candidate.doc, second.candidate.dense) == (1, 5, 0.5)
    assert second.score < first.score
    assert second.relevance == 0.1, "as relevant as the search says that found it"
    assert [name for name, _ in second.steps] == ["conversation"]


def test_searches_that_find_nothing_or_nothing_good_change_nothing() -> None:
    own = search((1, "a.py", 10.0), (2, "b.py", -1.0))
    assert [doc for doc, _ in joined(own, search())] == [1, 2]
    assert [doc for doc, _ in joined(own, search((2, "b.py", 0.0)))] == [1, 2]
    assert joined(search(), search((5, "other.py", 4.0))) == [(5, 0.0)]


SCORES = st.lists(st.tuples(st.integers(0, 9), st.floats(-5, 50)), unique_by=lambda pair: pair[0], max_size=8)


@given(SCORES, st.lists(SCORES, max_size=3))
def test_every_place_is_there_once_and_scores_fall(own: list[tuple[int, float]], others: list[list[tuple[int, float]]]) -> None:
    searches = [search(*((doc, f"{doc % 3}.py", score) for doc, score in found)) for found in (own, *others)]

    def seen(docs: Sequence[int]) -> list[Place]:
        return [Place(Candidate(doc, f"{doc % 3}.py", doc, doc), 0.0, 0.0) for doc in docs]

    places = join(searches[0], searches[1:], seen).places
    assert sorted(one.candidate.doc for one in places) == sorted({doc for found in (own, *others) for doc, _ in found})
    scores = [place.score for place in places]
    assert scores == sorted(scores, reverse=True)
