"""The requests of a terminal agent to `/v1/messages`: which hold a prompt, and what stays as it came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.frontends.chat_proxy.test_memory import FIRST, PRICES, SECOND, Chat, chat

from carrel.frontends.chat_proxy.context_memory import RETRY_SECONDS
from carrel.frontends.chat_proxy.conversation import Conversation
from carrel.frontends.chat_proxy.questions import conversation_in

__all__ = ["chat"]

PATH = "/v1/messages"
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS = [{"name": "Read", "input_schema": {"type": "object"}}]
REMINDER = "<system-reminder>\nwho counts the orders\n</system-reminder>\n"
SUMMARY = "This session is being continued from a previous conversation that ran out of context. The summary below ..."
COMPACT = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\nSummarise how login checks the password."
NOTES = (
    "<local-command-caveat>The command below was run directly</local-command-caveat>",
    "<command-name>/compact</command-name>\n  <command-message>compact</command-message>\n  <command-args></command-args>",
    "<local-command-stdout>Compacted</local-command-stdout>\n",
)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(part) if isinstance(part, str) else part for part in content]}


def call(number: int, **more: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"n": 1.0}}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "text"}
    return [{"role": "assistant", "content": [thinking, use]}, user({**result, **more})]


SAID = {"role": "assistant", "content": [text("It compares them.")]}
SYSTEM = {"role": "system", "content": [text("# Environment", **MARK)]}
LATER_SYSTEM = {"role": "system", "content": "# Environment"}
OPENING = user(REMINDER, FIRST)


class Agent:
    """Sends the requests of one session."""

    def __init__(self, chat: Chat, session: str | None = "one") -> None:
        self.chat, self.session, self.count = chat, session, 0

    async def send(self, *messages: dict[str, Any], **more: Any) -> list[Any]:
        self.count += 1
        system = [text(f"x-anthropic-billing-header: cc_version={self.count if self.session else 0}"), text("Be brief.", **MARK)]
        fields = {"model": "claude-opus-5-5", "system": system, "tools": TOOLS, "max_tokens": 128_000, **more}
        return await self.chat.send(*messages, path=PATH, session=self.session, **fields)

    @property
    def note(self) -> str:
        return self.chat.last.note

    @property
    def untouched(self) -> bool:
        return self.chat.last.body == self.chat.raw


def added(chat: Chat, sent: list[Any], asked: str) -> dict[str, Any]:
    """Return the block behind a prompt's; nothing else in the request may have changed."""
    blocks = next(message["content"] for message in reversed(sent) if asked in json.dumps(message))
    at = next(at for at, block in enumerate(blocks) if block["text"] == asked)
    block: dict[str, Any] = blocks[at + 1]
    assert list(block) == ["type", "text"]
    assert block["text"].startswith("<rag_context>")
    return block


def without(body: bytes, *blocks: dict[str, Any]) -> bytes:
    for block in blocks:
        piece = b"," + json.dumps(block, separators=(",", ":")).encode()
        assert body.count(piece) == 1
        body = body.replace(piece, b"")
    return body


@pytest.mark.parametrize("session", ["one", None])
async def test_a_context_is_a_block_of_its_own_that_stays_where_it_was_put(chat: Chat, session: str | None) -> None:
    agent = Agent(chat, session)
    first = added(chat, await agent.send(OPENING, SYSTEM), FIRST)
    assert (agent.note, "verify(password)" in first["text"]) == ("1 place", True)
    assert without(chat.last.body, first) == chat.raw
    chat.edit()
    step = call(1, **MARK)
    assert added(chat, await agent.send(OPENING, LATER_SYSTEM, *step), FIRST) == first
    assert (agent.note, without(chat.last.body, first)) == ("1 remembered", chat.raw)
    before = [OPENING, LATER_SYSTEM, *call(1), SAID]
    sent = await agent.send(*before, user(text(SECOND, **MARK)))
    second = added(chat, sent, SECOND)
    assert "order_price" in second["text"]
    assert (added(chat, sent, FIRST), without(chat.last.body, first, second)) == (first, chat.raw)
    plain = {"role": "user", "content": SECOND}  # so the same message comes from now on
    (chat.root / "prices.py").write_text(PRICES.replace("sum", "total"))
    sent = await agent.send(*before, plain, *call(2, **MARK))
    assert sent[len(before)] == user(SECOND, second)
    assert agent.note.endswith(" remembered")
    alike = b'[{"type":"text","text":%s}]' % json.dumps(SECOND).encode()
    assert without(chat.last.body, first, second).replace(alike, json.dumps(SECOND).encode()) == chat.raw
    # The request for a summary asks nothing, but holds the same conversation.
    sent = await agent.send(*before, plain, call(2)[0], user(*call(2)[1]["content"], COMPACT))
    assert (added(chat, sent, FIRST), agent.note[-10:]) == (first, "remembered")
    sent = await agent.send(*before, plain, SAID, user(COMPACT))
    assert (sent[-1], agent.note[-10:]) == (user(COMPACT), "remembered")


