"""For all tests: property tests aren't timed, machines are shared; Ctrl-C works in what tests start."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings, strategies
from tests.shop import environment

pytest_plugins = ["tests.support.embedders", "tests.support.repositories", "tests.support.workspaces"]

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)


gc.disable()  # what is collected stays


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files whose tests may take longest, then those with the most.

    A long one that begins last keeps the other workers idle.
    """
    if not hasattr(config, "workerinput"):
        return
    patience, tests = Counter[Path](), Counter(item.path for item in items)
    for item in items:
        marker = item.get_closest_marker("timeout")
        patience[item.path] = max(patience[item.path], round(marker.args[0]) if marker else 0)
    items.sort(key=lambda item: (-patience[item.path], -tests[item.path]))


def pytest_collection_finish() -> None:
    """Look for garbage from here on, in what came later; load Hypothesis's module for patterns before any test runs.

    It is loaded at its first use, and pytest rewrites it: in the middle of a test CPython 3.11 sometimes fails to parse it
    ("AST constructor recursion depth mismatch", CPython's issue 106905: collecting garbage parsed something else meanwhile).
    """
    strategies.from_regex("a").validate()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _usual_priority() -> Iterator[None]:
    """Let no command that a test runs in this process, as `index --background`, take the priority of all later tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: 0, raising=False)
        yield


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the person who runs the tests is read or written."""
    return environment(tmp_path / "home")
