"""A workspace: closed while a thread still works for it, asked right after something was saved."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from carrel.composition.composition import Composition
from carrel.frontends.mcp.tools import notes
from carrel.index.open_index import RENEWED, OpenIndex
from carrel.index.workspace_state import FolderSettings
from carrel.model.errors import Cancelled, StoreError
from carrel.model.types import Budget, Query
from carrel.service import answering_index, queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.system.jobs import IndexQueue, Job, Jobs
from carrel.upkeep import folder_watch, index_jobs
from carrel.upkeep.index_jobs import IndexRunner


class SlowComposition(Composition):
    """Opens an index when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.gate, self.closed = threading.Event(), threading.Event(), threading.Event()

    def open_index(self, *_: object, **__: object) -> Any:
        self.begun.set()
        self.gate.wait(10)
        return SimpleNamespace(store=SimpleNamespace(close=self.closed.set))


async def test_an_index_that_opens_too_late_is_closed_and_nobody_complains(tmp_path: Path) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    composition = SlowComposition()
    workspace = Workspace(tmp_path, "file:///shop", folder=FolderSettings(), composition=composition, jobs=Jobs())
    asked = asyncio.create_task(workspace.open())
    await asyncio.to_thread(composition.begun.wait, 10)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await workspace.close()
    opening = asyncio.all_tasks() - {asyncio.current_task()}
    composition.gate.set()
    await asyncio.wait(opening)
    assert composition.closed.is_set()
    del workspace, asked, opening
    gc.collect()
    assert complaints == []


class HeldRunner(IndexRunner):
    """Indexes saved files when it is let; everything else at once."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def run(self, index: Any, work: Any, *rest: Any) -> Any:
        if not work.full:
            await asyncio.to_thread(self.gate.wait, 20)
        return await super().run(index, work, *rest)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let questions wait for saved files as long as it takes, so that a slow machine changes nothing."""
    monkeypatch.setattr(answering_index, "_MOMENT_SECONDS", 60)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which rescans are due."""
    clock = Clock()
    monkeypatch.setattr(folder_watch, "time", clock)
    return clock


Shop = Callable[..., Workspace]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    """Opens a workspace of one file with an index of its own."""
    opened: list[Workspace] = []
    root = tmp_path / "shop"
    root.mkdir()
    (root / "login.py").write_text("def sign_in_with_password(user, password):\n    return check(user, password)\n")

    def of(runner: IndexRunner | None = None, composition: Composition | None = None) -> Workspace:
        folder = FolderSettings(Settings(cache_folder=str(tmp_path / "cache")))
        parts = composition or Composition()
        opened.append(Workspace(root, root.as_uri(), folder=folder, composition=parts, jobs=Jobs(), runner=runner))
        return opened[-1]

    yield of
    for workspace in opened:
        await workspace.close()


async def saved_and_found(workspace: Workspace, name: str) -> bool:
    (workspace.root / "new.py").write_text(f"def {name}():\n    return 'what was saved right before the question'\n")
    workspace.changed_on_disk(["new.py"])
    found = await queries.search(workspace, Query(name, 1), 60_000)
    return any(name in hit.chunk.text for hit in found.hits)


async def soon(condition: Callable[[], bool]) -> bool:
    """Tell whether it comes true within 30 s."""
    for _ in range(600):
        if condition():
            return True
        await asyncio.sleep(0.05)
    return False


class HeldRenewal(IndexRunner):
    """Indexes a whole workspace at once, and again when it is let."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.indexed = 0

    async def run(self, *named: Any) -> Any:
        self.indexed += 1
        if self.indexed > 1:
            await asyncio.to_thread(self.gate.wait, 10)
        return await super().run(*named)


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let files be deleted that somebody has open")
async def test_answers_say_that_a_deleted_index_is_built_anew(shop: Shop) -> None:
    runner = HeldRenewal()
    workspace = shop(runner)
    workspace.apply(FolderSettings(dataclasses.replace(workspace.settings, rag_enabled=True)))
    await queries.search(workspace, Query("password", 1), 60_000)
    workspace.note_reports()  # so that no look at the disk comes in between
    assert workspace.index
    shutil.rmtree(workspace.index.directory)
    question = ContextRequest("sign in with a password", 3, Budget(1000, "tokens"))
    turn = await context(workspace, question)
    assert (turn.pack.items, turn.error, workspace.state()) == ((), RENEWED, "indexing")
    assert RENEWED in (await workspace.status()).problems
    assert "being made anew" in notes(workspace)[0]
    runner.gate.set()
    assert await soon(lambda: not workspace.queue.busy)
    turn = await context(workspace, question)
    assert turn.pack.items
    assert turn.error is None
    assert (await workspace.status()).problems == ()


