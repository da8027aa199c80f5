"""What a repository is asked about itself."""

from __future__ import annotations

from tests.question.test_follow_up import FILES
from tests.support.texts import EMBEDDER, indexed

from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.question.prepare import PreparedQuery, prepare_blocking
from carrel.service.own_questions import OwnFigures, measure, needles

VIEW = indexed({**FILES, "docs/guide.md": "# How payments are repeated\n\nThey wait.\n\n# What a bill shows at last\n\nTaxes.\n"})


def figures(seconds: float = 60.0) -> OwnFigures:
    def prepare(query: Query) -> PreparedQuery:
        return prepare_blocking(query, EMBEDDER)

    return measure(VIEW, prepare, ["Add the tax of an order to the bill"], 5, 1, seconds, CancelToken(), lambda *_: None)


def test_needles_stand_in_one_file_and_a_seed_draws_the_same() -> None:
    drawn, texts = needles(VIEW, 5, 1, CancelToken())
    assert {needle.kind for needle in drawn} == {"identifier", "heading", "message"}
    for needle in drawn:
        assert [path for path, text in texts.items() if needle.text in text] == [needle.path]
    assert needles(VIEW, 5, 1, CancelToken())[0] == drawn


def test_own_texts_are_found_and_told_from_foreign_questions() -> None:
    found = figures()
    assert all(tally.alone == tally.asked > 0 for tally in found.needles)
    assert found.complete
    assert found.confidence is not None
    assert found.confidence.area > 0.95
    assert found.confidence.refused == 0
    assert found.confidence.sent < found.confidence.foreign / 5


def test_the_time_is_bounded() -> None:
    found = figures(seconds=0)
    assert (found.needles, found.complete) == ((), False)
