"""Retrieval quality on the frozen corpus: no figure may fall by more than .005. corpus.py says what is measured."""

from __future__ import annotations

import pytest
from tests.quality import corpus
from tests.quality.corpus import Corpus


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
