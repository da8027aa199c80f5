"""A crowd of callers: who can't have context before the deadline goes on without, and leaves no work behind."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.shop import SHOP, index, write_files

from carrel.frontends.chat_proxy import context_injector
from carrel.frontends.chat_proxy.app import ChatProxy
from carrel.frontends.chat_proxy.context_injector import AT_ONCE, ContextInjector, InjectionOptions, Turns
from carrel.frontends.chat_proxy.http_guard import RateLimit
from carrel.frontends.chat_proxy.upstream import Upstream
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.search import merge
from carrel.search.retriever import find
from carrel.service.context_service import context

CALLERS = 50
THREADS = 4


@pytest.mark.parametrize(("path", "more"), [("/v1/chat/completions", {}), ("/v1/messages", {"tools": [{"name": "Read"}]})])
async def test_all_of_a_crowd_are_answered_while_the_search_hangs(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch, path: str, more: dict[str, Any]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    index(write_files(tmp_path / "shop", SHOP), env)
    released, begun = threading.Event(), list[int]()

    def hangs(*arguments: Any, **more: Any) -> Any:
        begun.append(1)
        released.wait(120)
        return find(*arguments, **more)

    active, most = set[object](), [0]

    async def counted(*arguments: Any) -> Any:
        active.add(this := object())
        most.append(len(active))
        try:
            return await context(*arguments)
        finally:
            active.discard(this)

    options = InjectionOptions((tmp_path / "shop",), deadline_ms=300, limit=RateLimit(0))
    injector = ContextInjector(options, ContextSwitch())
    await injector.warm_up()
    upstream = httpx.MockTransport(lambda request: httpx.Response(200, stream=httpx.ByteStream(request.content)))
    async with httpx.AsyncClient(transport=upstream) as onward:
        app: Any = ChatProxy(Upstream("http://127.0.0.1:9"), injector, onward)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:1") as client:

            async def ask(number: int) -> str:
                asked = [{"role": "user", "content": f"how is the total price of order {number} made?"}]
                answer = await client.post(path, json={"model": "gpt-4o", "messages": asked, **more})
                note = answer.headers["x-carrel-context"]
                assert (json.loads(answer.content)["messages"] == asked) == (note == "late")
                return note

            monkeypatch.setattr(merge, "find", hangs)
            monkeypatch.setattr(context_injector, "context", counted)
            try:
                async with asyncio.timeout(60):
                    notes = Counter(await asyncio.gather(*map(ask, range(CALLERS))))
                assert notes == {"late": CALLERS}
                assert not released.is_set()
                assert 0 < len(begun) <= THREADS
                assert max(most) == AT_ONCE
            finally:
                released.set()
            stuck = len(begun)
            async with asyncio.timeout(60):
                while await ask(CALLERS) == "late":  # noqa: ASYNC110 - the threads get free
                    await asyncio.sleep(0.01)
            assert len(begun) > stuck, "the last question was not searched"
    await injector.close()


async def test_who_cannot_be_done_in_time_does_not_wait() -> None:
    turns, clock = Turns(most=1), asyncio.get_running_loop().time
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with turns.turn(clock() + 60):
            entered.set()
            await leave.wait()

    async def pass_by(seconds: float) -> None:
        async with turns.turn(clock() + seconds):
            pass

    holding = asyncio.create_task(hold())
    await entered.wait()
    with pytest.raises(TimeoutError):
        await pass_by(0)  # at once: nothing bounds the wait here
    waiting = [asyncio.create_task(pass_by(60)) for _ in range(5)]
    while turns._waiting < 5:  # noqa: ASYNC110 - the tasks go on meanwhile
        await asyncio.sleep(0)
    for task in waiting[:3]:
        task.cancel()
    await asyncio.wait(waiting[:3])
    assert turns._waiting == 2  # who has left waits for nothing
    leave.set()
    await asyncio.gather(holding, *waiting[3:])
    await pass_by(0)  # there is a turn: who comes first may always try
