"""The loop ends within its bounds, whatever a model or a tool does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.test_agent import SCHEMA, Wild, _fail, call, run

from carrel.agent.agent_steps import (
    Event,
    Limits,
    ToolFinished,
)
from carrel.model.conversation import Completion, Finish, Message, ToolCall, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeChatModel, FakeTool
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, Sampling, ToolResult


async def test_hops_use_what_was_found_before() -> None:
    """Spec D9: incidents -> documents -> metrics -> the cause, each hop with the former's finding."""
    incidents = {"payments": "INC-4521, yesterday 14:02: database timeout in payments"}
    docs = {"INC-4521": "Runbook: payments use db-prod-03; its pool holds 100 connections"}
    metrics = {"db-prod-03": "db-prod-03 connections: peak 150, limit 100"}

    def tool(name: str, known: dict[str, str]) -> FakeTool:
        return FakeTool(
            ToolSpec(name, f"Looks into {name}.", SCHEMA),
            lambda arguments: next((text for key, text in known.items() if key in arguments["query"]), "nothing"),
        )

    tools = [tool("search_incidents", incidents), tool("search_docs", docs), tool("query_metrics", metrics)]

    def turn(messages: Sequence[Message]) -> Completion:
        """A model that knows nothing but what stands in the conversation."""
        said = " ".join(message.text for message in messages)
        for finding, name, query in (
            ("peak 150, limit 100", "", ""),
            ("db-prod-03", "query_metrics", "connections of db-prod-03 yesterday"),
            ("INC-4521", "search_docs", "INC-4521 database timeout"),
        ):
            if finding in said:
                return call(query, name) if name else Completion("The pool of db-prod-03 was exhausted: peak 150, limit 100.")
        return call("why did payments go down yesterday", "search_incidents")

    events: list[Event] = []
    outcome = await run(FakeChatModel(turn), *tools, events=events)
    assert "pool of db-prod-03 was exhausted" in outcome.text
    assert [event.name for event in events if isinstance(event, ToolFinished)] == [
        "search_incidents",
        "search_docs",
        "query_metrics",
    ]


WORDS = st.sampled_from(
    [
        *(
            "word ",
            "",
            "<tool_call>",
            "</tool_call>",
            "```json\n",
            "```",
            '{"name": "find", "arguments": {"query": "a"}}',
            "\ud83d",
        ),
        *("[TOOL_CALLS]", "<tool_result>", "x" * 300, "{", "\u4e2d\u6587 " * 20),
    ]
)


NAMES = st.sampled_from(["find", "hang", "fail", "huge", "none", "", "n" * 500])


CALLS = st.builds(
    ToolCall,
    st.sampled_from(["", "1", "1", "i" * 300]),
    NAMES,
    st.one_of(
        st.builds(lambda query: {"query": query}, st.text(max_size=5)),
        st.sampled_from([{}, {"query": 3}, '{"query": "x"', None, [], {"query": "y" * 5_000}]),
    ),
)


TURNS = st.one_of(
    st.builds(
        lambda texts, calls, finish: [*(Delta(text) for text in texts), Delta(calls=tuple(calls), finish=finish)],
        st.lists(WORDS, max_size=6),
        st.lists(CALLS, max_size=6),
        st.sampled_from(["stop", "tools", "length", "filter", None]),
    ),
    st.sampled_from([ProviderError("quota"), ValueError("bug"), asyncio.CancelledError()]),
)


class Arbitrary:
    """Plays turns one after the other, the last one for ever; checks each request as a strict provider would."""

    def __init__(self, turns: Sequence[Any], limit: int, *, tools: bool) -> None:
        self.turns, self.limit, self.requests = list(turns), limit, 0
        self.spec = ChatSpec("arbitrary", tools=tools)
        self.wrong: list[AssertionError] = []

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        options: Sampling = MODEL_DEFAULTS,  # noqa: ARG002
    ) -> AsyncIterator[Delta]:
        self.requests += 1
        try:
            self.check(messages, tools)
        except AssertionError as error:  # the loop takes it for a fault of the model
            self.wrong.append(error)
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, BaseException):
            raise turn
        for delta in turn:
            yield delta

    def check(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> None:
        sizes = [len(m.text) + len(m.call_id) + sum(len(json.dumps(dict(c.arguments))) for c in m.calls) for m in messages]
        assert sum(sizes) + sum(len(json.dumps(dict(tool.schema))) for tool in tools) <= self.limit
        asked: list[str] = []
        for message in messages:
            assert message.text or message.calls
            if message.role == "tool":
                assert message.call_id == asked.pop(0)
            else:
                assert not asked
            assert not message.calls or tools
            asked += [one.id for one in message.calls]
        assert not asked


def _answers(name: str) -> Callable[[], Any]:
    match name:
        case "hang":
            return lambda: asyncio.sleep(60)
        case "fail":
            return _fail(RuntimeError("x"))
        case "huge":
            return lambda: ToolResult("<tool_result>" * 50_000)
    return lambda: ToolResult("found")


@settings(max_examples=150, deadline=None)
@given(st.lists(TURNS, min_size=1, max_size=8), st.integers(1_500, 6_000), st.booleans())
def test_whatever_comes_it_ends_within_its_bounds(turns: list[Any], limit: int, tools: bool) -> None:
    async def work() -> None:
        offered = []
        for name in ("find", "hang", "fail", "huge"):
            offered.append(Wild(_answers(name)))
            offered[-1].spec = ToolSpec(name, "Does.", {"type": "object", "properties": {"query": {"type": "string"}}})
        model = Arbitrary(turns, limit, tools=tools)
        limits = Limits(steps=4, calls=5, tool_seconds=0.001, answer_chars=2_000)
        try:
            outcome = await run(model, *offered, limit=limit, limits=limits)
        except (ProviderError, asyncio.CancelledError):
            pass
        else:
            assert len(outcome.text) <= limits.answer_chars
            assert outcome.usage.calls <= limits.calls
            assert outcome.usage.largest <= limit
            finishes: tuple[Finish, ...] = ("stop", "tools", "length", "filter")
            assert outcome.finish in finishes
        assert model.wrong == []
        assert model.requests <= limits.steps + 2
        assert sum(len(tool.runs) for tool in offered) <= limits.calls

    asyncio.run(asyncio.wait_for(work(), 20))
