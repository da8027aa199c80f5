"""`asyncio.run` for Carrel's programs: Ctrl-C cancels what runs, as asyncio's does, but a second one raises nothing.

So does a signal to end, by which the process ends afterwards: programs that it started are stopped first.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.model.errors import Cancelled

T = TypeVar("T")


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on an event loop of its own; Ctrl-C or a signal to end cancels it, and then `Cancelled` is raised."""
    came: list[int] = []

    async def run() -> T:
        nonlocal came
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with told_of_interrupts(lambda: loop.call_soon_threadsafe(task.cancel) if task else None, "SIGTERM", "SIGHUP") as came:
            return await work

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise Cancelled from None
    finally:
        for number in came:
            if number != signal.SIGINT:
                signal.raise_signal(number)
