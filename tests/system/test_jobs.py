"""The queue of index jobs: merging, cancelling, and who awaits what."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from tests.waiting import until

from carrel.model.errors import Cancelled, StoreError
from carrel.system.jobs import IndexQueue, Job, Jobs


class Token:
    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    def wait(self) -> bool:
        return self._event.wait(10)

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()


class Runner:
    """Records the work of each job; a job ends when `gate` is set or its token is cancelled."""

    def __init__(self, *, open_gate: bool = False) -> None:
        self.ran: list[tuple[bool, bool, set[str]]] = []
        self.gate = asyncio.Event()
        if open_gate:
            self.gate.set()

    async def __call__(self, job: Job[Token, int]) -> int:
        self.ran.append((job.work.full, job.work.force, set(job.work.paths)))
        while not self.gate.is_set():
            if job.token.cancelled:
                raise Cancelled("stopped")
            await asyncio.sleep(0.001)
        return len(self.ran)


def queue(runner: Runner) -> IndexQueue[Token, int]:
    return IndexQueue(Token, runner, 0.01)


async def test_a_burst_of_saves_is_one_job() -> None:
    runner = Runner(open_gate=True)
    q = queue(runner)
    jobs = [q.request(paths=[f"{i}.py"]) for i in range(50)]
    assert await q.wait(jobs[0]) == 1
    assert runner.ran == [(False, False, {f"{i}.py" for i in range(50)})]


async def test_requests_during_a_run_merge_into_the_next() -> None:
    runner = Runner()
    q = queue(runner)
    first = q.request(full=True)
    await until(lambda: len(runner.ran) == 1)
    second, third = q.request(paths=["a"]), q.request(force=True)
    assert second is third
    assert q.concerns("a")
    runner.gate.set()
    assert (await q.wait(first), await q.wait(third)) == (1, 2)
    assert runner.ran[1] == (False, True, {"a"})


async def test_saves_are_told_from_runs_over_everything() -> None:
    runner = Runner()
    q = queue(runner)
    assert q.saves is None
    saved = q.request(paths=["a"])
    assert q.saves is saved
    await until(lambda: q.running is saved)
    assert q.saves is saved
    later = q.request(paths=["b"])
    assert q.saves is later
    q.request(full=True)
    assert q.saves is None
    runner.gate.set()
    await q.wait(later)
    assert q.saves is None


async def test_cancelling_the_only_waiter_stops_the_job() -> None:
    runner = Runner()
    q = queue(runner)
    job = q.request(full=True)
    waiter = asyncio.create_task(q.wait(job))
    await until(lambda: len(runner.ran) == job.waiters == 1)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert job.token.cancelled
    with pytest.raises(Cancelled):
        await job.done


async def test_another_waiter_keeps_the_job_alive() -> None:
    runner = Runner()
    q = queue(runner)
    job = q.request(full=True)
    gone, stays = asyncio.create_task(q.wait(job)), asyncio.create_task(q.wait(job))
    await until(lambda: job.waiters == 2)
    gone.cancel()
    await asyncio.wait({gone})
    assert not job.token.cancelled
    runner.gate.set()
    assert await stays == 1


@pytest.mark.parametrize("others", [0, 1])
async def test_cancelling_a_run_over_everything_stops_the_one_before_it_that_nobody_waits_for(others: int) -> None:
    runner = Runner()
    q = queue(runner)
    by_itself = q.request(full=True)
    waiters = [asyncio.create_task(q.wait(by_itself)) for _ in range(others)]
    await until(lambda: len(runner.ran) == 1 and by_itself.waiters == others)
    q.cancel(q.request(full=True))
    assert by_itself.token.cancelled == (not others)
    runner.gate.set()
    await until(lambda: not q.busy)
    assert len(runner.ran) == 1
    await asyncio.gather(*waiters)


async def test_who_leaves_a_waiting_run_stops_no_other() -> None:
    runner = Runner()
    q = queue(runner)
    by_itself = q.request(full=True)
    await until(lambda: len(runner.ran) == 1)
    waiter = asyncio.create_task(q.wait(pending := q.request(full=True)))
    await until(lambda: pending.waiters == 1)
    waiter.cancel()
    await asyncio.wait({waiter})
    assert isinstance(pending.done.exception(), Cancelled)
    assert not by_itself.token.cancelled
    runner.gate.set()
    assert await q.wait(by_itself) == 1


async def test_saved_files_survive_the_cancel_of_the_run_they_joined() -> None:
    runner = Runner()
    q = queue(runner)
    q.request(full=True)
    await until(lambda: len(runner.ran) == 1)
    pending = q.request(paths=["saved.py"])
    q.request(full=True)
    q.cancel(pending)
    runner.gate.set()
    await until(lambda: not q.busy)
    assert runner.ran[1:] == [(False, False, {"saved.py"})]


async def test_dropped_paths_are_not_taken_up_again() -> None:
    runner = Runner()
    q = queue(runner)
    running = q.request(paths=["a"])
    await until(lambda: len(runner.ran) == 1)
    pending = q.request(paths=["b"])
    await q.drop()
    assert [isinstance(job.done.exception(), Cancelled) for job in (running, pending)] == [True, True]
    runner.gate.set()
    await q.wait(q.request(full=True))
    await until(lambda: not q.busy)
    assert runner.ran[1:] == [(True, False, set())]


async def test_what_is_requested_while_one_is_alone_runs_afterwards() -> None:
    runner = Runner(open_gate=True)
    q = queue(runner)
    async with q.alone():
        job = q.request(full=True)
        await until(lambda: q.running is job)
        assert runner.ran == []
    assert await q.wait(job) == 1


async def test_a_failing_job_reaches_its_waiter_and_the_queue_goes_on() -> None:
    failures = [StoreError("disk full")]

    async def run(_: Job[Token, int]) -> int:
        if failures:
            raise failures.pop()
        return 7

    q: IndexQueue[Token, int] = IndexQueue(Token, run, 0)
    with pytest.raises(StoreError, match="disk full"):
        await q.wait(q.request(full=True))
    assert await q.wait(q.request(full=True)) == 7


async def test_close_stops_the_running_job_and_takes_no_more() -> None:
    runner = Runner()
    q = queue(runner)
    job = q.request(full=True)
    await until(lambda: len(runner.ran) == 1)
    await q.close()
    assert isinstance(job.done.exception(), Cancelled)
    with pytest.raises(Cancelled):
        q.request(full=True)


async def test_a_cancelled_question_leaves_at_once_and_its_thread_follows() -> None:
    jobs = Jobs()
    begun, told, left, gate = (threading.Event() for _ in range(4))

    def work(token: Token) -> None:
        begun.set()
        if token.wait():
            told.set()
        gate.wait(10)
        left.set()

    question = asyncio.create_task(jobs.run_interactive(work, Token()))
    assert await asyncio.to_thread(begun.wait, 10)
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert not left.is_set(), "it waited for its thread"
    assert await asyncio.to_thread(told.wait, 5)
    gate.set()
    assert await asyncio.to_thread(left.wait, 5)
    jobs.close()


async def test_work_whose_caller_has_left_is_never_begun() -> None:
    jobs, gate = Jobs(), threading.Event()
    begun: list[str] = []

    def work(name: str) -> Callable[[Token], None]:
        def run(_: Token) -> None:
            begun.append(name)
            gate.wait(10)

        return run

    running = [asyncio.create_task(jobs.run_interactive(work("running"), Token())) for _ in range(4)]
    await until(lambda: len(begun) == 4)
    gone = [asyncio.create_task(jobs.run_interactive(work("gone"), Token())) for _ in range(20)]
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.wait(gone)
    gate.set()
    await asyncio.gather(*running)
    await jobs.run_interactive(work("next"), Token())
    assert begun == ["running"] * 4 + ["next"]
    jobs.close()


async def test_a_cancelled_index_step_ends_when_its_thread_has_left() -> None:
    jobs, token = Jobs(), Token()
    begun, left = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        while not token.cancelled:
            time.sleep(0.001)
        left.set()

    step = asyncio.create_task(jobs.run_indexing(work, token))
    await asyncio.to_thread(begun.wait)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert left.is_set()
    jobs.close()
    with pytest.raises(Cancelled):
        await jobs.run_indexing(work, token)


async def test_a_job_that_awaits_something_ends_at_once_when_it_is_cancelled() -> None:
    began = asyncio.Event()

    async def run(_: Job[Token, int]) -> int:
        began.set()
        await asyncio.Event().wait()
        return 1

    q: IndexQueue[Token, int] = IndexQueue(Token, run, 0)
    job = q.request(full=True)
    await began.wait()
    await q.drop()
    assert isinstance(job.done.exception(), Cancelled)


async def test_a_panic_in_a_job_reaches_its_waiter_and_the_queue_goes_on() -> None:
    class Panic(BaseException):
        pass

    panics = [Panic()]

    async def run(_: Job[Token, int]) -> int:
        if panics:
            raise panics.pop()
        return 7

    q: IndexQueue[Token, int] = IndexQueue(Token, run, 0)
    with pytest.raises(Panic):
        await q.wait(q.request(full=True))
    assert await q.wait(q.request(full=True)) == 7
