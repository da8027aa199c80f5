"""The soak, for a few seconds; `CARREL_TEST_SOAK` says at which scale (1: 24 hours), and `make test-long` runs all of it."""

from __future__ import annotations

import os

import pytest
from tests.torture import workload
from tests.torture.__main__ import FAULTY
from tests.torture.soak import LIMITS, judge, soak
from tests.torture.workload import Wrong

SCALE = float(os.environ.get("CARREL_TEST_SOAK", "0"))


@pytest.mark.timeout(120 + 24 * 3600 * SCALE)
def test_servers_answer_as_a_fresh_index_does_and_grow_in_nothing() -> None:
    measured = soak(SCALE or 0.0002, moments=20 if SCALE else 2)
    assert measured["done"]["kill"] >= 2


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "PATIENCE_S", 2.0)
    with pytest.raises(Wrong, match="marker_"):
        soak(0.001, moments=2, program=FAULTY)


@pytest.mark.parametrize("name", LIMITS)
def test_growth_is_found(name: str) -> None:
    flat = {**{key: [50, 40] for key in LIMITS}, "writer": 1}
    looks = [{**flat, name: [50, 40 * 2**moment]} for moment in range(20)]
    judge([flat] * 20)
    with pytest.raises(Wrong, match=f"{name} grew"):
        judge(looks)
