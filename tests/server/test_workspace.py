"""A workspace: closed while a thread still works for it, asked right after something was saved."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from carrel.core.types import Budget, Query
from carrel.frontends.mcp.texts import notes
from carrel.server import answers, looks
from carrel.server import workspace as workspaces
from carrel.server.jobs import IndexQueue, Job, Jobs
from carrel.server.settings import Settings
from carrel.server.wiring import RENEWED, Wiring
from carrel.server.workspace import Workspace


class SlowWiring(Wiring):
    """Opens an index when it is let."""

    def __init__(self) -> None:
        self.begun, self.gate, self.closed = threading.Event(), threading.Event(), threading.Event()

    def open_index(self, *_: object) -> Any:
        self.begun.set()
        self.gate.wait(10)
        return SimpleNamespace(store=SimpleNamespace(close=self.closed.set))


async def test_an_index_that_opens_too_late_is_closed_and_nobody_complains(tmp_path: Path) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    wiring = SlowWiring()
    workspace = Workspace(tmp_path, "file:///shop", settings=Settings(), wiring=wiring, jobs=Jobs())
    asked = asyncio.create_task(workspace.open())
    await asyncio.to_thread(wiring.begun.wait, 10)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await workspace.close()
    opening = asyncio.all_tasks() - {asyncio.current_task()}
    wiring.gate.set()
    await asyncio.wait(opening)
    assert wiring.closed.is_set()
    del workspace, asked, opening
    gc.collect()
    assert complaints == []


class HeldWiring(Wiring):
    """Indexes saved files when it is let; everything else at once."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def run_index(self, index: Any, work: Any, *rest: Any) -> Any:
        if not work.full:
            self.gate.wait(20)
        return super().run_index(index, work, *rest)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions that wait as long as it takes, so that a slow machine changes nothing."""
    monkeypatch.setattr(workspaces, "_MOMENT_SECONDS", 60)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which it is decided when to look at the disk."""
    clock = Clock()
    monkeypatch.setattr(looks, "time", clock)
    return clock


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Callable[[Wiring], Workspace]]:
    """Opens a workspace of one file with an index of its own."""
    opened: list[Workspace] = []
    root = tmp_path / "shop"
    root.mkdir()
    (root / "login.py").write_text("def sign_in_with_password(user, password):\n    return check(user, password)\n")

    def of(wiring: Wiring) -> Workspace:
        settings = Settings(cache_folder=str(tmp_path / "cache"))
        opened.append(Workspace(root, root.as_uri(), settings=settings, wiring=wiring, jobs=Jobs()))
        return opened[-1]

    yield of
    for workspace in opened:
        await workspace.close()


async def saved_and_found(workspace: Workspace, name: str) -> bool:
    (workspace.root / "new.py").write_text(f"def {name}():\n    return 'what was saved right before the question'\n")
    workspace.files_changed(["new.py"])
    found = await answers.search(workspace, Query(name, 1), 100_000)
    return any(name in hit.chunk.text for hit in found.hits)


