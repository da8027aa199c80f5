"""How often the rules send a question to the right sources: 135 requests, of which a third had no part in fitting the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carrel.question.routing_rules import choose

HERE = Path(__file__).parent
REQUESTS: list[dict[str, Any]] = json.loads((HERE / "routes.json").read_text("utf-8"))
CODE: dict[str, list[tuple[str, list[str]]]] = json.loads((HERE / "questions.json").read_text("utf-8"))


@pytest.mark.parametrize(("kept_aside", "exact", "reached"), [(False, 0.93, 0.96), (True, 0.88, 0.9)])
def test_requests_go_where_their_answers_are(kept_aside: bool, exact: float, reached: float) -> None:
    asked = [request for request in REQUESTS if request["keptAside"] == kept_aside]
    chosen = [{choice.target for choice in choose(request["text"])} for request in asked]
    meant = [set(request["for"]) for request in asked]
    misses = [
        f"{request['text']}: {sorted(got)}" for request, got, right in zip(asked, chosen, meant, strict=True) if got != right
    ]
    right = 1 - len(misses) / len(asked)
    found = sum(want <= got | {"code"} for want, got in zip(meant, chosen, strict=True)) / len(asked)
    print(f"{len(asked)} requests: {right:.3f} exact, {found:.3f} reach every source that they are for")
    assert right >= exact, misses
    assert found >= reached, misses


@pytest.mark.parametrize(
    "question",
    [
        "where is it decided which task comes next",
        "try again in a few minutes",
        "what decides between auto and manual mode",
        "warn when one piece of work hangs for minutes",
    ],
)
def test_words_that_documents_and_programs_share_send_nothing_away(question: str) -> None:
    assert [choice.target for choice in choose(question)] == ["code"]


def test_questions_about_code_stay_with_the_code() -> None:
    questions = [question for package in CODE.values() for question, _ in package]
    assert [question for question in questions if {choice.target for choice in choose(question)} != {"code"}] == []
