"""Coroutines for callers that have no event loop, or stand in one."""

from __future__ import annotations

import asyncio
import threading

import pytest

from carrel.model.errors import Cancelled, CarrelError
from carrel.model.native import CancelToken
from carrel.system.background import run_at_once, run_blocking


async def thread_of() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


async def test_every_caller_shares_one_loop_that_is_not_its_own() -> None:
    there = run_blocking(thread_of())
    assert there != threading.get_ident()
    assert await asyncio.to_thread(run_blocking, thread_of()) == there


def test_errors_come_through_and_a_timeout_of_the_work_is_one() -> None:
    async def late() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        run_blocking(late())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_ends_the_thread_is_an_error_and_the_next_caller_gets_another() -> None:
    async def leaves() -> None:
        raise KeyboardInterrupt

    with pytest.raises(CarrelError, match="ended the thread"):
        run_blocking(leaves())
    assert run_blocking(thread_of()) != threading.get_ident()


def test_a_token_ends_it_and_it_has_ended_then() -> None:
    token, ended = CancelToken(), threading.Event()

    async def waits() -> None:
        token.cancel()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    with pytest.raises(Cancelled):
        run_blocking(waits(), token)
    assert ended.is_set()


def test_a_call_from_the_loop_itself_is_refused_instead_of_hanging() -> None:
    async def calls() -> int:
        return run_blocking(thread_of())

    with pytest.raises(RuntimeError, match="await its result"):
        run_blocking(calls())


def test_what_is_run_at_once_may_not_wait() -> None:
    with pytest.raises(AssertionError, match="waited"):
        run_at_once(thread_of())
