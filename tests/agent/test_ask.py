"""Answers to questions: the conversation that the model gets, and what becomes of its citations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hits import hit

from carrel.agent import ask
from carrel.agent.agent_steps import AskedAgain, Event
from carrel.model.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeChatModel, FakeTokenizer, FakeTool, faulty
from carrel.model.ports import ChatModel, ChatSpec, Tool
from carrel.model.types import ContextItem
from carrel.providers.tokenizers import ExactTokenizer

TOKENS = ExactTokenizer()
TEXT = "def login(user):\n    return user\n"
GIVEN = [ContextItem(hit("src/auth.py", 3, TEXT, symbol="login"), TEXT)]
CONTEXT = '<rag_context>\n<code_context file="src/auth.py" lines="3-4">\n' + TEXT + "</code_context>\n</rag_context>"
GOOD, BAD = "It is src/auth.py:3-4.", "It is src/gone.py:1 and src/auth.py:3-4."


async def answer(model: ChatModel, *tools: Tool, events: list[Event] | None = None) -> ask.Answered:
    window = ask.opened([Message("user", "Where is the login?")], CONTEXT, tools, TOKENS, ask.room(16_000))
    return await ask.ask(window, model, tools, GIVEN, CONTEXT, ([] if events is None else events).append)


async def test_the_context_stands_before_the_question() -> None:
    model = FakeChatModel(Completion(GOOD))
    answered = await answer(model)
    assert (answered.text, answered.problem) == (GOOD, "")
    assert [(c.path, c.start_line, c.end_line, c.ok) for c in answered.checked.citations] == [("src/auth.py", 3, 4, True)]
    system, question = model.requests[0][0]
    assert (system.role, question.text) == ("system", f"{CONTEXT}\n\nWhere is the login?")


async def test_an_answer_with_a_citation_that_does_not_hold_is_asked_for_once_more() -> None:
    events: list[Event] = []
    model = FakeChatModel(Completion(BAD), Completion(GOOD))
    assert (await answer(model, events=events)).text == GOOD
    assert [event.problem for event in events if isinstance(event, AskedAgain)] == [
        "The answer cites what it can't rely on: src/gone.py:1-1 (the file was not given)"
    ]
    assert "src/gone.py:1-1" in model.requests[1][0][-1].text


@pytest.mark.parametrize(
    "second", [Completion(BAD + " And src/other.py:2."), Completion(""), Completion("", (ToolCall("1", "find", {}),))]
)
async def test_the_better_answer_is_given_with_its_mark(second: Completion) -> None:
    model = FakeChatModel(Completion(BAD), second)
    answered = await answer(model)
    assert answered.text == "It is src/gone.py:1 [unverified] and src/auth.py:3-4."
    assert len(model.requests) == 2


async def test_a_model_that_fails_when_it_is_asked_again_leaves_its_first_answer() -> None:
    answered = await answer(faulty(FakeChatModel(Completion(BAD)), fail=ProviderError("quota"), after=1))
    assert "[unverified]" in answered.text
    assert answered.problem.endswith("and when it was asked again: quota")


async def test_a_long_answer_without_any_citation_is_asked_for_once_more() -> None:
    model = FakeChatModel(Completion("I think that " * 30), Completion(GOOD))
    assert (await answer(model)).text == GOOD
    assert (await answer(FakeChatModel(Completion("Hello.")))).text == "Hello."


async def test_what_a_tool_gave_may_be_cited() -> None:
    class Reading(FakeTool):
        async def run(self, arguments):  # type: ignore[no-untyped-def]
            result = await super().run(arguments)
            return type(result)(result.text, items=(ContextItem(hit("src/pool.py", 7, "POOL = 3\n"), "POOL = 3\n"),))

    tool = Reading(ToolSpec("read", "Reads.", {"type": "object"}), lambda _: "7: POOL = 3")
    model = FakeChatModel(Completion("", (ToolCall("1", "read", {}),)), Completion("`POOL` is in src/pool.py:7."))
    answered = await answer(model, tool)
    assert (answered.text, answered.usage.calls) == ("`POOL` is in src/pool.py:7.", 1)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [Message("assistant", "Hello.")],
        [Message("user", " ")],
        [Message("user", "why? " * 10_000)],
        [Message("user", "x"), Message("assistant", "y")],
    ],
)
def test_what_is_no_question_is_refused(messages: list[Message]) -> None:
    with pytest.raises(InvalidInput) as caught:
        ask.opened(messages, "", [], TOKENS, ask.room(8_000))
    assert caught.value.field == "messages"


def test_a_small_window_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"at least 4,000"):
        ask.room(3_999)


TURN = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(["hello ", "x" * 40, "why\n"]).flatmap(lambda piece: st.integers(1, 80).map(lambda times: piece * times)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(TURN, max_size=12), st.integers(4_000, 8_000))
def test_the_history_gives_way_from_its_oldest_turn(history: list[Message], window: int) -> None:
    tokens = FakeTokenizer()
    limit = ask.room(window)
    sent = ask.opened([*history, Message("user", "And now?")], "context", [], tokens, limit).messages()
    assert sum(len(message.text) for message in sent) <= limit
    assert (sent[0].role, sent[-1].text) == ("system", "context\n\nAnd now?")
    kept = sent[1:-1]
    assert kept == history[len(history) - len(kept) :]
    assert not kept or kept[0].role == "user"
    first = next((n for n, message in enumerate(history) if message.role == "user"), len(history))
    if sum(len(m.text) + 8 for m in (*history, *sent[:1], *sent[-1:])) <= limit:
        assert kept == history[first:]


async def test_a_model_on_this_machine_has_a_time_of_its_own_to_read_its_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "_LOCAL_ANSWER_SECONDS", 0.05)
    local = FakeChatModel(Completion(GOOD), spec=ChatSpec("local", price=0.0, output_price=0.0))
    with pytest.raises(ProviderError, match=r"within 0\.05 s"):
        await answer(faulty(local, hang=True))