async def test_after_a_summary_only_the_words_of_the_user_are_asked(chat: Chat) -> None:
    agent = Agent(chat)
    summed: list[dict[str, Any]] = [{"role": "user", "content": SUMMARY}, SAID, {"role": "user", "content": REMINDER}]
    sent = await agent.send(*summed, user(REMINDER, *NOTES, SECOND), SYSTEM)
    block = added(chat, sent, SECOND)
    assert "order_price" in block["text"]
    assert without(chat.last.body, block) == chat.raw
    found = conversation_in(PATH, chat.raw, "one")
    assert found
    assert (found.question, [message.text for message in found.history]) == (SECOND, ["It compares them."])


async def test_what_an_agent_says_for_itself_is_no_prompt(chat: Chat) -> None:
    agent = Agent(chat)
    schema = {"output_config": {"format": {"type": "json_schema", "schema": {}}}}
    cases: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
        ([user(FIRST)], {"tools": []}),
        ([user(FIRST)], schema),
        ([user(f"<session>\n{FIRST}\n</session>")], {"tools": [], **schema}),
        ([user(COMPACT)], {}),
        ([user(REMINDER)], {}),
        ([user(f"{REMINDER}{NOTES[1]} {NOTES[2]}")], {}),
        ([user(f"<system-reminder>{FIRST}")], {}),
        ([user("[Request interrupted by user]")], {}),
        ([user(SECOND), *call(1)], {}),  # of a conversation that was begun without the proxy
        ([user({"type": "tool_result", "tool_use_id": "t", "content": "x"}, FIRST)], {}),
        ([user({"type": "image", "source": {}})], {}),
    ]
    for messages, more in cases:
        await agent.send(*messages, **more)
        assert (agent.note, agent.untouched) == ("no question", True), messages
    await chat.send(user(FIRST), path=PATH + "/count_tokens", tools=TOOLS, session="one")
    assert agent.untouched


async def test_the_same_words_again_are_another_prompt(chat: Chat) -> None:
    agent = Agent(chat)
    first = added(chat, await agent.send(user(FIRST)), FIRST)
    chat.edit()
    sent = await agent.send(user(FIRST), SAID, user(FIRST))
    second = added(chat, sent, FIRST)
    assert ("audit()" in second["text"], "audit()" in first["text"]) == (True, False)
    assert without(chat.last.body, first, second) == chat.raw


async def test_a_session_knows_a_prompt_however_the_rest_is_written(chat: Chat) -> None:
    agent = Agent(chat)
    first = added(chat, await agent.send(OPENING, SYSTEM), FIRST)
    await agent.send(OPENING, *call(1))
    chat.edit()
    chat.clock.now += RETRY_SECONDS + 1
    # Old results of tools are emptied, reminders come and go, a prompt that was interrupted stands beside the next one.
    changed = [call(1)[0], user({"type": "tool_result", "tool_use_id": "t1", "content": "[Old result cleared]"})]
    sent = await agent.send(user(FIRST, text("[Request interrupted by user]"), REMINDER), *changed, SAID, user(SECOND))
    assert added(chat, sent, FIRST) == first
    other = Agent(chat, "two")
    assert added(chat, await other.send(OPENING, SYSTEM), FIRST) != first


async def test_prompts_that_become_one_message_keep_what_they_had(chat: Chat) -> None:
    agent = Agent(chat)
    first = added(chat, await agent.send(user(FIRST)), FIRST)
    sent = await agent.send(user(FIRST, "[Request interrupted by user]", SECOND))
    second = added(chat, sent, SECOND)
    assert sent[0]["content"] == [text(FIRST), first, text("[Request interrupted by user]"), text(SECOND), second]


def test_a_body_in_which_a_field_is_there_twice_is_left_alone() -> None:
    twice = b'{"messages": [], "tools": [{}], "messages": [{"role": "user", "content": "how?"}]}'
    assert conversation_in(PATH, twice) is None
    found = conversation_in(PATH, b'{"tools": [{}], "messages": [{"role": "user", "content": "how?", "content": "why?"}]}')
    assert not isinstance(found, Conversation)
