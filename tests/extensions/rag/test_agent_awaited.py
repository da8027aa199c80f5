# ruff: noqa: ARG002 - stand-ins take what they are given
"""Parts of an agent may be coroutines, whatever loop runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support.plain_parts import (
    agent,
    document,
)

from carrel.model.errors import CarrelError, ProviderError, StoreError
from carrel.rag import RAGAgent


class AwaitedParts:
    """Model, store and embedder in one, each a coroutine function."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def embed(self, texts: Any, normalize_embeddings: bool) -> Any:
        await asyncio.sleep(0)
        return [[1.0] for _ in texts]

    async def similarity_search(self, **asked: Any) -> Any:
        await asyncio.sleep(0)
        return [document("found", source="s")]

    async def ask(self, *, user_prompt: str, **rest: Any) -> str:
        await asyncio.sleep(0)
        return user_prompt


class AwaitedStream(AwaitedParts):
    def ask(self, *, user_prompt: str, **rest: Any) -> AsyncIterator[str]:  # type: ignore[override]
        async def answer() -> AsyncIterator[str]:
            task = asyncio.current_task()
            for word in user_prompt.split():
                await asyncio.sleep(0)
                assert asyncio.current_task() is task, "one task runs it from end to end"
                yield word
            if "fail" in user_prompt:
                raise TimeoutError("too slow")

        return answer()


def test_parts_may_be_coroutines() -> None:
    parts = AwaitedParts()
    assert RAGAgent(parts, parts, parts).run("q", "", "{context}") == "Source: s\nfound"  # type: ignore[arg-type]
    stream = AwaitedStream()
    one = RAGAgent(stream, stream, stream)  # type: ignore[arg-type]
    assert list(one.run("q", "", "{context} {query}", stream=True)) == ["Source:", "s", "found", "q"]
    assert one.run("q", "", "{context}") == "Source:sfound"
    with pytest.raises(ProviderError, match=r"The model failed: TimeoutError: too slow"):
        list(one.run("fail", "", "{query}", stream=True))


async def test_a_running_event_loop_is_no_hindrance() -> None:
    parts = AwaitedStream()
    one = RAGAgent(parts, parts, parts)  # type: ignore[arg-type]
    assert "".join(one.run("q", "", "{context}", stream=True)) == "Source:sfound"
    assert await asyncio.to_thread(one.run, "q", "", "{query}") == "Source:sfoundq"


def test_a_stream_that_is_left_ends_its_coroutine() -> None:
    ended: list[str] = []
    loops: list[Any] = []

    class Endless(AwaitedParts):
        def ask(self, **rest: Any) -> AsyncIterator[str]:  # type: ignore[override]
            async def answer() -> AsyncIterator[str]:
                loops.append(asyncio.get_running_loop())
                try:
                    while True:
                        yield "more"
                        await asyncio.sleep(0)
                finally:
                    ended.append("ended")

            return answer()

    parts = Endless()
    pieces = RAGAgent(parts, parts, parts).run("q", stream=True)  # type: ignore[arg-type]
    assert next(pieces) == "more"
    pieces.close()  # type: ignore[attr-defined]
    for _ in range(3):  # the cancel, its arrival, what it ends
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loops[0]).result(10)
    assert ended == ["ended"]


def test_an_awaited_part_that_exits_is_an_error() -> None:
    class Exits(AwaitedParts):
        async def similarity_search(self, **asked: Any) -> Any:
            raise SystemExit(3)

        def ask(self, **rest: Any) -> AsyncIterator[str]:  # type: ignore[override]
            async def answer() -> AsyncIterator[str]:
                yield "a"
                raise SystemExit(3)

            return answer()

    parts = Exits()
    with pytest.raises(StoreError, match="SystemExit"):
        RAGAgent(parts, parts, parts).retrieve("q")  # type: ignore[arg-type]
    with pytest.raises(CarrelError, match="SystemExit"):
        agent(model=parts).run("q")
