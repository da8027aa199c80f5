"""Bridges between threads and coroutines, for callers that have no event loop and for work that has no `await`.

A caller without an event loop shares one loop on a daemon thread with every other such caller of the process: a client of a
remote model keeps its connections there. The caller may itself stand inside a running loop, as in a notebook.

Do something after a pause, on the event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from carrel.model.errors import Cancelled, CarrelError

T = TypeVar("T")

_POLL_SECONDS = 0.1
"""How often a waiting caller looks at its token. Windows delivers Ctrl-C only to a thread that wakes up."""


class Stoppable(Protocol):
    """What `carrel.model.native.CancelToken` offers."""

    def cancel(self) -> None:
        """Ask the work to stop."""

    @property
    def cancelled(self) -> bool:
        """Tell whether it was asked to."""
        ...


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("a coroutine that was said never to wait waited")


async def directly(work: Callable[[], T]) -> T:
    """Run work here and now, where others have it run on a thread."""
    return work()


def run_blocking(work: Coroutine[Any, Any, T], token: Stoppable | None = None) -> T:
    """Run a coroutine on the process's background loop and wait for it; it is cancelled by `token`, and by a Ctrl-C here.

    Raises `Cancelled` when it was cancelled.
    """
    loop, thread = _BACKGROUND.running()
    if threading.current_thread() is thread:
        work.close()
        raise RuntimeError("a blocking call of Carrel was made from a coroutine on its own loop; await its result instead")
    ended: Future[T] = Future()
    tasks: list[asyncio.Task[T]] = []

    def start() -> None:
        tasks.append(loop.create_task(work))
        tasks[0].add_done_callback(partial(_pass_on, ended))

    def cancel() -> None:
        tasks[0].cancel()  # `start` ran before: both are called in order

    loop.call_soon_threadsafe(start)
    try:
        while True:
            try:
                return ended.result(_POLL_SECONDS)
            except TimeoutError:
                if ended.done():  # its own, or it ended at this moment
                    return ended.result()
                if not thread.is_alive():  # what it ran raised SystemExit or KeyboardInterrupt
                    raise CarrelError("The work ended the thread that it ran on") from None
                if token is not None and token.cancelled:
                    loop.call_soon_threadsafe(cancel)
    except BaseException:
        if not ended.done():  # a Ctrl-C
            loop.call_soon_threadsafe(cancel)
        raise


def iterate_blocking(pieces: AsyncIterable[T]) -> Iterator[T]:
    """Give what an asynchronous iterator gives. It runs as one task on the background loop, which ends when this is closed."""
    running = _Running(pieces)
    try:
        while (piece := run_blocking(running.next())) is not None:
            yield piece[0]
    finally:
        running.stop()


class _Running(Generic[T]):
    """An asynchronous iterator in one task: some can't bear that each step runs in another."""

    def __init__(self, pieces: AsyncIterable[T]) -> None:
        self._pieces = pieces
        self._queue = asyncio.Queue[tuple[T] | Exception | None]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    async def next(self) -> tuple[T] | None:
        """Return the next piece, None after the last one."""
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._run())
        piece = await self._queue.get()
        if isinstance(piece, Exception):
            raise piece
        return piece

    def stop(self) -> None:
        """Cancel what still runs. Doesn't wait, since it may be the garbage collector that closes an iterator."""
        if self._loop is not None and self._task is not None and not self._task.done() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _run(self) -> None:
        try:
            async for piece in self._pieces:
                self._queue.put_nowait((piece,))
        except asyncio.CancelledError:
            self._queue.put_nowait(Cancelled("cancelled"))
        except SystemExit as error:  # would end the loop that others share
            self._queue.put_nowait(CarrelError(f"The work ended by SystemExit({error.code!r})"))
        except Exception as error:
            self._queue.put_nowait(error)
        else:
            self._queue.put_nowait(None)
        finally:
            if isinstance(self._pieces, AsyncGenerator):
                await self._pieces.aclose()


def _pass_on(ended: Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        ended.set_exception(Cancelled("cancelled"))
    elif error := task.exception():
        ended.set_exception(error)
    else:
        ended.set_result(task.result())


async def run_to_end(pool: Executor | None, work: Callable[[], T], token: Stoppable) -> T:
    """Run work on a thread; a cancel stops it by its token and waits until the thread has left."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        token.cancel()
        while not future.done():
            await asyncio.wait({future})
        if not future.cancelled():
            future.exception()  # whatever the thread still raised has nobody to go to
        raise


def is_being_cancelled() -> bool:
    """Tell whether the current task was asked to end, rather than something that it awaited."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no event loop
        return False
    return task is not None and task.cancelling() > 0


class _Background:
    """One event loop on a daemon thread, made when it is first needed, and again in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def running(self) -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
        """Return the loop and its thread."""
        with self._lock:
            alive = self._thread is not None and self._thread.is_alive()
            if self._loop is None or self._thread is None or not alive or self._process != os.getpid():
                if self._loop is not None and self._process == os.getpid():
                    self._loop.close()  # its thread has ended
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=self._loop.run_forever, name="carrel-background", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            return self._loop, self._thread

    def close(self) -> None:
        """Stop the loop and end its thread."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread and self._process == os.getpid():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(1.0)
            if not thread.is_alive():
                loop.close()


_BACKGROUND = _Background()


class Debouncer:
    """Calls `act` once, `seconds` after it was started."""

    def __init__(self, seconds: float, act: Callable[[], None]) -> None:
        self.seconds = seconds
        self._act = act
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait, unless it waits already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.seconds, self._due)

    def restart(self) -> None:
        """Begin to wait anew: what comes in bursts is done when they have ended."""
        self.cancel()
        self.start()

    def cancel(self) -> bool:
        """Stop waiting; return whether it waited."""
        timer, self._timer = self._timer, None
        if timer:
            timer.cancel()
        return timer is not None

    def _due(self) -> None:
        self._timer = None
        self._act()
