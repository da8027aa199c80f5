"""What the suites share."""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import pytest

from carrel.model.errors import CarrelError
from carrel.model.ports import (
    ChunkId,
)

P = TypeVar("P")
T = TypeVar("T")

PATIENCE_S = 20.0
"""No test waits longer: what takes so long hangs."""
TEXTS = (
    "def verify_password(user, password): return hash(password) == user.digest",
    "Größe, 中文, עברית, 😀 and a null \0 byte",
    "half an emoji \ud83d and another \udc00",
    "\ufeff\u202e\x1b[31m",
    "?!",
    "",
    " \r\n\t",
    "word " * 20_000,
)
"""Short, long, empty, in many scripts, and broken."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine; whatever hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    return asyncio.run(limited())


async def collected(stream: AsyncIterator[T]) -> list[T]:
    """All pieces of a stream."""
    return [piece async for piece in stream]


class Contract(Generic[P]):
    """What the suites share."""

    def make(self) -> P:
        """An instance that works."""
        raise NotImplementedError

    def broken(self) -> P:
        """An instance whose service fails."""
        pytest.skip("asks no service")

    def stuck(self) -> P:
        """An instance whose service never answers."""
        pytest.skip("asks no service")

    def use(self, port: P) -> Awaitable[Any]:
        """One ordinary use."""
        raise NotImplementedError

    def test_a_failure_is_an_error_of_the_tree(self) -> None:
        async def work() -> None:
            with pytest.raises(CarrelError):
                await self.use(self.broken())

        run(work())

    def test_a_cancelled_use_ends_at_once(self) -> None:
        run(self._cancelled(self.stuck()))

    def test_a_cancelled_use_leaves_the_next_one_whole(self) -> None:
        async def work() -> None:
            port = self.make()
            task = asyncio.ensure_future(self.use(port))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await self.use(port)

        run(work())

    async def _cancelled(self, port: P) -> None:
        task = asyncio.ensure_future(self.use(port))
        done, _ = await asyncio.wait([task], timeout=0.05)
        assert not done, "answered although the service doesn't"
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=30)
        assert done, "it goes on although it was cancelled"
        assert task.cancelled()


def chunk_id(number: int) -> ChunkId:
    return ChunkId(f"{number:032x}")


def pack(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def unpack(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def direction(number: int) -> tuple[float, ...]:
    """A thousand directions, each its own."""
    angle = number * math.pi / 1_000
    return (math.cos(angle), math.sin(angle), 0.0, 0.0)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else float(one == other)
