"""Wait for an index on behalf of a tool call: with progress, with an end, and never longer than a client would."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from carrel.index.workspace_state import Progress
from carrel.model.wording import counted

if TYPE_CHECKING:
    from carrel.service.workspace import Workspace

Report = Callable[[float, float | None, str], Awaitable[None]]
"""(files done, files in all if known, a line for a person)."""

FIRST_INDEX_MS = 45_000
"""Clients give up after a minute. What is ready by then answers, and says that it isn't all."""
CATCH_UP_SECONDS = 1.5
"""A look for changes on disk seldom takes longer; the answer doesn't wait more for it."""
_TICK = 0.2


class IndexReadiness:
    """Brings indexes to where they can answer, and tells callers how far they are."""

    def __init__(self) -> None:
        self._latest: dict[Workspace, Progress] = {}

    async def ready(self, workspace: Workspace, name: str, report: Report, about: str = "") -> None:
        """Return when the index of the folder of this name can answer as well as it may be waited for. Raises `CarrelError`."""
        async with self._reporting(workspace, name, report):
            index = await workspace.ready(explicit=True, wait_ms=FIRST_INDEX_MS, about=about)
            if index.store.role == "follower":
                await workspace.run_interactive(lambda _: index.follow())
            end = time.monotonic() + CATCH_UP_SECONDS
            # The queue has no event to await: one job may follow another.
            while index.complete and workspace.queue.busy and time.monotonic() < end:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def progressed(self, workspace: Workspace, _job: object, progress: Progress) -> None:
        """Note how far a run is."""
        self._latest[workspace] = progress

    @contextlib.asynccontextmanager
    async def _reporting(self, workspace: Workspace, name: str, report: Report) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tell(workspace, name, report))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tell(self, workspace: Workspace, name: str, report: Report) -> None:
        """Report while an index run goes on. Numbers never go back: the protocol wants them to grow."""
        last_count = -1
        while True:
            await asyncio.sleep(_TICK)
            now = self._latest.get(workspace)
            if workspace.state() == "indexing" and now and now.total and now.done > last_count:
                last_count = now.done
                await report(now.done, now.total, f"Indexing {name}: {now.done} of {now.total} files")
            elif (index := workspace.index) and index.store.role == "follower" and not index.complete:
                files = index.store.snapshot().files
                if files > last_count:
                    last_count = files
                    await report(files, None, f"Another Carrel indexes {name}: {counted(files, 'file')} so far")
