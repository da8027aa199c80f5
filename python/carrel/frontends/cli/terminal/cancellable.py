"""Ctrl-C for work that is mostly inside the native core.

Python runs signal handlers between its own instructions only, so a native call in the main thread would delay Ctrl-C until it
returns. The work therefore runs in a second thread; the main one waits and hands the first Ctrl-C (or a polite kill) to the
work's token. A second one ends the process at once, which the index survives: every commit is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TypeVar

from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.model.native import CancelToken

T = TypeVar("T")
_WAIT_S = 0.1  # Windows delivers Ctrl-C only to a thread that wakes up


def cancellable(work: Callable[[CancelToken], T]) -> T:
    """Run `work` with a token that Ctrl-C cancels; it then raises `Cancelled`, having kept what was finished."""
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
