"""Requests of one conversation that pass each other: none sends what another one may not, or did not, send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.frontends.chat_proxy.test_memory import ANSWER, FIRST, SECOND, Chat, chat, exclude, ignore, off, step, user

from carrel.frontends.chat_proxy import context_injector
from carrel.model.errors import CarrelError
from carrel.service.context_request import ContextAnswer
from carrel.service.context_service import context

__all__ = ["chat"]


class Held:
    """A search whose first answer, that is there already, waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self._go = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(context_injector, "context", self)

    async def __call__(self, *arguments: Any) -> ContextAnswer:
        answer = await context(*arguments)
        if not self.reached.is_set():
            self.reached.set()
            await self._go.wait()
        return answer

    def let_go(self) -> None:
        self._go.set()


@pytest.mark.parametrize("forbid", [ignore, exclude, off])
@pytest.mark.parametrize("between", [[], [user("where is the price of an order?")]])
async def test_what_was_found_before_a_rule_changed_is_neither_sent_nor_kept(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, forbid: Callable[[Chat], Callable[[], None]], between: list[dict[str, Any]]
) -> None:
    search = Held(monkeypatch)
    first = asyncio.create_task(chat.send(user(FIRST)))
    await asyncio.wait_for(search.reached.wait(), 60)
    forbid(chat)
    if between:
        await chat.send(*between)
    search.let_go()
    assert "verify(password)" not in json.dumps(await first)
    assert "verify(password)" not in json.dumps(await chat.send(user(FIRST), *step(1)))
    assert "verify(password)" not in json.dumps(await chat.send(user(FIRST), ANSWER, user(SECOND)))


async def test_a_new_context_that_cannot_be_checked_is_not_sent_later_either(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> Any:
        raise CarrelError("The index can't be read")

    monkeypatch.setattr(context_injector, "refused_paths", broken)
    assert await chat.send(user(FIRST)) == [user(FIRST)]
    monkeypatch.undo()
    assert (await chat.send(user(FIRST), *step(1)))[0] == user(FIRST)


async def test_a_message_stays_bare_though_another_conversation_put_something_before_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    async def late_first(*arguments: Any) -> ContextAnswer:
        answer = await context(*arguments)
        if reached.is_set():
            return answer
        reached.set()
        await go.wait()
        return replace(answer, pack=replace(answer.pack, text="", items=()), late=True)

    monkeypatch.setattr(context_injector, "context", late_first)
    late = asyncio.create_task(chat.send(user(FIRST)))
    await asyncio.wait_for(reached.wait(), 60)
    assert "verify(password)" in json.dumps(await chat.send(user(FIRST)))
    go.set()
    assert await late == [user(FIRST)]
    assert (await chat.send(user(FIRST), ANSWER, user(SECOND)))[0] == user(FIRST)
