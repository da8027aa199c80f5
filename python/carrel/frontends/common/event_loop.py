"""`asyncio.run` for Carrel's programs: Ctrl-C cancels what runs, as asyncio's does, but a second one raises nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from carrel.core.errors import Cancelled
from carrel.frontends.common.interrupts import told_of_interrupts

T = TypeVar("T")


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on an event loop of its own; Ctrl-C cancels it, and then `Cancelled` is raised."""

    async def told() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with told_of_interrupts(lambda: loop.call_soon_threadsafe(task.cancel) if task else None):
            return await work

    try:
        return asyncio.run(told())
    except asyncio.CancelledError:
        raise Cancelled from None