async def soon(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within 15 s."""
    for _ in range(300):
        if condition():
            return True
        await asyncio.sleep(0.05)
    return False


class HeldRenewal(Wiring):
    """Indexes a whole workspace at once, and again when it is let."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.indexed = 0

    def run_index(self, *named: Any) -> Any:
        self.indexed += 1
        if self.indexed > 1:
            self.gate.wait(10)
        return super().run_index(*named)


@pytest.mark.skipif(os.name == "nt", reason="Windows doesn't let files be deleted that somebody has open")
async def test_answers_say_that_a_deleted_index_is_built_anew(shop: Callable[[Wiring], Workspace]) -> None:
    wiring = HeldRenewal()
    workspace = shop(wiring)
    workspace.settings = replace(workspace.settings, rag_enabled=True)
    await answers.search(workspace, Query("password", 1), 10_000)
    workspace.watched = True  # so that no look at the disk comes in between
    assert workspace.index
    shutil.rmtree(workspace.index.directory)
    question = answers.ContextRequest("sign in with a password", 3, Budget(1000, "tokens"))
    turn, _ = await answers.context(workspace, question)
    assert (turn.pack.items, turn.error, workspace.state()) == ((), RENEWED, "indexing")
    assert RENEWED in (await workspace.status()).problems
    assert "being made anew" in notes(workspace)[0]
    wiring.gate.set()
    assert await soon(lambda: not workspace.queue.busy)
    turn, _ = await answers.context(workspace, question)
    assert turn.pack.items
    assert turn.error is None
    assert (await workspace.status()).problems == ()


@pytest.mark.usefixtures("patient")
async def test_a_question_right_after_a_save_finds_what_was_saved(shop: Callable[[Wiring], Workspace]) -> None:
    workspace = shop(Wiring())
    await answers.search(workspace, Query("password", 1), 10_000)
    for i in range(20):
        assert await saved_and_found(workspace, f"refund_of_order_{i}")


async def test_a_question_waits_only_a_moment_for_what_was_saved(shop: Callable[[Wiring], Workspace]) -> None:
    wiring = HeldWiring()
    workspace = shop(wiring)
    await answers.search(workspace, Query("password", 1), 10_000)
    assert not await saved_and_found(workspace, "refund_of_order")
    assert workspace.queue.busy, "it was answered while the saved file still waited"
    wiring.gate.set()


class HeldReopening(Wiring):
    """Opens an index at once, and again when it is let."""

    def __init__(self) -> None:
        self.gate, self.reopening = threading.Event(), threading.Event()
        self.opened = 0

    def open_index(self, *named: Any) -> Any:
        self.opened += 1
        if self.opened > 1:
            self.reopening.set()
            self.gate.wait(10)
        return super().open_index(*named)


@pytest.mark.usefixtures("patient")
async def test_a_question_that_waits_while_settings_change_is_answered(
    shop: Callable[[Wiring], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()

    class Watched(IndexQueue[Any, Any]):
        @property
        def saves(self) -> Job[Any, Any] | None:
            waits.set()  # what asks for this job waits for it, without doing anything else before
            return super().saves

    monkeypatch.setattr(workspaces, "IndexQueue", Watched)
    wiring = HeldReopening()
    workspace = shop(wiring)
    await answers.search(workspace, Query("password", 1), 10_000)
    workspace.queue.delay = 60
    workspace.files_changed(["login.py"])
    waits.clear()
    asked = asyncio.create_task(answers.search(workspace, Query("password", 1), 100_000))
    await waits.wait()
    old, workspace.settings = workspace.settings, replace(workspace.settings, editor_exclude=("/old.py",))
    workspace.changing = asyncio.create_task(workspace.reconfigure(old))
    assert await asyncio.to_thread(wiring.reopening.wait, 10)
    await asyncio.wait({asked}, timeout=0.2)
    assert not asked.done(), "it was answered from the index that was closed"
    wiring.gate.set()
    assert (await asked).hits[0].chunk.path == "login.py"


@pytest.mark.usefixtures("patient")
async def test_where_nobody_tells_of_changes_the_first_question_looks_for_itself(shop: Callable[[Wiring], Workspace]) -> None:
    for i in range(4):
        workspace = shop(Wiring())
        found = await answers.search(workspace, Query(f"refund_of_order_{i}", 1), 60_000)
        assert i == 0 or f"refund_of_order_{i}" in found.hits[0].chunk.text
        await workspace.close()
        (workspace.root / "new.py").write_text(f"def refund_of_order_{i + 1}():\n    return 'written while nobody looked'\n")


async def test_a_long_first_index_delays_no_look_and_what_waits_is_told(
    shop: Callable[[Wiring], Workspace], clock: Clock
) -> None:
    gate = threading.Event()
    runs: list[str] = []

    class Held(Wiring):
        def run_index(self, index: Any, work: Any, token: Any, progress: Any) -> Any:
            runs.append("began")

            def held(done: int, total: int, at: str) -> None:
                progress(done, total, at)
                if total and not done and len(runs) == 1:
                    clock.now += 100  # as embedding takes
                elif total and not done:
                    gate.wait(60)

            return super().run_index(index, work, token, held)

    workspace = shop(Held())
    await answers.search(workspace, Query("password", 1), 10_000)
    assert not workspace.queue.busy
    (workspace.root / "new.py").write_text("def refund_of_order():\n    return 'nobody told of it'\n")
    clock.now += 0.6  # twenty times the hundred seconds are far away
    await answers.search(workspace, Query("refund_of_order", 1), 10_000)  # doesn't wait for it all
    assert await soon(lambda: workspace.pending > 0)
    assert "still being indexed" in notes(workspace)[0]
    gate.set()
    assert await soon(lambda: not workspace.queue.busy)
    assert notes(workspace) == ()
    found = await answers.search(workspace, Query("refund_of_order", 1), 10_000)
    assert "refund_of_order" in found.hits[0].chunk.text


async def test_where_changes_are_told_no_question_waits_for_a_look(
    shop: Callable[[Wiring], Workspace], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring = HeldRenewal()
    workspace = shop(wiring)
    workspace.watched = True
    await answers.search(workspace, Query("password", 1), 10_000)
    later = Mock(side_effect=workspace.looks.soon)
    monkeypatch.setattr(workspace.looks, "soon", later)
    # A second look is held, so that a question that waited for one would leave it running.
    for seconds, looks_later in ((30, False), (31, True)):
        clock.now += seconds
        await answers.search(workspace, Query("password", 1), 10_000)
        assert (workspace.queue.busy, later.called) == (False, looks_later)
    wiring.gate.set()
    assert await soon(lambda: wiring.indexed == 2)


@pytest.mark.usefixtures("patient")
async def test_the_state_in_the_project_follows_what_was_saved(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def alpha(value):\n    return value + 1  # long enough to be a chunk\n")
    settings = Settings(storage="workspace")
    workspace = Workspace(tmp_path, tmp_path.as_uri(), settings=settings, wiring=Wiring(), jobs=Jobs())
    await answers.search(workspace, Query("alpha", 1), 10_000)
    (tmp_path / "b.py").write_text("def beta(value):\n    return value + 2  # long enough to be a chunk\n")
    workspace.files_changed(["b.py"])
    await answers.search(workspace, Query("beta", 1), 60_000)
    await workspace.close()
    state = json.loads((tmp_path / ".carrel" / "rag-state.json").read_text())
    assert list(state["files"]) == ["a.py", "b.py"]
