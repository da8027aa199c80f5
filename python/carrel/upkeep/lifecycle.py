"""Open the index of one workspace, follow another process that writes it, and open it anew. Runs on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from carrel.index.workspace_state import StateCell
from carrel.model.errors import CarrelError, NotReady, NotWriter, StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from carrel.composition.composition import Composition
    from carrel.index.open_index import OpenIndex
    from carrel.model.native import CancelToken

log = logging.getLogger(__name__)
T = TypeVar("T")

FOLLOW_SECONDS = 1.0
RETIRE_SECONDS = 30.0
"""No question that began with an index takes longer."""
NO_INDEX = ("This folder has no index yet", "`carrel index`, or indexing it in the editor, makes it.")
"""Cause and remedy."""
_CLOSED = "The workspace was closed"


class RunInteractive(Protocol):
    """Runs native work for a question on a thread."""

    def __call__(self, work: Callable[[CancelToken], T], /) -> Awaitable[T]:
        """Return what `work` returns."""


class LifecycleEvents(Struct, frozen=True):
    """What the rest of the workspace does when an index comes, goes, changes or fails."""

    attached: Callable[[OpenIndex | None], None]
    changed: Callable[[], None]
    took_over: Callable[[OpenIndex], None]  # the right to write it
    fault: Callable[[str], None]


class IndexLifecycle:
    """The index of one workspace: opened once, when something needs it."""

    def __init__(
        self, root: Path, state: StateCell, composition: Composition, run: RunInteractive, events: LifecycleEvents
    ) -> None:
        self._root = root
        self._state = state
        self._composition = composition
        self._run = run
        self._events = events
        self._opening: asyncio.Task[OpenIndex] | None = None
        self._follower: asyncio.Task[None] | None = None
        self._retired: list[OpenIndex] = []
        self._releasing: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def exists(self) -> bool:
        """Tell whether an index is open, or was made before."""
        now = self._state.now
        return now.index is not None or self._composition.index_exists(self._root, now.folder.settings)

    async def open(self) -> OpenIndex:
        """Open the index, once; raises `CarrelError` when it can't be."""
        if index := self._state.now.index:
            return index
        if self._closed:
            raise NotReady(_CLOSED)
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(_retrieved)  # who asked may have left
        return await asyncio.shield(self._opening)

    def failed(self, error: CarrelError) -> None:
        """Note what went wrong with the index."""
        self._state.replace(error=str(error))
        if isinstance(error, StoreError) and not isinstance(error, NotWriter):
            self._events.fault(str(error))

    async def reopen(self, *, renew: bool = False) -> None:
        """Close the index and open it again, if it can be. `renew` says that it was deleted."""
        index = self._state.now.index
        self._state.replace(index=None)
        self._events.attached(None)
        if index:
            with contextlib.suppress(CarrelError):
                await index.close_replica()
                await self._run(lambda _: index.store.close())
                await index.close_model()
        if renew:
            log.warning("An index was deleted or damaged while it was in use: it is built anew")
        with contextlib.suppress(CarrelError):
            (await self.open()).renewed = renew

    def install(self, index: OpenIndex) -> None:
        """Put an index that is whole in the place of the one that answers.

        Questions that are under way end with the former, which is closed a while later.
        """
        if self._closed:
            index.store.close()
            return
        if before := self._state.now.index:
            self._retired.append(before)
            asyncio.get_running_loop().call_later(RETIRE_SECONDS, self._close_retired, before)
        self._answer_by(index)

    def close(self) -> OpenIndex | None:
        """Follow no more and open no more; return the index, which the caller closes."""
        self._closed = True
        if self._follower:
            self._follower.cancel()
        self.close_retired()
        index = self._state.now.index
        self._state.replace(index=None)
        return index

    async def _open(self) -> OpenIndex:
        settings = self._state.now.folder.settings
        try:
            index = await self._run(lambda _: self._composition.open_index(self._root, settings))
        except CarrelError as error:
            self.failed(error)
            self._events.changed()
            raise
        if self._closed:
            index.store.close()
            raise NotReady(_CLOSED)
        self._answer_by(index)
        return index

    def _answer_by(self, index: OpenIndex) -> None:
        self._state.replace(index=index, error=None)
        for fault in filter(None, (index.not_kept, index.unusable)):
            self._events.fault(fault)
        self._events.attached(index)
        if index.store.role == "follower" and (self._follower is None or self._follower.done()):
            self._follower = asyncio.get_running_loop().create_task(self._follow())
        self._events.changed()

    def close_retired(self) -> None:
        """Close the indexes in whose place others were put, without waiting for questions."""
        for index in tuple(self._retired):
            self._close_retired(index)

    def _close_retired(self, index: OpenIndex) -> None:
        if index in self._retired:
            self._retired.remove(index)
            if index.replica:
                self._releasing = asyncio.ensure_future(index.close_replica())
            with contextlib.suppress(CarrelError):
                index.store.close()

    async def _follow(self) -> None:
        """Load what the writer commits, and become the writer when it is gone. One stat and one lock attempt a second."""
        while (index := self._state.now.index) and index.store.role == "follower":
            await asyncio.sleep(FOLLOW_SECONDS)
            if self._state.now.index is not index:
                continue
            try:
                if await self._run(partial(_load_news, index)):
                    self._events.changed()
                elif await self._run(partial(_try_lead, index)):
                    log.info("Took over writing the index of a workspace")
                    self._events.took_over(index)
                    self._events.changed()
            except CarrelError as error:
                self.failed(error)
                self._events.changed()


def _load_news(index: OpenIndex, _: CancelToken) -> bool:
    return index.follow()


def _try_lead(index: OpenIndex, _: CancelToken) -> bool:
    return index.store.try_become_writer()


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a task that nobody may await, so that it isn't reported as forgotten."""
    if not task.cancelled():
        task.exception()
