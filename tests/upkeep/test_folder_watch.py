"""A watch that fails, or is limited for a while, leaves changes to the questions' own look at the disk."""

from __future__ import annotations

import queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.waiting import until

from carrel.index.workspace_state import FolderSettings, StateCell, WorkspaceState
from carrel.settings.settings import Settings
from carrel.upkeep.folder_watch import FolderWatch, WatchEvents


class Told:
    """The core's watch, as far as it is used: it tells what the test hands in, and raises what is an exception."""

    folders = 1

    def __init__(self) -> None:
        self.limit: str | None = None
        self.coming: queue.Queue[BaseException | None] = queue.Queue()
        self.closed = False

    def next(self) -> tuple[list[str], bool]:
        """Wait for the next."""
        coming = self.coming.get()
        if coming is not None:
            raise coming
        return [], True

    def close(self) -> None:
        """Note that the watches were given back."""
        self.closed = True


class Panicked(BaseException):
    """What a panic of the core is in Python: no `Exception`."""


async def _run(_: Any) -> None:
    return None


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def state(told: Told) -> StateCell:
    index = SimpleNamespace(complete=True, store=SimpleNamespace(role="writer", watch=lambda: told))
    return StateCell(WorkspaceState(folder=FolderSettings(Settings(watch="always")), index=cast("Any", index)))


@pytest.fixture
def watch(tmp_path: Path, state: StateCell) -> FolderWatch:
    def nothing(*_: Any) -> None:
        return None

    made = FolderWatch(tmp_path, state, _run, WatchEvents(nothing, nothing, nothing, nothing))
    made.enabled = True
    return made


@pytest.mark.parametrize("fault", [OSError("gone"), Panicked("a bug")])
async def test_a_watch_that_fails_no_longer_counts(watch: FolderWatch, told: Told, fault: BaseException) -> None:
    watch.update()
    told.coming.put(None)
    await until(lambda: watch.complete_since is not None)
    told.coming.put(fault)
    await until(lambda: told.closed)
    assert watch.complete_since is None


async def test_a_limit_that_is_gone_is_no_longer_a_problem(watch: FolderWatch, told: Told, state: StateCell) -> None:
    watch.update()
    told.limit = "watches"
    told.coming.put(None)
    await until(lambda: state.now.watch_problem)
    assert watch.complete_since is None
    told.limit = None
    told.coming.put(None)
    await until(lambda: watch.complete_since is not None)
    assert state.now.watch_problem is None
    told.coming.put(OSError("the end of the test"))
