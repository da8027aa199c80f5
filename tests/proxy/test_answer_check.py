"""What the check of an answer's citations says in a header."""

from __future__ import annotations

import json

from carrel.frontends.chat_proxy.answer_check import verdict


def test_a_verdict_stays_short_whatever_is_cited() -> None:
    answer = " ".join(f"src/{'é' * 250}{number}.py:1-2" for number in range(20))
    found = verdict(answer, ())
    told = json.loads(found)
    assert len(found) <= 2_000
    assert (told["cited"], told["unsupported"]) == (20, 20)
    assert 0 < len(told["places"]) < 20