@pytest.mark.usefixtures("patient")
async def test_a_question_right_after_a_save_finds_what_was_saved(shop: Shop) -> None:
    workspace = shop()
    await queries.search(workspace, Query("password", 1), 60_000)
    for i in range(20):
        assert await saved_and_found(workspace, f"refund_of_order_{i}")


async def test_a_question_waits_only_a_moment_for_what_was_saved(shop: Shop) -> None:
    runner = HeldRunner()
    workspace = shop(runner)
    await queries.search(workspace, Query("password", 1), 60_000)
    assert not await saved_and_found(workspace, "refund_of_order")
    assert workspace.queue.busy, "it was answered while the saved file still waited"
    runner.gate.set()


class HeldReopening(Composition):
    """Opens an index at once, and again when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.reopening = threading.Event(), threading.Event()
        self.opened = 0

    def open_index(self, *named: Any, **more: Any) -> Any:
        self.opened += 1
        if self.opened > 1:
            self.reopening.set()
            self.gate.wait(20)
        return super().open_index(*named, **more)


@pytest.mark.usefixtures("patient")  # what ends the wait is the change of settings
async def test_a_question_that_waits_while_settings_change_is_answered(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = asyncio.Event()

    class Watched(IndexQueue[Any, Any]):
        @property
        def saves(self) -> Job[Any, Any] | None:
            waits.set()  # who asks for this job awaits it before anything else can happen
            return super().saves

    monkeypatch.setattr(index_jobs, "IndexQueue", Watched)
    composition = HeldReopening()
    workspace = shop(composition=composition)
    await queries.search(workspace, Query("password", 1), 60_000)
    workspace.queue.delay = 60
    workspace.changed_on_disk(["login.py"])
    waits.clear()
    asked = asyncio.create_task(queries.search(workspace, Query("password", 1), 60_000))
    await waits.wait()
    workspace.apply(FolderSettings(dataclasses.replace(workspace.settings, editor_exclude=("/old.py",))))
    assert await asyncio.to_thread(composition.reopening.wait, 20)
    await asyncio.wait({asked}, timeout=0.2)
    assert not asked.done(), "it was answered from the index that was closed"
    composition.gate.set()
    assert (await asked).hits[0].chunk.path == "login.py"


@pytest.mark.usefixtures("patient")
async def test_where_nobody_tells_of_changes_the_first_question_looks_for_itself(shop: Shop) -> None:
    for i in range(4):
        workspace = shop()
        found = await queries.search(workspace, Query(f"refund_of_order_{i}", 1), 60_000)
        assert i == 0 or f"refund_of_order_{i}" in found.hits[0].chunk.text
        await workspace.close()
        (workspace.root / "new.py").write_text(f"def refund_of_order_{i + 1}():\n    return 'written while nobody looked'\n")


async def test_a_long_first_index_delays_no_look_and_what_waits_is_told(shop: Shop, clock: Clock) -> None:
    gate = threading.Event()
    runs: list[str] = []

    class Held(IndexRunner):
        async def run(self, index: Any, work: Any, token: Any, progress: Any, native: Any) -> Any:
            runs.append("began")

            def held(done: int, total: int, at: str) -> None:
                progress(done, total, at)
                if total and not done and len(runs) == 1:
                    clock.now += 100  # as embedding takes
                elif total and not done:
                    gate.wait(20)

            return await super().run(index, work, token, held, native)

    workspace = shop(Held())
    await queries.search(workspace, Query("password", 1), 60_000)
    assert not workspace.queue.busy
    (workspace.root / "new.py").write_text("def refund_of_order():\n    return 'nobody told of it'\n")
    clock.now += 0.6  # twenty times the hundred seconds are far away
    await queries.search(workspace, Query("refund_of_order", 1), 60_000)  # doesn't wait for it all
    assert await soon(lambda: workspace.pending > 0)
    assert "still being indexed" in notes(workspace)[0]
    gate.set()
    assert await soon(lambda: not workspace.queue.busy)
    assert notes(workspace) == ()
    found = await queries.search(workspace, Query("refund_of_order", 1), 60_000)
    assert "refund_of_order" in found.hits[0].chunk.text


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.usefixtures("patient")
async def test_what_was_saved_while_the_index_could_not_be_written_is_found_by_the_next_questions(
    shop: Shop, clock: Clock, watched: bool
) -> None:
    """As where a file of the index is damaged, or the disk is full for a moment: the job of the save fails."""
    failures = [StoreError("database disk image is malformed")]

    class Failing(IndexRunner):
        async def run(self, index: Any, work: Any, token: Any, progress: Any, native: Any) -> Any:
            if not work.full and failures:
                raise failures.pop()
            return await super().run(index, work, token, progress, native)

    workspace = shop(Failing())
    if watched:
        workspace.note_reports()
    await queries.search(workspace, Query("password", 1), 60_000)
    await saved_and_found(workspace, "refund_of_order")
    assert await soon(lambda: not workspace.queue.busy)
    assert not failures
    workspace.indexing.rescans._took = 4.0  # a comparison on a busy machine
    clock.now += 20  # not the 60 and more seconds after which the next look would be due
    found = await queries.search(workspace, Query("refund_of_order", 1), 60_000)
    assert "refund_of_order" in found.hits[0].chunk.text
    assert not workspace.indexing.rescans.owed


class HeldRescan(IndexRunner):
    """The second run over everything, which the person asks for, ends by its cancel alone."""

    full = 0

    async def run(self, index: Any, work: Any, token: Any, *rest: Any) -> Any:
        self.full += work.full
        while work.full and self.full == 2:
            if token.cancelled:
                raise Cancelled("stopped")
            await asyncio.sleep(0.001)
        return await super().run(index, work, token, *rest)


async def test_a_look_that_went_with_a_cancelled_run_is_made_up_for(shop: Shop, clock: Clock) -> None:
    runner = HeldRescan()
    workspace = shop(runner)
    workspace.note_reports()
    await queries.search(workspace, Query("password", 1), 60_000)
    asked = workspace.request_index()
    assert await soon(lambda: runner.full == 2)
    (workspace.root / "switched.py").write_text("def on_another_branch():\n    return 'the checkout of a branch wrote this'\n")
    workspace.indexing.rescan()  # many files changed: the folder is compared as a whole
    workspace.queue.cancel(asked)
    assert await soon(lambda: not workspace.queue.busy)
    clock.now += 20  # not the 60 and more seconds after which the next look would be due
    found = await queries.search(workspace, Query("on_another_branch", 1), 60_000)
    assert "on_another_branch" in found.hits[0].chunk.text


async def test_where_changes_are_told_no_question_waits_for_a_look(
    shop: Shop, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = HeldRenewal()
    workspace = shop(runner)
    workspace.note_reports()
    await queries.search(workspace, Query("password", 1), 60_000)
    with monkeypatch.context() as patched:
        later = Mock()
        patched.setattr(workspace.indexing.rescans, "run_soon", later)
        # A second look is held, so that a question that waited for one would leave it running.
        for seconds, looks_later in ((30, False), (31, True)):
            clock.now += seconds
            await queries.search(workspace, Query("password", 1), 60_000)
            assert (workspace.queue.busy, later.called) == (False, looks_later)
    runner.gate.set()
    await queries.search(workspace, Query("password", 1), 60_000)
    assert await soon(lambda: runner.indexed == 2), "nobody looked"


@pytest.mark.usefixtures("patient")
async def test_the_state_in_the_project_follows_what_was_saved(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def alpha(value):\n    return value + 1  # long enough to be a chunk\n")
    folder = FolderSettings(Settings(storage="workspace"))
    workspace = Workspace(tmp_path, tmp_path.as_uri(), folder=folder, composition=Composition(), jobs=Jobs())
    await queries.search(workspace, Query("alpha", 1), 60_000)
    (tmp_path / "b.py").write_text("def beta(value):\n    return value + 2  # long enough to be a chunk\n")
    workspace.changed_on_disk(["b.py"])
    await queries.search(workspace, Query("beta", 1), 60_000)
    await workspace.close()
    state = json.loads((tmp_path / ".carrel" / "rag-state.json").read_text())
    assert list(state["files"]) == ["a.py", "b.py"]


async def test_a_change_during_a_deletion_does_not_fill_the_index_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = shop()
    await queries.search(workspace, Query("password", 1), 60_000)
    loop, changed, clear = asyncio.get_running_loop(), threading.Event(), OpenIndex.clear

    def change() -> None:
        workspace.changed_on_disk(["login.py"])
        workspace.rescan()
        changed.set()

    def clear_meanwhile(index: OpenIndex) -> None:
        loop.call_soon_threadsafe(change)
        assert changed.wait(20)
        clear(index)

    monkeypatch.setattr(OpenIndex, "clear", clear_meanwhile)
    assert await workspace.clear() > 0
    assert await soon(lambda: not workspace.queue.busy)
    assert workspace.state() == "empty"
