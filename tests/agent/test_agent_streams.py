"""Answers that are streamed, cut, fail or are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from tests.agent.test_agent import Wild, _fail, call, run

from carrel.agent.agent_steps import (
    Event,
    LimitReached,
    Limits,
)
from carrel.agent.tool_calls import ShownText
from carrel.model.conversation import Completion, Message, ToolSpec
from carrel.model.errors import Cancelled, ProviderError
from carrel.model.fakes import FakeChatModel
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, Sampling


class Streaming:
    """Streams what it is told, then waits for ever if `hang`."""

    spec = ChatSpec("streaming")

    def __init__(self, deltas: Callable[[], Any], *, hang: bool = False) -> None:
        self.deltas, self.hang, self.closed = deltas, hang, False

    async def stream(
        self,
        messages: Sequence[Message],  # noqa: ARG002
        tools: Sequence[ToolSpec] = (),  # noqa: ARG002
        options: Sampling = MODEL_DEFAULTS,  # noqa: ARG002
    ) -> AsyncIterator[Delta]:
        try:
            for delta in self.deltas():
                yield delta
            if self.hang:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def _endless(delta: Delta) -> Callable[[], Any]:
    def deltas() -> Any:
        while True:
            yield delta

    return deltas


@pytest.mark.parametrize(("delta", "text"), [(Delta("word "), "word word "), (Delta(""), "")])
async def test_an_answer_that_never_ends_is_cut_and_said(delta: Delta, text: str) -> None:
    events: list[Event] = []
    model = Streaming(_endless(delta))
    outcome = await run(model, events=events, limits=Limits(answer_chars=10))
    assert (outcome.text, outcome.finish, model.closed) == (text, "length", True)
    assert LimitReached("answer") in events


async def test_a_finish_of_length_is_said() -> None:
    events: list[Event] = []
    assert (await run(FakeChatModel(Completion("It is", finish="length")), events=events)).finish == "length"
    assert LimitReached("answer") in events


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Streaming(lambda: [Delta("a")], hang=True), "didn't end its answer within 0.05 s"),
        (Streaming(lambda: [Delta("a")]), "broke off in the middle"),
        (Streaming(lambda: ["text"]), r"failed \(TypeError\)"),
        (Streaming(lambda: [Delta(7)]), r"failed \(TypeError\)"),  # type: ignore[arg-type]
        (Streaming(lambda: [Delta("a", None)]), r"failed \(TypeError\)"),  # type: ignore[arg-type]
        (Streaming(lambda: 1 / 0), r"failed \(ZeroDivisionError\)"),
    ],
)
async def test_a_model_that_fails_ends_the_run_with_its_reason(model: Streaming, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        await run(model, limits=Limits(answer_seconds=0.05))


async def test_a_model_that_fails_before_it_streams_is_a_fault_of_the_model() -> None:
    class Broken:
        spec = ChatSpec("broken")

        def stream(self, *_: Any) -> Any:
            raise KeyError("x")

    with pytest.raises(ProviderError, match=r"failed \(KeyError\)"):
        await run(Broken())


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["[the ", "file](a.py)", " says"], ["[the ", "file](a.py)", " says"]),
        (["It is <", "b>bold</b>."], ["It is ", "<b>bold</b>."]),
        (["Look. <tool", '_call>{"name": "x"}', " more"], ["Look. "]),
        (['{"a"', ": 1}"], []),
    ],
)
def test_a_text_is_shown_as_soon_as_it_can_be_no_call(pieces: list[str], shown: list[str]) -> None:
    shown_text = ShownText()
    assert [piece for piece in map(shown_text.add, pieces) if piece] == shown
    assert "".join(shown) + shown_text.rest() == "".join(pieces)


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_cancel_ends_it_at_once(where: str) -> None:
    waiting = asyncio.Event()

    async def hang() -> None:
        waiting.set()
        await asyncio.Event().wait()

    class Hanging(Streaming):
        async def stream(self, *_: Any) -> AsyncIterator[Delta]:
            await hang()
            yield Delta()

    model = Hanging(list) if where == "model" else FakeChatModel(call())
    task = asyncio.ensure_future(run(model, Wild(hang)))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


async def test_a_cancelled_token_ends_the_run() -> None:
    with pytest.raises(Cancelled):
        await run(FakeChatModel(call()), Wild(_fail(Cancelled("closed"))))
