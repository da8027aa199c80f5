from __future__ import annotations

import pytest

from carrel.pack.chat import augment, question_of


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@workspace /explain this", "@workspace /explain C\n\nthis"),
        ("/usr/lib is full", "C\n\n/usr/lib is full"),
        ("@scope/package fails", "C\n\n@scope/package fails"),
    ],
)
def test_several_commands_stay_first_and_paths_are_no_commands(text: str, expected: str) -> None:
    assert augment(text, "C") == expected
