"""Shares of a window that contexts may take, and the conversation that a message belongs to, for many inputs."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.chat_proxy.context_injector import (
    SMALLEST,
    context_budget,
    free_tokens,
    model_window,
    too_many,
    wanted_budget,
    window_or_guess,
)
from carrel.frontends.chat_proxy.context_memory import _MOST_CHARACTERS, ContextMemory, SentContext
from carrel.frontends.chat_proxy.conversation import UserMessage
from carrel.frontends.chat_proxy.questions import conversation_in
from carrel.model.types import Budget, Chunk, ContextItem, Hit, Signals, Span
from carrel.settings.model_settings import BudgetPolicy

SIZES = st.lists(st.integers(1, 9_000), max_size=20)
TEXTS = st.text(max_size=5)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": TEXTS}),
    min_size=1,
    max_size=8,
)


@given(SIZES, st.integers(-9_000, 99_000), st.booleans())
def test_contexts_never_take_more_than_is_free_and_go_oldest_first(sizes: list[int], free: int, one_more: bool) -> None:
    gone = too_many(sizes, free, one_more=one_more)
    left = sum(sizes[gone:])
    assert left == 0 or left <= free
    if sum(sizes) + 2 * SMALLEST <= free:
        assert gone == 0
    if one_more and left and (new := context_budget(free - left, Budget(8_000, "tokens"))):
        assert left + new.amount <= free
    if gone:  # more room keeps no less
        assert too_many(sizes, free + 1, one_more=one_more) <= gone


def keys(messages: list[dict[str, Any]], **more: Any) -> list[tuple[str, str | None]]:
    found = conversation_in("/v1/chat/completions", json.dumps({"messages": messages, **more}).encode())
    return [(message.key, message.followed_key) for message in found.messages] if found else []


@given(MESSAGES, MESSAGES, st.integers(0, 7), TEXTS)
def test_a_key_is_of_all_messages_up_to_it_and_of_no_later_one(
    messages: list[dict[str, Any]], later: list[dict[str, Any]], at: int, text: str
) -> None:
    before = [key for key, _ in keys(messages)]
    assert [key for key, _ in keys(messages + later)][: len(before)] == before
    changed = [dict(message) for message in messages]
    message = changed[at % len(changed)]
    if message["content"] != text:
        message["content"] = text
        first = sum(message["role"] == "user" for message in changed[: at % len(changed)])
        same = [key for key, _ in keys(changed)]
        assert same[:first] == before[:first]
        assert not set(same[first:]) & set(before[first:])
    assert not set(before) & {key for key, _ in keys(messages, conversation="other")}


def test_a_reminder_behind_a_question_says_nothing_more() -> None:
    question, reminder = {"role": "user", "content": "how?"}, {"role": "system", "content": "Be brief."}
    assert keys([question, reminder])[0][1] is None
    assert keys([question, reminder, {"role": "assistant", "content": "So."}])[0][1] is not None


def message(number: int) -> UserMessage:
    return UserMessage((), "", 0, f"{number}", f"{number}+")


def context(characters: int) -> SentContext:
    chunk = Chunk(
        id="1" * 32, path="a.py", language="python", source="code", kind="function", span=Span(1, 1), text="x" * characters
    )
    return SentContext("x", (ContextItem(Hit(chunk, 1.0, Signals()), ""),))


def test_the_memory_is_bounded_in_size_and_time() -> None:
    now = [0.0]
    memory = ContextMemory(lambda: now[0])
    for number in range(100):
        memory.keep("/w", message(number), context(1_000_000))
    assert memory._characters <= _MOST_CHARACTERS
    assert memory.find("/w", message(0)) is None
    assert memory.find("/other", message(99)) is None
    newest = memory.find("/w", message(99))
    assert newest
    now[0] += 8 * 3_600
    assert memory.find("/w", message(99)) is newest
    now[0] += 8 * 3_600 + 1
    assert memory.find("/w", message(99)) is None
    memory.forget()
    assert (memory._characters, len(memory._entries)) == (0, 0)


@given(st.integers(1_024, 2_000_000) | st.none(), st.booleans(), st.sampled_from(["/v1/chat/completions", "/v1/messages"]))
def test_an_agents_question_gets_no_share_of_a_large_window(window: int | None, tools: bool, path: str) -> None:
    body = {"tools": [{"name": "Read"}] if tools else [], "messages": [{"role": "user", "content": "how?"}]}
    found = conversation_in(path, json.dumps(body).encode())
    if found is None:
        assert not tools
        return
    policy = BudgetPolicy()
    wanted = wanted_budget(policy, window, found)
    assert wanted_budget(BudgetPolicy(Budget(9_000, "tokens")), window, found) == Budget(9_000, "tokens")
    if not tools:
        assert wanted == policy.budget(window)
    elif window is None:
        assert wanted == Budget(2_000 if path.endswith("/completions") else 1_500, "tokens")
        # What an agent sends is longer than a small window.
        assert free_tokens(found.body, 60_000, window_or_guess(window, found.body)) > 500_000
    else:
        assert wanted.unit == "chars" or wanted.amount <= 2_000
    assert model_window({**found.body, "model": "claude-x"}, path, window, 99) == (window or (None if found.in_blocks else 99))
