"""Limits a minute and a day, and the count of what was used."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest

from carrel.model.errors import ProviderError, StoreError
from carrel.model.outbound import Destination, Load, admitted
from carrel.policy.usage import Limits, Usage, UsageMeter

OPENAI = Destination("openai", "api.openai.com")
COHERE = Destination("cohere", "api.cohere.com")
LOCAL = Destination("ollama", "localhost:11434")


class Clock:
    """Passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


def meter(limits: Limits, clock: Clock | None = None, path: Path | None = None, day: str = "2026-01-02") -> UsageMeter:
    clock = clock or Clock()
    return UsageMeter(path, lambda: limits, clock=clock, today=lambda: day, sleep=clock.sleep)


async def test_without_limits_nobody_waits() -> None:
    clock = Clock()
    used = meter(Limits(), clock)
    for _ in range(1000):
        await used.admit(OPENAI, Load(tokens=10**9))
    assert clock.slept == []


async def test_requests_wait_until_the_minute_has_room() -> None:
    clock = Clock()
    used = meter(Limits(requests_per_minute=2), clock)
    for seconds in (0, 10, 0):
        clock.now += seconds
        await used.admit(OPENAI, Load())
    assert clock.slept == [50]
    await used.admit(COHERE, Load())
    assert clock.slept == [50], "each service has a minute of its own"


async def test_tokens_wait_too_but_one_request_that_is_larger_than_the_limit_goes_through() -> None:
    clock = Clock()
    used = meter(Limits(tokens_per_minute=100), clock)
    await used.admit(OPENAI, Load(tokens=90))
    await used.admit(OPENAI, Load(tokens=20))
    assert clock.slept == [60]
    await used.admit(OPENAI, Load(tokens=1000))
    assert clock.slept == [60, 60]


async def test_a_day_has_its_cost_and_another_process_counts(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    other = meter(Limits(), path=path)
    other.record(OPENAI, Load(texts=1, characters=20, tokens=5, dollars=0.9))
    other.close()
    used = meter(Limits(cost_per_day=1.0), path=path)
    await used.admit(OPENAI, Load(dollars=0.1))
    with pytest.raises(ProviderError, match=r"limit of \$1 is reached: \$1\.00 was spent") as raised:
        await used.admit(COHERE, Load(dollars=0.2))
    assert not raised.value.retryable
    await used.admit(LOCAL, Load(dollars=5))
    await meter(Limits(cost_per_day=1.0), path=path, day="2026-01-03").admit(OPENAI, Load(dollars=0.2))


@pytest.mark.parametrize("kept", [True, False])
async def test_the_cost_is_held_before_the_request_and_settled_after_it(tmp_path: Path, kept: bool) -> None:
    used = meter(Limits(cost_per_day=1.0), path=tmp_path / "usage.sqlite" if kept else None)
    load = Load(texts=1, tokens=10, dollars=0.2, reserve=0.5)
    first = await admitted(used, OPENAI, load)
    assert used.total().dollars == pytest.approx(0.7)
    with pytest.raises(ProviderError, match="held for answers under way"):
        await admitted(used, COHERE, load)
    first.taken()
    used.record(OPENAI, Load(requests=0, tokens=5, dollars=0.1))  # what the answer cost
    first.ended()
    total = used.total()
    assert (total.requests, total.tokens, round(total.dollars, 6)) == (1, 15, 0.3)
    failing = await admitted(used, OPENAI, load)
    failing.ended()  # nobody took it
    assert used.total().dollars == pytest.approx(0.3)
    used.close()


@pytest.mark.parametrize("kept", [True, False])
async def test_a_hold_is_given_back_to_the_day_that_it_was_counted_on(tmp_path: Path, kept: bool) -> None:
    days = ["2026-01-02"]
    path = tmp_path / "usage.sqlite" if kept else None
    used = UsageMeter(path, lambda: Limits(cost_per_day=1.0), today=lambda: days[-1])
    asked = await admitted(used, OPENAI, Load(dollars=0.2, reserve=0.5))
    days.append("2026-01-03")  # midnight
    asked.taken()
    asked.ended()
    assert used.total(since="2026-01-03").dollars == pytest.approx(0.2), "what was spent counts when it was"
    assert used.total().dollars == pytest.approx(0.2), "and nothing is held any more"
    with pytest.raises(ProviderError):
        await used.admit(OPENAI, Load(dollars=0.9))
    used.close()


async def test_who_is_cancelled_while_it_is_counted_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    used = meter(Limits(cost_per_day=1.0), path=path)
    await used.admit(OPENAI, Load(dollars=0.1))
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")  # another process counts at this moment
        asking = asyncio.create_task(used.admit(OPENAI, Load(dollars=0.9)))
        while not used._reserving.locked():  # noqa: ASYNC110 - it is another thread that locks
            await asyncio.sleep(0.001)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        other.rollback()
    await asyncio.get_running_loop().shutdown_default_executor()  # the thread went on
    assert used.total().dollars == pytest.approx(0.1)
    used.close()


def test_requests_at_once_of_several_processes_spend_no_more_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    start, taken = threading.Barrier(8), list[float]()

    def ask() -> None:
        one = meter(Limits(cost_per_day=1.0), path=path)  # nothing is shared but the file
        start.wait()
        with contextlib.suppress(ProviderError):
            taken.append(asyncio.run(one.admit(OPENAI, Load(dollars=0.3))).dollars)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [0.3] * 3


async def test_a_model_without_a_price_is_refused_where_the_cost_is_limited() -> None:
    used = meter(Limits(cost_per_day=1.0))
    with pytest.raises(ProviderError, match=r"`costPerDay` is set.*Set `price`"):
        await used.admit(OPENAI, Load(tokens=5, priced=False))
    await used.admit(LOCAL, Load(tokens=5, priced=False))
    await meter(Limits()).admit(OPENAI, Load(tokens=5, priced=False))


def test_what_was_used_is_summed_by_destination_and_day(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    for day in ("2026-01-01", "2026-01-02"):
        used = meter(Limits(), path=path, day=day)
        for place in (OPENAI, OPENAI, COHERE):
            used.record(place, Load(texts=2, characters=30, tokens=7, dollars=0.5))
        used.close()
    used = meter(Limits(), path=path)
    assert used.total(OPENAI) == Usage(4, 8, 120, 28, 2.0)
    assert used.total(since="2026-01-02").requests == 3
    assert used.total(LOCAL) == Usage()


async def test_a_damaged_count_stops_what_has_a_limit_of_cost_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    free = meter(Limits(), path=path)
    await free.admit(OPENAI, Load())
    free.record(OPENAI, Load(tokens=3))
    free.close()
    with pytest.raises(StoreError, match="Mend or delete"):
        free.total()
    with pytest.raises(ProviderError, match="costPerDay"):
        await meter(Limits(cost_per_day=1), path=path).admit(OPENAI, Load())


def test_counts_of_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "usage.sqlite"
    meters = [meter(Limits(), path=path) for _ in range(4)]

    def count(one: UsageMeter) -> None:
        for _ in range(25):
            one.record(OPENAI, Load(tokens=1))
        one.close()

    threads = [threading.Thread(target=count, args=(one,)) for one in meters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept_elsewhere = sum(sum(usage.tokens for usage in one._memory.values()) for one in meters)
    assert meter(Limits(), path=path).total().tokens + kept_elsewhere == 100


def test_the_last_failure_is_remembered_until_a_success() -> None:
    used = meter(Limits())
    used.failed(OPENAI, "it failed")
    assert used.failures == {OPENAI: "it failed"}
    used.record(OPENAI, Load())
    assert used.failures == {}
