"""The token bucket, by a clock that the test moves."""

from __future__ import annotations

from carrel.frontends.chat_proxy.http_guard import RateLimit


class Clock:
    """Time that passes when it is told to."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def allowed(limit: RateLimit, asked: int) -> int:
    return sum(limit.take() == 0 for _ in range(asked))


def test_a_burst_passes_then_the_pace_holds() -> None:
    clock = Clock()
    limit = RateLimit(600, clock)
    assert allowed(limit, 150) == 100
    clock.now += 1
    assert allowed(limit, 150) == 10
    clock.now += 3_600  # a pause fills the bucket to the brim, no further
    assert allowed(limit, 150) == 100


def test_who_waits_as_long_as_told_is_let_through_and_not_before() -> None:
    clock = Clock()
    limit = RateLimit(6, clock)
    assert limit.take() == 0
    wait = limit.take()
    assert 0 < wait <= 10
    clock.now += wait * 0.9
    assert limit.take() > 0
    clock.now += wait * 0.11
    assert limit.take() == 0


def test_refusals_cost_nothing() -> None:
    clock = Clock()
    limit = RateLimit(60, clock)
    allowed(limit, 1_000)
    clock.now += 1.001
    assert allowed(limit, 5) == 1


def test_a_pace_of_less_than_one_in_ten_seconds_still_lets_one_through() -> None:
    assert allowed(RateLimit(1, Clock()), 3) == 1


def test_nought_is_no_limit() -> None:
    assert allowed(RateLimit(0, Clock()), 10_000) == 10_000
