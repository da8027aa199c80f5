"""Run work that Ctrl-C cancels, on an event loop or inside the native core, where a second Ctrl-C raises nothing.

So does a signal to end, by which the process ends afterwards: programs that it started are stopped first.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING, Any, TypeVar

from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.model.errors import Cancelled

if TYPE_CHECKING:
    from carrel.model.native import CancelToken

T = TypeVar("T")
_WAIT_S = 0.1  # Windows delivers Ctrl-C only to a thread that wakes up


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


def cancellable(work: Callable[[CancelToken], T]) -> T:
    """Run `work` with a token that Ctrl-C cancels; it then raises `Cancelled`, having kept what was finished.

    Python runs signal handlers between its own instructions only, so a native call in the main thread would delay Ctrl-C until it
    returns. The work therefore runs in a second thread, and the main one waits. A second Ctrl-C ends the process at once, which
    the index survives: every commit is one transaction.
    """
    from carrel.model.native import CancelToken  # noqa: PLC0415 - servers start without the core

    token = CancelToken()
    with (
        told_of_interrupts(token.cancel, "SIGTERM", "SIGHUP"),
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="carrel-cli") as pool,
    ):
        future = pool.submit(work, token)
        while True:
            try:
                return future.result(timeout=_WAIT_S)
            except NotYet:
                if future.done():  # the work itself raised a TimeoutError
                    raise
