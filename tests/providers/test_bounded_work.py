"""What a hostile service sends is read in linear work: counted, not timed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from carrel.model.errors import ProviderError
from carrel.model.fakes import fake_outbound
from carrel.model.plain_data import read_json
from carrel.providers import event_stream, ollama
from carrel.providers.chat import MOST_CALLS
from carrel.providers.event_stream import events
from carrel.providers.http import LINES_A_TURN, KeyAuth, ServiceClient
from carrel.providers.service import Service

LOCAL = Service("openai", "OpenAI", "http://127.0.0.1:9/v1", "chat")


async def given(*lines: str, then: Callable[[], str] | None = None) -> AsyncIterator[str]:
    for line in lines:
        yield line
    while then is not None:
        yield then()


async def test_parts_of_an_event_are_parsed_when_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    read = read_json

    def counted(text: str) -> object:
        parsed.append(len(text))
        return read(text)

    monkeypatch.setattr(event_stream, "read_json", counted)
    value = {"text": ["x" * 1_000] * 90}
    parts = [f"data: {part}" for part in json.dumps(value, indent=0).splitlines()]
    assert [piece async for piece in events(given(*parts, ""), LOCAL)] == [value]
    assert len(parsed) == 2
    assert sum(parsed) < 2 * sum(map(len, parts))


async def test_empty_lines_count_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MOST_BYTES", 1_000)
    with pytest.raises(ProviderError, match="in one answer"):
        async for _ in events(given(then=str), LOCAL):
            pass


async def test_others_have_their_turn_between_many_lines() -> None:
    lines, turns, done = 20 * LINES_A_TURN, 0, False

    async def others() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await asyncio.sleep(0)

    outbound = fake_outbound()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b"\n" * lines))
    asked = ServiceClient(LOCAL, outbound, KeyAuth(outbound, "openai", "none"), transport=transport)
    async with asked.lines("/chat", {}) as read:
        waiting = asyncio.create_task(others())
        count = 0
        async for _ in read:
            count += 1
        done = True
    await waiting
    assert count == lines
    assert turns >= 20


def test_calls_of_one_line_are_taken_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(others: object) -> str:
        made.append(others)
        return f"id{len(made)}"

    monkeypatch.setattr("carrel.providers.chat.made_up_id", counted)
    calls: dict[str, object] = {}
    ollama._add([{"function": {"name": "x"}}] * 50_000, calls)  # type: ignore[arg-type]
    assert len(calls) == len(made) == MOST_CALLS + 1
    assert all(others is calls for others in made), "no id is compared with a list that is made anew"
