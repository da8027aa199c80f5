"""Run work on threads: one pool for questions, another for indexing, so that neither waits for the other.

Everything here runs on the event loop but the functions given to `Jobs`. A token goes down every call. A cancelled question
cancels its token and leaves at once, its thread follows within milliseconds; a cancelled index job ends when its thread has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from carrel.model.errors import Cancelled
from carrel.system.background import Stoppable, is_being_cancelled, run_to_end

log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
TokenT = TypeVar("TokenT", bound=Stoppable)

_CLOSED = "Carrel is closing"


class Jobs:
    """The process's threads."""

    def __init__(self) -> None:
        self._interactive = ThreadPoolExecutor(4, "carrel-ask")
        self._indexing = ThreadPoolExecutor(2, "carrel-index")
        self._live: set[Stoppable] = set()
        self._closed = False

    async def run_interactive(self, work: Callable[[TokenT], T], token: TokenT) -> T:
        """Run a question's native work. Raises `Cancelled` where the threads are being closed."""
        if self._closed:
            raise Cancelled(_CLOSED)
        self._live.add(token)
        future = asyncio.get_running_loop().run_in_executor(self._interactive, work, token)
        future.add_done_callback(lambda _: self._live.discard(token))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.cancelled() and not is_being_cancelled():
                raise Cancelled(_CLOSED) from None
            token.cancel()
            future.cancel()  # work that hasn't begun leaves the queue; what a thread still raises has nobody to go to
            raise

    async def run_indexing(self, work: Callable[[], T], token: Stoppable) -> T:
        """Run a native step of an index job; at most two at a time in all workspaces."""
        if self._closed:
            raise Cancelled(_CLOSED)
        self._live.add(token)
        try:
            return await run_to_end(self._indexing, work, token)
        except asyncio.CancelledError:
            if not is_being_cancelled():
                raise Cancelled(_CLOSED) from None
            raise
        finally:
            self._live.discard(token)

    def cancel_all(self) -> None:
        """Cancel the token of everything that runs."""
        for token in tuple(self._live):
            token.cancel()

    def close(self) -> None:
        """Cancel everything and take no more work. Doesn't wait: threads end by their tokens."""
        self._closed = True
        self.cancel_all()
        self._interactive.shutdown(wait=False, cancel_futures=True)
        self._indexing.shutdown(wait=False, cancel_futures=True)


class Work(Struct):
    """What one index job compares with the index: everything, or some paths."""

    full: bool = False
    force: bool = False
    paths: set[str] = field(default_factory=set)

    def merge(self, other: Work) -> None:
        """Add the other's part."""
        self.full |= other.full
        self.force |= other.force
        self.paths |= other.paths

    def __bool__(self) -> bool:
        return self.full or self.force or bool(self.paths)


class Job(Struct, Generic[TokenT, R], eq=False):
    """One run of the queue: its work, its token, and the future of everyone who awaits it."""

    work: Work
    token: TokenT
    done: asyncio.Future[R]
    waiters: int = 0
    task: asyncio.Task[R] | None = None  # while it runs
    indexed: bool = False  # all its work is in the index

    def stop(self) -> None:
        """Have it end: its native work by the token, whatever else it awaits by its task."""
        self.token.cancel()
        if self.task:
            self.task.cancel()


