"""The index of a workspace folder, brought to where it can answer a question: opened, filled, and looked through for changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrel.index.workspace_state import StateCell
from carrel.model.errors import NotReady, StoreError
from carrel.upkeep.folder_watch import FolderWatch
from carrel.upkeep.index_jobs import IndexService, check_root
from carrel.upkeep.lifecycle import NO_INDEX, IndexLifecycle, RunInteractive
from carrel.upkeep.model_switch import ModelSwitch

if TYPE_CHECKING:
    from carrel.index.open_index import OpenIndex

_MOMENT_SECONDS = 0.25
_WHOLE_SECONDS = 1.0
"""For so long a question waits for a whole first index, which most folders have by then; then what it is about is enough."""


class AnsweringIndex:
    """Ready an index for a question, by those who open, fill and watch it. Lives on the event loop."""

    def __init__(
        self,
        root: Path,
        state: StateCell,
        lifecycle: IndexLifecycle,
        indexing: IndexService,
        watch: FolderWatch,
        switch: ModelSwitch,
        run_interactive: RunInteractive,
        open_index: Callable[[], Awaitable[OpenIndex]],
        changed: Callable[[], None],
    ) -> None:
        """Take the parts of the workspace. `open_index` opens the index; `changed` is told that the state is another."""
        self._root, self._state, self._lifecycle = root, state, lifecycle
        self._indexing, self._watch, self._switch, self._run = indexing, watch, switch, run_interactive
        self._open, self._changed = open_index, changed
        self._no_root: str | None = None  # why the folder itself can't be read

    @property
    def watched(self) -> bool:
        """Tell whether every change on disk is told, by the editor or by a watch of ours, and what came before was looked at."""
        since = self._watch.complete_since
        return self._state.now.reported or (since is not None and self._indexing.rescans.has_ended_since(since))

    async def bring(self, *, explicit: bool, wait_ms: int, about: str) -> OpenIndex:
        """Return the index as `Workspace.ready` promises it, but for buffers and changes of settings meanwhile."""
        await self._require_root()
        index = await (self._open() if explicit else self.open_existing())
        self._switch.look()
        if index.store.lost:
            index = await self._replace(index)
        if explicit and not index.complete:
            await self._first_index(index, wait_ms / 1000, about)
        else:
            if explicit:
                await self._watch.settle()
            self._rescan_if_due(index, at_once=explicit and (not self.watched or self._indexing.rescans.owed))
            latest = self._indexing.queue.saves or self._indexing.rescans.latest
            if explicit and latest and not latest.done.done():
                await asyncio.wait({latest.done}, timeout=min(_MOMENT_SECONDS, wait_ms / 1000))
        return index

    async def open_existing(self) -> OpenIndex:
        """Open what somebody made; raises `NotReady`.

        Read-only callers must not create an empty index: holding the writer lock would block whoever wants to build it.
        """
        if not (self._state.now.folder.blocked or self._lifecycle.exists):
            raise NotReady(*NO_INDEX)
        return await self._open()

    async def _require_root(self) -> None:
        """Raise `StoreError` where the folder isn't there. An index job would fail, and be logged, at every question."""
        index = self._state.now.index
        try:
            await self._run(lambda _: check_root(self._root, indexed=lambda: index.begun if index else self._lifecycle.exists))
        except StoreError as error:
            if self._state.now.error != str(error):
                self._indexing.rescans.failed()
                self._lifecycle.failed(error)
                self._changed()
            self._no_root = str(error)
            raise
        if self._no_root is not None:
            if self._state.now.error == self._no_root:
                self._state.replace(error=None)
                self._changed()
            self._no_root = None

    def _rescan_if_due(self, index: OpenIndex, *, at_once: bool) -> None:
        rescans = self._indexing.rescans
        if not (index.begun and index.store.role == "writer" and rescans.is_due(watched=self.watched, waits=at_once)):
            return
        if at_once:
            rescans.run_now()
        else:
            rescans.run_soon()

    async def _replace(self, lost: OpenIndex) -> OpenIndex:
        """Open a new index in place of one that was deleted, and have it filled; raises `CarrelError`."""
        async with self._indexing.queue.alone():
            if self._state.now.index is lost:
                await self._lifecycle.reopen(renew=True)
        index = await self._open()
        if index.store.role == "writer":
            self._indexing.queue.request(full=True)
        return index

    async def _first_index(self, index: OpenIndex, seconds: float, about: str) -> None:
        if index.store.role == "follower":
            end = time.monotonic() + seconds
            while not index.complete and time.monotonic() < end and index.store.role == "follower":
                await asyncio.sleep(0.1)
                await self._run(lambda _: index.follow())
            return
        job = self._indexing.queue.running or self._indexing.queue.request(full=True)
        if not job.work.full:
            job = self._indexing.queue.request(full=True)
        waiting: set[asyncio.Future[Any]] = {job.done}
        begun = time.monotonic()
        if about and seconds:
            waiting.add(index.questions.add(about))
            await asyncio.wait({job.done}, timeout=min(_WHOLE_SECONDS, seconds))
        left = max(0.0, seconds - (time.monotonic() - begun))
        await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
