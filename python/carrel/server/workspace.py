"""One workspace folder: its index, its queue of index jobs, its open buffers, its state.

Everything here runs on the event loop; native work goes to `Jobs`. The index is opened when something needs it, stays
current while it is open (saves, changes on disk, unsaved buffers, another process's commits), and is never waited for
by a chat turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from carrel.core.errors import Cancelled, CarrelError, NotReady, NotWriter, SettingsError, StoreError
from carrel.server.buffers import Buffers
from carrel.server.jobs import IndexQueue, Job, Jobs
from carrel.server.later import Later
from carrel.server.looks import Looks
from carrel.server.status import Progress, State, Status

if TYPE_CHECKING:
    from carrel.core.native import CancelToken
    from carrel.core.ports import Tokenizer
    from carrel.engine.indexer import IndexReport
    from carrel.server.settings import Settings
    from carrel.server.wiring import OpenIndex, Wiring

log = logging.getLogger(__name__)
T = TypeVar("T")

FOLLOW_SECONDS = 1.0
NO_INDEX = "This folder has no index yet"
MAKE_INDEX = "`carrel index`, or indexing it in the editor, makes it."
_MOMENT_SECONDS = 0.25
_STATE_SECONDS = 5.0
_SMALL_JOB = 20  # paths; a job of fewer isn't worth a change of state


class Workspace:
    """A folder that answers questions."""

    def __init__(self, root: Path, uri: str, *, settings: Settings, wiring: Wiring, jobs: Jobs) -> None:
        self.root = root
        self.root_key = str(root)
        self.uri = uri
        self.settings = settings
        self.problems: tuple[str, ...] = ()
        self.blocked: SettingsError | None = None  # while it stands, nothing is read
        self.recheck: Callable[[Workspace], None] = lambda _: None  # takes over what was changed in a settings file
        self.changing: asyncio.Task[None] | None = None  # acts on settings that were changed
        self.index: OpenIndex | None = None
        self.error: str | None = None
        self.watched = False  # somebody tells us of changes on disk
        self.on_change: Callable[[Workspace], None] = lambda _: None
        self.on_fault: Callable[[str], None] = lambda _: None  # gets what a person must act on, again and again while it stands
        self.on_progress: Callable[[Workspace, Job[CancelToken, IndexReport], Progress], None] = lambda *_: None
        self._wiring = wiring
        self._jobs = jobs
        self._opening: asyncio.Task[OpenIndex] | None = None
        self._follower: asyncio.Task[None] | None = None
        self._progress = Progress(0, 0)
        self._state_later = Later(_STATE_SECONDS, self._write_state)
        self._closed = False
        self.queue: IndexQueue[CancelToken, IndexReport] = IndexQueue(wiring.new_token, self._run, settings.save_delay_ms / 1000)
        self.looks = Looks(self.queue, self.rescan)
        self.buffers = Buffers(root, self._ask_quietly, delay=settings.buffer_delay_ms / 1000, unsettled=self._unsettled)

    # --- questions

    async def ask(self, work: Callable[[CancelToken], T]) -> T:
        """Run native work for a question on the interactive pool, cancelled with this coroutine."""
        return await self._jobs.ask(work, self._wiring.new_token())

    def tokenizer(self, model: str | None) -> Tokenizer:
        """How tokens are counted for a chat model."""
        return self._wiring.tokenizer(self.settings, model)

    async def settle(self) -> None:
        """Have the settings of this moment in force: what they leave out since now must not answer any more."""
        self.recheck(self)
        while self.changing and not self.changing.done():
            await asyncio.shield(self.changing)

    async def ready(self, *, explicit: bool, wait_ms: int) -> OpenIndex:
        """Give the index with every buffer in it. Only an explicit question waits: for a first index, which it starts, and for
        a moment for what was just saved, or changed where nobody tells us of changes."""
        await self.settle()
        index = await (self.open() if explicit else self._open_existing())
        if index.store.lost:
            index = await self._renew(index)
        if explicit and not index.complete:
            await self._first_index(index, wait_ms / 1000)
        else:
            at_once = explicit and not self.watched
            if index.begun and index.store.role == "writer" and self.looks.due(watched=self.watched, waits=at_once):
                if at_once:
                    self.looks.now()
                else:
                    self.looks.soon()
            if explicit and (latest := self.queue.saves or self.looks.latest) and not latest.done.done():
                await asyncio.wait({latest.done}, timeout=min(_MOMENT_SECONDS, wait_ms / 1000))
        await self.buffers.flush()
        while self.changing and not self.changing.done():  # while this waited: the index it began with is closed
            await asyncio.shield(self.changing)
            await self.buffers.flush()
        return self.index or index

    async def open(self) -> OpenIndex:
        """Open the index, once; raises `CarrelError` when it can't be or mustn't be."""
        if self.blocked:
            self.recheck(self)
        if self.blocked:
            raise self.blocked.with_traceback(None)
        if self.index:
            return self.index
        if self._closed:
            raise NotReady("The workspace was closed.")
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_task(self._open())
            self._opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # who asked may have left
        return await asyncio.shield(self._opening)

    async def _open_existing(self) -> OpenIndex:
        """Open what somebody made; raises `NotReady`. Who only looks mustn't hold an empty index: nobody could fill it."""
        if not self.has_index:
            raise NotReady(NO_INDEX, MAKE_INDEX)
        return await self.open()

    async def _open(self) -> OpenIndex:
        try:
            index = await self.ask(lambda _: self._wiring.open_index(self.root, self.settings))
        except CarrelError as error:
            self._failed(error)
            self.on_change(self)
            raise
        if self._closed:
            index.store.close()
            raise NotReady("The workspace was closed.")
        self.index, self.error = index, None
        if index.not_kept:
            self.on_fault(index.not_kept)
        self.buffers.attach(index)
        if index.store.role == "follower":
            self._follow()
        self.on_change(self)
        return index

    async def _renew(self, lost: OpenIndex) -> OpenIndex:
        """Open a new index in place of one that was deleted, and have it filled; raises `CarrelError`."""
        async with self.queue.alone():
            if self.index is lost:
                await self._reopen(renew=True)
        index = await self.open()
        if index.store.role == "writer":
            self.queue.request(full=True)
        return index

    async def _first_index(self, index: OpenIndex, seconds: float) -> None:
        if index.store.role == "follower":
            end = time.monotonic() + seconds
            while not index.complete and time.monotonic() < end and index.store.role == "follower":
                await asyncio.sleep(0.1)
                await self.ask(lambda _: index.follow())
            return
        job = self.queue.running or self.queue.request(full=True)
        if not job.work.full:
            job = self.queue.request(full=True)
        await asyncio.wait({job.done}, timeout=seconds)

    # --- indexing

    async def start(self) -> None:
        """What opening a folder does by itself: index it when asked to, else keep an existing index current when chats use it."""
        settings = self.settings
        if not (settings.rag_auto_index or settings.rag_enabled):
            return
        warming = asyncio.create_task(self.ask(lambda _: self._wiring.warm_up(settings)))
        warming.add_done_callback(lambda done: done.cancelled() or done.exception())
        with contextlib.suppress(CarrelError):
            index = await (self.open() if settings.rag_auto_index else self._open_existing())
            if index.store.role == "writer":
                if index.begun:
                    self.looks.soon()
                elif settings.rag_auto_index:
                    self.queue.request(full=True)

    def request_index(self, *, force: bool = False) -> Job[CancelToken, IndexReport]:
        """Have the whole workspace brought up to date."""
        return self.queue.request(full=True, force=force)

    def files_changed(self, paths: Iterable[str]) -> None:
        """Files were saved, created, deleted or renamed: look at these. An index that was never made stays unmade."""
        if self._is_kept_current:
            self.queue.request(paths=paths)

    def rescan(self) -> None:
        """So much changed, or the rules of what counts did, that everything must be looked at."""
        if self._is_kept_current:
            self.queue.request(full=True)

    @property
    def _is_kept_current(self) -> bool:
        index = self.index
        return index is not None and index.store.role == "writer" and (index.begun or self.queue.busy)

    def _unsettled(self, path: str) -> bool:
        return self.queue.concerns(path)

    async def _run(self, job: Job[CancelToken, IndexReport]) -> IndexReport:
        index = await self.open()
        loop = asyncio.get_running_loop()
        self._progress = Progress(0, 0)
        self.on_change(self)
        last = 0.0

        def progress(done: int, total: int, at: str) -> None:  # on the index thread
            nonlocal last
            now = time.monotonic()
            if now - last >= 0.1 or done == total:
                last = now
                with contextlib.suppress(RuntimeError):  # the loop has closed
                    loop.call_soon_threadsafe(self._progressed, job, Progress(done, total, at))

        try:
            if index.store.lost:
                index = await self._replace(job)
            try:
                report = await self._jobs.index(lambda token: self._index(index, job, token, progress), job.token)
            except StoreError:
                if not index.store.lost:
                    raise
                index = await self._replace(job)  # deleted while it was written
                report = await self._jobs.index(lambda token: self._index(index, job, token, progress), job.token)
            self.error = None
        except Cancelled:
            raise
        except CarrelError as error:
            self._failed(error)
            raise
        finally:
            if job.work.full:
                self.looks.ended()
            self._progress = Progress(0, 0)
            loop.call_soon(self.on_change, self)
        if index.in_project is not None and not job.work.full:
            self._state_later.put_off()
        await self.buffers.settle(set(self.buffers.overlaid) if job.work.full else job.work.paths)
        return report

    async def _replace(self, job: Job[CancelToken, IndexReport]) -> OpenIndex:
        """Within a job: open a new index in place of one that was deleted, and have the job fill it."""
        await self._reopen(renew=True)
        job.work.full = True
        return await self.open()

    def _write_state(self) -> None:
        if index := self.index:
            writing = asyncio.ensure_future(self.ask(lambda _: self._wiring.write_state(index)))
            writing.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _index(
        self,
        index: OpenIndex,
        job: Job[CancelToken, IndexReport],
        token: CancelToken,
        progress: Callable[[int, int, str], None],
    ) -> IndexReport:
        """Runs on the index thread."""
        return self._wiring.run_index(index, job.work, token, self.looks.timed(progress) if job.work.full else progress)

    def _progressed(self, job: Job[CancelToken, IndexReport], progress: Progress) -> None:
        self._progress = progress
        self.on_progress(self, job, progress)
        self.on_change(self)

    async def _ask_quietly(self, work: Callable[[CancelToken], None]) -> None:
        await self.ask(work)

    # --- several processes

    def _follow(self) -> None:
        self._follower = asyncio.get_running_loop().create_task(self._follow_writer())

    async def _follow_writer(self) -> None:
        """Load what the writer commits, and become the writer when it is gone. One stat and one lock attempt a second."""
        while self.index and self.index.store.role == "follower":
            await asyncio.sleep(FOLLOW_SECONDS)
            index = self.index
            if index is None:
                return
            try:
                if await self.ask(partial(_follow_once, index)):
                    self.on_change(self)
                elif await self.ask(partial(_lead, index)):
                    log.info("Took over writing the index of a workspace")
                    if index.begun or self.settings.rag_auto_index:
                        self.queue.request(full=True)
                    self.on_change(self)
            except CarrelError as error:
                self._failed(error)
                self.on_change(self)

    # --- state

    def _failed(self, error: CarrelError) -> None:
        self.error = str(error)
        if isinstance(error, StoreError) and not isinstance(error, NotWriter):
            self.on_fault(self.error)

    def state(self) -> State:
        """The state in one word."""
        job = self.queue.running
        if job and (job.work.full or len(job.work.paths) > _SMALL_JOB):
            return "indexing"
        if self.blocked or self.error:
            return "error"
        return "ready" if self.index and self.index.begun else "empty"

    @property
    def has_index(self) -> bool:
        """True when an index is open, or was made before."""
        return self.index is not None or self._wiring.index_exists(self.root, self.settings)

    @property
    def pending(self) -> int:
        """Files that wait for indexing."""
        return max(self._progress.total - self._progress.done, 0) or self.queue.pending_paths

    def brief(self) -> Status:
        """The status without anything that costs more than a field."""
        return self._status((), None)

    async def status(self, *, most_skipped: int = 1_000) -> Status:
        """The whole status, with so many of the skipped files; opens an index that exists on disk, makes none."""
        self.recheck(self)
        if self.index is None and not self.blocked and self.has_index:
            with contextlib.suppress(CarrelError):
                await self.open()
        index = self.index
        if index is None:
            return self._status((), None)
        skipped = await self.ask(lambda _: tuple(index.store.skipped(most_skipped)))
        head = await self.ask(lambda _: self._wiring.head_sha(self.root))
        return self._status(skipped, head)

    def _status(self, skipped: tuple[tuple[str, str], ...], head: str | None) -> Status:
        root, problems, index = str(self.root), self.problems, self.index
        error = str(self.blocked) if self.blocked else self.error
        if index is None:
            return Status(root, self.state(), problems=problems, error=error, pending=self.pending)
        told = Status.of(index, root, self.state(), pending=self.pending, skipped=skipped, head_sha=head)
        return replace(told, problems=(*problems, *index.problems), error=error)

    # --- changes of settings, end

    async def reconfigure(self, old: Settings) -> None:
        """Act on settings that were `old` before: open the index anew where they change what it holds or where it lives."""
        settings = self.settings
        self.queue.delay = settings.save_delay_ms / 1000
        self.buffers.rest.seconds = settings.buffer_delay_ms / 1000
        if self.index and self._wiring.needs_reopening(old, settings):
            async with self.queue.alone():
                await self._reopen()
            if self.index and self.index.store.role == "writer" and self.index.begun:
                self.queue.request(full=True)
        await self.start()

    async def clear(self) -> int:
        """Delete the index; gives the bytes that were freed. Raises `StoreError` where it can't be."""
        if not self.has_index:
            return 0
        index = await self.open()
        if index.not_kept and (kept := self._wiring.index_folder(self.root, self.settings)).is_dir():
            raise StoreError(f"{kept} can't be written, so the index in it was not deleted", "Make the folder writable.")
        async with self.queue.alone():
            freed = index.store.bytes_on_disk
            await self.ask(lambda _: index.clear())
        self.error = None
        self.buffers.attach(index)
        self.on_change(self)
        return max(freed - index.store.bytes_on_disk, 0)

    async def _reopen(self, *, renew: bool = False) -> None:
        """Close the index and open it again, if it can be. `renew` says that it was deleted."""
        index, self.index = self.index, None
        self.buffers.attach(None)
        if index:
            with contextlib.suppress(CarrelError):
                await self.ask(lambda _: index.store.close())
        if renew:
            log.warning("An index was deleted while it was in use: it is built anew")
        with contextlib.suppress(CarrelError):
            (await self.open()).renewed = renew

    async def close(self) -> None:
        """Stop everything and release the index, so that another process may write it."""
        self._closed = True
        self.looks.stop()
        unwritten = self._state_later.cancel()
        if self._follower:
            self._follower.cancel()
        await self.queue.close()
        await self.buffers.close()
        index, self.index = self.index, None
        if index:
            run = asyncio.get_running_loop().run_in_executor
            with contextlib.suppress(CarrelError, RuntimeError):
                if unwritten:
                    await run(None, self._wiring.write_state, index)
                await run(None, index.store.close)


def _follow_once(index: OpenIndex, _: CancelToken) -> bool:
    return index.follow()


def _lead(index: OpenIndex, _: CancelToken) -> bool:
    return index.store.try_lead()