class IndexQueue(Generic[TokenT, R]):
    """At most one running and one pending job of a workspace; requests merge into the pending one."""

    def __init__(
        self,
        new_token: Callable[[], TokenT],
        run: Callable[[Job[TokenT, R]], Coroutine[Any, Any, R]],
        delay: float,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """Take what does a job; requests of `delay` seconds are gathered in one job.

        `dropped` hears of a run over everything that was cancelled before it began: who asked for it may not be who cancelled.
        """
        self._new_token = new_token
        self._run = run
        self._dropped = dropped
        self.delay = delay
        self._pending: Job[TokenT, R] | None = None
        self.running: Job[TokenT, R] | None = None
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def pending_paths(self) -> int:
        """Count the paths that wait or are being worked on."""
        return sum(len(job.work.paths) for job in (self.running, self._pending) if job)

    def concerns(self, path: str) -> bool:
        """Tell whether a job that names `path` waits or hasn't indexed it yet."""
        return any(path in job.work.paths for job in (self.running, self._pending) if job and not job.indexed)

    @property
    def saves(self) -> Job[TokenT, R] | None:
        """Return the job that ends when all saved files are indexed; None without one, and behind a run over everything."""
        jobs = [job for job in (self._pending, self.running) if job]
        return jobs[0] if jobs and all(job.work.paths and not job.work.full for job in jobs) else None

    @property
    def busy(self) -> bool:
        """Tell whether a job runs or waits."""
        return self.running is not None or self._pending is not None

    def request(self, *, paths: Iterable[str] = (), full: bool = False, force: bool = False) -> Job[TokenT, R]:
        """Have something indexed; return the job that will do it. Nobody has to await it."""
        if self._closed:
            raise Cancelled("the workspace was closed")
        work = Work(full, force, set(paths))
        if self._pending:
            self._pending.work.merge(work)
            return self._pending
        self._pending = job = self._new_job(work)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._drain())
        return job

    async def wait(self, job: Job[TokenT, R]) -> R:
        """Await a job's result; when the last one who awaits it is cancelled, so is this job, and no other."""
        job.waiters += 1
        try:
            return await asyncio.shield(job.done)
        except asyncio.CancelledError:
            if job.waiters == 1 and not job.done.done():
                self._stop(job)
            raise
        finally:
            job.waiters -= 1

    def cancel(self, job: Job[TokenT, R]) -> None:
        """Stop a job, and with a run over everything the others that nobody waits for: who cancels it wants none in its place.

        What they finished stays; single paths that were saved meanwhile get a job of their own.
        """
        others = [other for other in (self.running, self._pending) if other and other is not job]
        for stopped in (job, *(other for other in others if job.work.full and other.work.full and not other.waiters)):
            self._stop(stopped)

    def _stop(self, job: Job[TokenT, R]) -> None:
        job.stop()
        if job is self._pending:
            self._pending = None
            self._settle(job, Cancelled("cancelled before it began"))
            if job.work.full:
                self._dropped()
        if job.work.paths and not self._closed:
            self.request(paths=job.work.paths)

    async def drop(self) -> None:
        """Cancel the running and the pending job, single paths included, and wait until the thread has left."""
        pending, self._pending = self._pending, None
        if pending:
            self._settle(pending, Cancelled("dropped before it began"))
        if running := self.running:
            running.stop()
            await asyncio.wait({running.done})

    async def idle(self, seconds: float) -> None:
        """Wait until nothing runs or waits, for so long at most."""
        end = asyncio.get_running_loop().time() + seconds
        while (job := self.running or self._pending) and (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait({job.done}, timeout=left)
            await asyncio.sleep(0)  # the queue goes on to the next one

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Drop everything; what is requested before the end of the block runs after it."""
        await self.drop()
        async with self._turn:
            yield

    async def close(self) -> None:
        """Drop everything and take no more requests."""
        self._closed = True
        await self.drop()

    def _new_job(self, work: Work) -> Job[TokenT, R]:
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # a job may be nobody's
        return Job(work, self._new_token(), future)

    async def _drain(self) -> None:
        while self._pending and not self._closed:
            if not self._pending.work.full and not self._pending.waiters:
                await asyncio.sleep(self.delay)
            job, self._pending = self._pending, None
            if job is None:
                continue
            self.running = job
            try:
                async with self._turn:
                    result = await self._result_of(job)
            except asyncio.CancelledError:
                self._settle(job, Cancelled("cancelled"))
                raise
            except BaseException as error:  # a panic of the core too: who waits for the job must learn of its end
                self._settle(job, error)
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
            else:
                with contextlib.suppress(asyncio.InvalidStateError):
                    job.done.set_result(result)
            finally:
                self.running = None

    async def _result_of(self, job: Job[TokenT, R]) -> R:
        """Do a job in a task of its own, which `Job.stop` may cancel."""
        if job.token.cancelled:
            raise Cancelled("cancelled before it began")
        job.task = asyncio.get_running_loop().create_task(self._run(job))
        await asyncio.wait({job.task})
        if job.task.cancelled():
            raise Cancelled("cancelled")
        return job.task.result()

    @staticmethod
    def _settle(job: Job[TokenT, R], error: BaseException) -> None:
        if not isinstance(error, Cancelled):
            log.error("An index job failed: %s: %s", type(error).__name__, error)
        with contextlib.suppress(asyncio.InvalidStateError):
            job.done.set_exception(error)
