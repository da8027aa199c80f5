"""Budgets by the window of a chat model."""

from __future__ import annotations

import pytest

from carrel.frontends.chat_proxy.upstream import windows_in
from carrel.model.types import Budget
from carrel.settings.model_settings import BudgetPolicy, window_of

DEFAULT = Budget()


@pytest.mark.parametrize(
    ("policy", "window", "expected"),
    [
        (BudgetPolicy(), None, DEFAULT),
        (BudgetPolicy(), 4_096, DEFAULT),  # a window makes nothing smaller
        (BudgetPolicy(), 32_000, Budget(4_000, "tokens")),
        (BudgetPolicy(), 1_000_000, Budget(8_000, "tokens")),
        (BudgetPolicy(ceiling=3_000), 128_000, Budget(3_000, "tokens")),
        (BudgetPolicy(share=0), 128_000, DEFAULT),
        (BudgetPolicy(Budget(500, "tokens")), 128_000, Budget(500, "tokens")),  # what a person set stands
        (BudgetPolicy(), 1, DEFAULT),
    ],
)
def test_a_budget_is_a_share_of_the_window_up_to_a_ceiling(policy: BudgetPolicy, window: int | None, expected: Budget) -> None:
    assert policy.budget(window) == expected


@pytest.mark.parametrize(
    ("name", "window"), [("gpt-4o-mini", 128_000), ("anthropic/claude-x", 200_000), ("m", None), (None, None)]
)
def test_windows_by_name(name: str | None, window: int | None) -> None:
    assert window_of(name) == window


def test_windows_as_services_list_them() -> None:
    entries = [
        {"id": "a", "context_length": 9_000},
        {"id": "b", "max_model_len": 8_000},
        {"id": "c", "context_length": "many"},
        {"id": "d", "context_length": -1, "max_model_len": True},
        {"id": 5, "context_length": 7},
        "e",
    ]
    assert windows_in({"data": entries}) == {"a": 9_000, "b": 8_000}
    assert windows_in({"data": 3}) == windows_in([]) == {}
