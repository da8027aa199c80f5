from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.hits import hit

from carrel.model.types import Budget
from carrel.pack.context import pack
from carrel.providers.tokenizers import ApproximateTokenizer
from carrel.search.focus import FOCUS_LINES, focus

RARITY = {"token": 3.0, "expir": 2.0}
LONG = "def session():\n" + "    step()\n" * 40 + "    if token.expired():\n        refresh(token)\n" + "    step()\n" * 40


@pytest.mark.parametrize(("lines", "shown"), [(2, 2), (30, 30), (31, 20)])
def test_a_short_chunk_is_its_own_focus(lines: int, shown: int) -> None:
    first, last = focus(hit(start=5, text="    return token\n" * lines).chunk, RARITY)
    assert last - first + 1 == shown


def test_the_focus_of_a_long_chunk_holds_the_words_of_the_question() -> None:
    first, last = focus(hit(start=101, text=LONG, symbol="").chunk, RARITY)
    assert last - first + 1 == FOCUS_LINES
    assert first <= 142 <= last


def test_the_line_that_defines_what_was_asked_for_comes_before_the_comment_that_speaks_of_it() -> None:
    text = "/**\n" + " * A token is a token.\n" * 40 + " */\nclass Token:\n" + "    pass\n" * 20
    chunk = hit(text=text, symbol="Token (header)", signature="class Token:").chunk
    first, last = focus(chunk, {"token": 3.0}, sought=True)
    assert first <= 43 <= last
    assert "class Token:" in text.splitlines()[first - 1 : last]


@given(st.lists(st.sampled_from(["token = 1", "", "    expired()", "x"]), max_size=120), st.integers(1, 1000))
def test_the_focus_lies_inside_the_chunk(rows: list[str], start: int) -> None:
    chunk = hit(start=start, text="\n".join(rows), symbol="x").chunk
    first, last = focus(chunk, RARITY)
    assert chunk.span.start_line <= first <= last <= chunk.span.end_line


def test_under_a_tight_budget_a_long_hit_is_shown_around_its_focus() -> None:
    long = replace(hit("a.py", 1, LONG, signature="def session():"), focus=(40, 59))
    result = pack([long, *(hit(f"{n}.py", text="y = 1\n" * 20) for n in range(3))], Budget(1_000), ApproximateTokenizer())
    first = result.items[0]
    assert first.text.startswith("def session():\n    … (lines 2-39 left out)\n")
    assert "refresh(token)" in first.text
    head, (begin, end) = first.runs
    assert head == (1, 1)
    assert begin <= 42 <= end
    assert len(result.items) == 4


def test_what_the_others_leave_goes_to_the_best() -> None:
    long = replace(hit("a.py", 1, LONG, signature="def session():"), focus=(40, 59))
    result = pack([long, hit("b.py", text="y = 1\n")], Budget(3_000), ApproximateTokenizer())
    assert [item.elided for item in result.items] == [False, False]
