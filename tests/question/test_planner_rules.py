"""Which steps of a planner a question is worth."""

from __future__ import annotations

import pytest

from carrel.model.conversation import Message
from carrel.question.planner_rules import steps_after_search, steps_at_once

TALK = (Message("user", "where are retries done?"), Message("assistant", "In http/retry.py."))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("and how is that tested?", "rewrite"),
        ("why?", "rewrite"),
        ("Compare nginx config on prod and staging", "divide rewrite"),
        ("parse_url", ""),
        ("where is `parse_url`?", ""),
        ("ORA-12154", ""),
        ("", ""),
        (" \n ", ""),
        ("?!", ""),
        ("word " * 200, ""),
        ("KeyError: 'name'\n" + 'File "a.py", line 3, in f\n' * 30, ""),
    ],
)
def test_a_conversation_is_worth_a_rewriting_where_the_question_does_not_stand_alone(text: str, steps: str) -> None:
    assert sorted(steps_at_once(text, TALK)) == steps.split()


@pytest.mark.parametrize(
    ("text", "divided"),
    [
        ("Compare nginx config on prod and staging", True),
        ("what is the difference between the two caches", True),
        ("redis vs memcached in the session store", True),
        ("how are passwords hashed and where are tokens renewed", True),
        ("hash user passwords with salt and renew expired session tokens", True),
        ("how errors are logged and reported to users", False),
        ("how std.mem.eql compares two slices for equality", False),
        ("moves a window to a different workspace", False),
        ("where is the login? and who calls it?", True),
        ("where are orders priced; how is tax added", True),
        ("search and replace", False),
        ("how does login work?", False),
        ("how are passwords and tokens hashed", False),
        ("standard operating procedure", False),
        ("what is android", False),
    ],
)
def test_several_things_are_divided(text: str, *, divided: bool) -> None:
    assert steps_at_once(text, ()) == (frozenset({"divide"}) if divided else frozenset())


@pytest.mark.parametrize(
    ("text", "best", "helped"),
    [
        ("server is down", 0.4, True),
        ("how to set up SSL", 0.0, True),
        ("DB is slow", 0.6, True),  # of those that seem to be found so well a third is not
        ("server is down", 0.8, False),
        ("parse_url", 0.0, False),
        ("", 0.0, False),
        ("how does the scheduler decide which of the waiting background workers runs next on this machine", 0.1, False),
    ],
)
def test_a_short_question_that_found_nothing_good_is_helped(text: str, best: float, *, helped: bool) -> None:
    assert steps_after_search(text, best, sure=True) == (frozenset({"rewrite", "imagine"}) if helped else frozenset())
