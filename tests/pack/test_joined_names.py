"""Neighbours that are shown as one are named by their parts."""

from __future__ import annotations

from functools import reduce

import pytest

from carrel.search.pieces import common_symbol


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Order.total", "Order.total"], "Order.total"),
        (["Order.total", "", "Order.pay"], "Order.total, Order.pay"),
        (["Plan", "Plan > Steps", "Plan > Done"], "Plan, Plan > Steps, Plan > Done"),
        (["Plan > Steps", "Plan > Steps > 1", "Plan > Done"], "Plan > Steps, Steps > 1, Done"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d, …"),
    ],
)
def test_headings_above_several_parts_are_named_once(names: list[str], expected: str) -> None:
    assert reduce(common_symbol, names) == expected
