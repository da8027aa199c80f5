"""Retrieval quality on the frozen corpus: no figure may fall by more than .005. corpus.py says what is measured."""

from __future__ import annotations

import json

import pytest
from tests.quality import corpus, mutate
from tests.quality.corpus import Corpus

from carrel.search import issue_chunks, localize, ranking


@pytest.mark.timeout(300)
def test_no_figure_falls(tmp_path_factory: pytest.TempPathFactory) -> None:
    opened = Corpus(tmp_path_factory.mktemp("corpus"))
    values = opened.measure()
    opened.close()
    print(corpus.means(values))
    fell = corpus.worse(values, corpus.frozen())
    assert not fell, "\n".join([*fell, f"Where that is meant, write the figures anew and say why: {corpus.REFREEZE}"])


def test_a_fall_is_told_with_its_questions() -> None:
    before = {"questions: ndcg10": {"a": 1.0, "b": 0.5}}
    assert corpus.worse({"questions: ndcg10": {"a": 0.9, "b": 0.6}}, before) == []
    [told] = corpus.worse({"questions: ndcg10": {"a": 0.9, "b": 0.5}}, before)
    assert told == "questions: ndcg10 fell by 0.0500:\n    1.00 -> 0.90  a"
    with pytest.raises(AssertionError, match="--freeze"):
        corpus.worse({"questions: ndcg10": {"a": 1.0}}, before)


def test_every_weight_was_tried() -> None:
    tried = json.loads(mutate.RESULTS.read_text("utf-8"))
    assert sorted(tried) == sorted(constant.name for constant in mutate.constants()), "Try the new ones: make mutate"


def test_a_constant_is_changed_wherever_it_is_held() -> None:
    before = issue_chunks.FITTED
    place, weight, entry = (
        next(constant for constant in mutate.constants() if constant.name == name)
        for name in ("search.issue_chunks.PLACE", "weights.words", "search.issue_chunks.FITTED.lines")
    )
    with mutate.changed(place, 0.0):
        assert vars(localize)["PLACE"] == issue_chunks.PLACE == 0.0
    assert vars(localize)["PLACE"] == issue_chunks.PLACE == place.value
    with mutate.changed(weight, 2.0):
        assert ranking.WEIGHTS == {"words": 2.0}
    with mutate.changed(entry, 1.0):
        assert issue_chunks.FITTED._replace(lines=entry.value) == before
    assert issue_chunks.FITTED is before
