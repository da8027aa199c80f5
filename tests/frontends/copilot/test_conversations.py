"""What the proxy knows of the conversation before a turn."""

from __future__ import annotations

import json
from typing import Any

from carrel.frontends.copilot.interceptor import ConversationLog
from carrel.frontends.copilot.turns import turn_of


def turn(method: str, **params: Any) -> Any:
    found = turn_of(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
    assert found is not None
    return found


def test_a_conversation_that_is_sent_whole_tells_its_own_history() -> None:
    turns = [{"request": "where is login?", "response": "In `auth.py`."}, {"request": "and how is that tested?"}]
    assert ConversationLog().before(turn("conversation/create", turns=turns), "and how is that tested?") == [
        {"role": "user", "content": "where is login?"},
        {"role": "assistant", "content": "In `auth.py`."},
    ]


def test_turns_that_go_on_have_the_questions_before_them_and_none_of_another_conversation() -> None:
    log = ConversationLog()
    log.before(turn("conversation/create", turns=[{"request": "where is login?"}]), "where is login?")
    first = log.before(turn("conversation/turn", conversationId="a", message="who calls it?"), "who calls it?")
    assert [said["content"] for said in first] == ["where is login?"]
    assert log.before(turn("conversation/turn", conversationId="b", message="hm?"), "hm?") == []
    again = log.before(turn("conversation/turn", conversationId="a", message="and now?"), "and now?")
    assert [said["content"] for said in again] == ["where is login?", "who calls it?"]


def test_only_the_last_conversations_and_turns_are_kept() -> None:
    log = ConversationLog()
    for number in range(50):
        log.before(turn("conversation/turn", conversationId=f"c{number}", message="x"), "x")
    assert log.before(turn("conversation/turn", conversationId="c0", message="x"), "x") == []
    for _ in range(50):
        said = log.before(turn("conversation/turn", conversationId="c0", message="x"), "x")
    assert len(said) == 6
