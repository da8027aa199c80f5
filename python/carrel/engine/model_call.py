"""Await what a model was asked for: a fault of any kind is a `ProviderError`, and nobody waits for a model that is late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from carrel.core.errors import CarrelError, ProviderError

T = TypeVar("T")


async def within(work: Awaitable[T], seconds: float | None, model: str) -> T:
    """Await work for so long; raises `ProviderError` that names the model where it is late or gave its work up.

    Work that doesn't heed its cancel is left behind.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise ProviderError(f"{model} didn't answer within {seconds:.3g} s.", retryable=True)
        if task.cancelled():
            raise ProviderError(f"{model} gave its request up.", retryable=True)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def guarded(work: Awaitable[T], model: str) -> T:
    """Await work; raises `ProviderError` for whatever its model raises that isn't in the error tree."""
    try:
        return await work
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:  # the last would end the loop that others share
        raise ProviderError(f"{model} failed: {type(error).__name__}.") from error
