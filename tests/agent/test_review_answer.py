from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.agent.reviewer import FORM, ReviewAnswer, read_answer

GOOD: dict[str, Any] = {
    "summary": "Let names with umlauts log in.",
    "difficulty_score": 2,
    "recommended_level": "Mid",
    "concepts_required": ["Unicode", "SQL"],
    "mentoring_advice": "Begin at src/auth.py:1-4.",
}
READ = ReviewAnswer("Let names with umlauts log in.", 2, "Mid", ("Unicode", "SQL"), "Begin at src/auth.py:1-4.")
TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f'Here is my 5" review {{so far}}:\n\n```\n{json.dumps(GOOD, indent=2)}\n```\nGood luck! {{}}',
        TEXT.replace('"SQL"]', '"SQL",]').replace("1-4.", "1-4.,").replace("1-4.,", "1-4."),
        TEXT[:-1] + ",\n}",
        json.dumps({"review": GOOD}),
        json.dumps({**GOOD, "difficulty_score": 5}) + "\nNo, better:\n" + TEXT,
        json.dumps({"difficultyScore" if key == "difficulty_score" else key.upper(): value for key, value in GOOD.items()}),
        json.dumps({**GOOD, "chunks_used": 900, "confidence": "high"}),
        "{" * 500 + TEXT,
    ],
)
def test_an_answer_is_found_wherever_a_model_puts_it(text: str) -> None:
    assert read_answer(text) == (READ, "")


@pytest.mark.parametrize(
    ("field", "given_value", "read"),
    [
        ("difficulty_score", "2", 2),
        ("difficulty_score", 2.0, 2),
        ("difficulty_score", " 2/5 ", 2),
        ("difficulty_score", "2 out of 5", 2),
        ("recommended_level", "senior", "Senior"),
        ("recommended_level", "Mid-level", "Mid"),
        ("recommended_level", "Senior +", "Senior+"),
        ("recommended_level", "SENIOR_PLUS", "Senior+"),
        ("concepts_required", "Unicode, SQL", ("Unicode", "SQL")),
        ("concepts_required", [" SQL ", "", "SQL"], ("SQL",)),
        ("concepts_required", [], ()),
        ("summary", "Change the\nlogin. Then test it.", "Change the login."),
        ("summary", "Change e.g. Login and index.html. Fine", "Change e.g. Login and index.html."),
        ("mentoring_advice", ["Read", "Test"], "- Read\n- Test"),
        ("mentoring_advice", "half \ud83d", "half ?"),
    ],
)
def test_what_has_one_meaning_is_mended(field: str, given_value: object, read: object) -> None:
    answer, problem = read_answer(json.dumps({**GOOD, field: given_value}))
    assert answer is not None, problem
    assert getattr(answer, field) == read


@pytest.mark.parametrize(
    ("field", "given_value", "problem"),
    [
        ("difficulty_score", 0, "difficulty_score must be a whole number from 1 to 5, not 0"),
        ("difficulty_score", 3.5, "difficulty_score must be a whole number from 1 to 5, not 3.5"),
        ("difficulty_score", True, "difficulty_score must be a whole number from 1 to 5, not true"),
        ("difficulty_score", "hard", 'difficulty_score must be a whole number from 1 to 5, not "hard"'),
        ("recommended_level", "Staff", 'recommended_level must be Junior, Mid, Senior or Senior+, not "Staff"'),
        ("recommended_level", ["Mid"], 'recommended_level must be Junior, Mid, Senior or Senior+, not ["Mid"]'),
        ("concepts_required", [{"name": "SQL"}], "concepts_required must be a list of strings"),
        ("summary", " ", "summary must be one sentence"),
        ("summary", None, "summary is missing"),
        ("mentoring_advice", {}, "mentoring_advice must be a text"),
    ],
)
def test_what_is_wrong_is_said_and_not_guessed(field: str, given_value: object, problem: str) -> None:
    assert read_answer(json.dumps({**GOOD, field: given_value})) == (None, problem)


def test_every_problem_is_named_at_once() -> None:
    assert read_answer('{"difficulty_score": 9, "recommended_level": "Mid"}')[1].split("; ") == [
        "summary is missing",
        "difficulty_score must be a whole number from 1 to 5, not 9",
        "concepts_required is missing",
        "mentoring_advice is missing",
    ]


@pytest.mark.parametrize("text", ["", "It is easy.", TEXT[:-20], "[1, 2]", '{"a":' * 50_000, "null", FORM])
def test_no_answer_is_no_crash(text: str) -> None:
    answer, problem = read_answer(text)
    assert answer is None
    assert problem


@pytest.mark.parametrize("text", ['\\"' * 100_000, '{"a":[' * 450 + "1," * 95_000, '{"' * 100_000, '{"a":' * 40_000])
def test_a_text_made_to_take_long_takes_no_long(text: str) -> None:
    began = time.process_time()
    assert read_answer(text)[0] is None
    assert time.process_time() - began < 3  # minutes, where each beginning is followed to the end


@given(st.text(alphabet='{}[]",:\\ab1\ud800\n', max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(str))
def test_any_text_is_read_or_refused(text: str) -> None:
    answer, problem = read_answer(text)
    assert (answer is None) == bool(problem)
