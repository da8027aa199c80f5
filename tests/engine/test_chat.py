from __future__ import annotations

import pytest

from carrel.core.errors import Cancelled, StoreError
from carrel.engine.chat import augment, context_or_nothing, question_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how?", "C\n\nhow?"),
        ("/fix this", "/fix C\n\nthis"),
        ("@agent do it\nnow", "@agent C\n\ndo it\nnow"),
        ("/clear", "/clear"),
        ("a/b is broken", "C\n\na/b is broken"),
        ("// a comment", "C\n\n// a comment"),
        ("", "C\n\n"),
    ],
)
def test_a_leading_command_stays_first(text: str, expected: str) -> None:
    assert augment(text, "C") == expected
    assert augment(text, "") == text


def test_the_question_is_what_follows_the_command() -> None:
    assert question_of("/explain  how does it work ") == "how does it work"
    assert question_of("plain") == "plain"


def test_a_fault_gives_nothing_and_a_cancel_passes() -> None:
    def fail() -> str:
        raise StoreError("disk full")

    def stop() -> str:
        raise Cancelled

    assert context_or_nothing(lambda: "text") == "text"
    assert context_or_nothing(fail) == ""
    with pytest.raises(Cancelled):
        context_or_nothing(stop)
