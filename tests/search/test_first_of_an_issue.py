"""Check which files of an issue come first, and that scores fall with the order."""

from __future__ import annotations

import pytest
from tests.support.texts import EMBEDDER, indexed

from carrel.model.native import CancelToken
from carrel.model.types import Query
from carrel.question.prepare import prepare_blocking
from carrel.search.candidates import Stopwatch
from carrel.search.localize import Localization, localize

PATHS = [f"shop/{name}.py" for name in "abcdefghijkl"]


def located(text: str, pinned: tuple[str, ...] = ()) -> Localization:
    prints = 'raise ValueError("could not round way {0}")'
    code = f'def round_{{0}}(amount):\n    """Round an amount of an order to cents, way {{0}}."""\n    {prints}\n'
    shop = {path: code.format(number) for number, path in enumerate(PATHS)}
    fails = 'def test_it():\n    raise ValueError("could not pay for all of it")\n'
    index = indexed(shop | {"tests/test_a.py": f"{fails}\n\ndef test_round():\n    round_0(1)\n"})
    prepared = prepare_blocking(Query(text, pinned=pinned), EMBEDDER)
    assert prepared.issue
    return localize(index, prepared.issue, prepared, CancelToken(), Stopwatch())


ROUNDED = "Amounts of an order are rounded to wrong cents\n" + "It happens with every order since the last release.\n" * 5
PRINTED = "2026-01-01 12:00:00 ERROR could not round way 9\n" * 8
FAILED = "2026-01-01 12:00:00 ERROR could not pay for all of it\n" * 8


@pytest.mark.parametrize("text", [ROUNDED, PRINTED, FAILED])
@pytest.mark.parametrize("pinned", [(), ("tests/test_a.py",), tuple(PATHS[::2]), (*PATHS, "tests/test_a.py")])
def test_pinned_files_and_writers_come_first_and_scores_never_rise(text: str, pinned: tuple[str, ...]) -> None:
    answer = located(text, pinned)
    docs = [place.candidate.doc for place in answer.order.places]
    assert len(docs) == len(set(docs))
    scores = [place.score for place in answer.order.places]
    assert scores == sorted(scores, reverse=True)
    listed = [file.path for file in answer.files]
    assert set(listed[: len(pinned)]) == set(pinned)
    writers = {PRINTED: "shop/j.py", FAILED: "tests/test_a.py"}
    if text in writers and writers[text] not in pinned:
        assert listed[len(pinned)] == writers[text]
    assert set(listed) == {*PATHS, "tests/test_a.py"}


def test_a_pinned_file_takes_nothing_from_the_others() -> None:
    alone, pinned = located(ROUNDED), located(ROUNDED, ("tests/test_a.py",))
    first, *others = pinned.order.places
    assert first.candidate.path == "tests/test_a.py"
    assert [name for name, _ in first.steps][-1] == "pinned"
    relevance = {place.candidate.doc: place.relevance for place in alone.order.places}
    assert all(place.relevance == relevance[place.candidate.doc] for place in (first, *others))
    assert others[0].score == alone.order.best


def test_a_file_of_which_more_chunks_are_found_comes_before_one_with_the_same_code() -> None:
    code = 'def round_amount(amount):\n    """Round an amount of an order to cents."""\n    return round(amount, 2)\n'
    others = "".join(f"\n\ndef paint_{n}(brush, colour):\n    brush.stroke(colour, width={n})\n" for n in range(200))
    index = indexed({"shop/a.py": code + others, "shop/b.py": code})
    prepared = prepare_blocking(Query(ROUNDED), EMBEDDER)
    assert prepared.issue
    answer = localize(index, prepared.issue, prepared, CancelToken(), Stopwatch())
    assert [file.path for file in answer.files] == ["shop/a.py", "shop/b.py"]
