"""Await what a model was asked for: a fault of any kind is a `ProviderError`, and nobody waits for a model that is late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from carrel.model.errors import CarrelError, ProviderError

T = TypeVar("T")


async def settled(work: Awaitable[T], seconds: float | None) -> asyncio.Future[T] | None:
    """Await work for so long and return it done; None where it is late.

    Work that isn't done by then is cancelled and left behind: it may not heed the cancel.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        return task if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def within(work: Awaitable[T], seconds: float | None, model: str) -> T:
    """Await work for so long; raises `ProviderError` that names the model where it is late or gave its work up."""
    done = await settled(work, seconds)
    if done is None:
        raise ProviderError(f"{model} didn't answer within {seconds:.3g} s.", retryable=True)
    if done.cancelled():
        raise ProviderError(f"{model} gave its request up.", retryable=True)
    return done.result()


async def guarded(work: Awaitable[T], model: str) -> T:
    """Await work; raises `ProviderError` for whatever its model raises that isn't in the error tree."""
    try:
        return await work
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:  # the last would end the loop that others share
        raise ProviderError(f"{model} failed: {type(error).__name__}.") from error
