"""Wait for what another thread, task or process does: ask again until the answer is something, or fail at a deadline."""

from __future__ import annotations

import asyncio
import inspect
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

DEADLINE_SECONDS = 60.0
_PAUSE_SECONDS = 0.01


@overload
async def until(ask: Callable[[], Awaitable[T]], seconds: float = DEADLINE_SECONDS) -> T: ...


@overload
async def until(ask: Callable[[], T], seconds: float = DEADLINE_SECONDS) -> T: ...


async def until(ask: Callable[[], Any], seconds: float = DEADLINE_SECONDS) -> Any:
    """Return the first answer that is something, and let other tasks go on meanwhile."""
    async with asyncio.timeout(seconds):
        while True:
            answer = ask()
            if found := await answer if inspect.isawaitable(answer) else answer:
                return found
            await asyncio.sleep(_PAUSE_SECONDS)


def wait_until(ask: Callable[[], T], seconds: float = DEADLINE_SECONDS) -> T:
    """Return the first answer that is something."""
    end = time.monotonic() + seconds
    while not (found := ask()):
        if time.monotonic() > end:
            raise TimeoutError(f"it didn't happen within {seconds} s")
        time.sleep(_PAUSE_SECONDS)
    return found


def listens(port: int) -> bool:
    """Tell whether a program on this machine accepts connections at the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
