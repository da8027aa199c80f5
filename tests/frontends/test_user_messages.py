"""Who is told of a fault, and how often."""

from __future__ import annotations

import asyncio

import pytest

from carrel.frontends.lsp.messages.question_messages import AugmentResult, ContextResult
from carrel.frontends.lsp.progress import UserMessages

FAULT = "The disk is full."
PATIENCE = 0.005


def pack(error: str) -> ContextResult:
    return ContextResult(
        id="1",
        text="",
        format="xml",
        tokens=0,
        budget_tokens=0,
        tokenizer="t",
        hits=(),
        dropped=(),
        query="q",
        state="error",
        pending=0,
        error=error,
        elapsed_ms=0,
        stages={},
    )


async def patience_ends() -> None:
    """Let the time pass. Of two timers of one event loop the later one fires last, however slow the machine."""
    await asyncio.sleep(2 * PATIENCE)


@pytest.fixture
def shown() -> list[tuple[int, str]]:
    return []


@pytest.fixture
def user_messages(shown: list[tuple[int, str]]) -> UserMessages:
    return UserMessages(lambda kind, text: shown.append((kind, text)), patience=PATIENCE)


async def test_a_fault_that_nobody_asked_for_is_told_once(user_messages: UserMessages, shown: list[tuple[int, str]]) -> None:
    for _ in range(3):
        user_messages.tell_unless_answered(FAULT)
    user_messages.tell_unless_answered("Another.")
    await patience_ends()
    user_messages.tell_unless_answered(FAULT)
    await patience_ends()
    assert shown == [(1, FAULT), (1, "Another.")]


async def test_what_an_answer_says_is_not_said_twice(user_messages: UserMessages, shown: list[tuple[int, str]]) -> None:
    for text in "abc":
        user_messages.tell_unless_answered(text)
    user_messages.refused(ValueError("a"))
    user_messages.answered({"trigger": "explicit"}, pack("b"))
    user_messages.answered({"trigger": "explicit"}, AugmentResult(text="", original="", pack=pack("c")))
    await patience_ends()
    assert shown == []


async def test_a_chat_turn_shows_nothing_so_the_person_is_told(user_messages: UserMessages, shown: list[tuple[int, str]]) -> None:
    user_messages.tell_unless_answered(FAULT)
    user_messages.answered({"trigger": "chat"}, pack(FAULT))
    user_messages.answered({}, pack(FAULT))
    await patience_ends()
    assert shown == [(1, FAULT)]
