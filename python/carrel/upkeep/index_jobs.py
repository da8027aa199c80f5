"""Run index jobs: one whole job for whoever holds an index, and the queue of them of one workspace."""

# ruff: noqa: PLC0415 - search is imported by the first job, so that the server starts at once
from __future__ import annotations

import asyncio
import contextlib
import logging
import stat
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct

from carrel.index.open_index import STATE_FILE, export
from carrel.index.workspace_state import Progress, StateCell
from carrel.model.errors import Cancelled, CarrelError, StoreError
from carrel.model.outbound import collect
from carrel.system.background import Debouncer, directly, run_at_once
from carrel.system.jobs import IndexQueue, Job, Jobs, Work
from carrel.upkeep.folder_watch import RescanScheduler

if TYPE_CHECKING:
    from carrel.composition.stores import VectorReplica
    from carrel.index.indexer import IndexReport, RunNative
    from carrel.index.open_index import OpenIndex
    from carrel.model.local_index import Progress as TellProgress
    from carrel.model.native import CancelToken
    from carrel.upkeep.buffers import Buffers
    from carrel.upkeep.lifecycle import RunInteractive

log = logging.getLogger(__name__)
T = TypeVar("T")

_SAVE_SECONDS = 0.002
"""For so long saves and changes on disk are gathered before they are indexed together."""
_STATE_SECONDS = 5.0
_PROGRESS_SECONDS = 0.1
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".carrelignore"})
_NOISE = frozenset({".git", ".carrel"})
_MANY = 500
"""So many changed paths at once are looked at by a scan: a branch switch, an installation."""


class IndexRunner:
    """Does index jobs, the same for the server, the command line and the library; tests hand in their own."""

    async def run(
        self, index: OpenIndex, work: Work, token: CancelToken, progress: TellProgress, native: RunNative
    ) -> IndexReport:
        """Do one job, its native work by `native`. Raises `Cancelled` with what was finished kept.

        Raises `StoreError` where the folder isn't there, or was taken away meanwhile: an unplugged disk must neither empty
        its index nor count as indexed.
        """
        from carrel.model.local_index import is_of_core

        if is_of_core(index.embedder):  # it never waits: one visit to the thread
            return await native(lambda: run_at_once(_run(index, work, token, progress, directly)))
        return await _run(index, work, token, progress, native)

    def run_blocking(self, index: OpenIndex, work: Work, token: CancelToken, progress: TellProgress) -> IndexReport:
        """Do one job from a thread, whether or not it has an event loop."""
        from carrel.index.indexer import native_steps
        from carrel.model_calls.embedding import run_with

        native = native_steps(index.embedder, token)
        return run_with(index.embedder, self.run(index, work, token, progress, native), token)


async def _run(index: OpenIndex, work: Work, token: CancelToken, progress: TellProgress, native: RunNative) -> IndexReport:
    from carrel.index.indexer import IndexReport, run_index
    from carrel.model.native import give_back_memory

    may_begin, commit = await native(partial(_begins, index, work))
    if not may_begin:
        return IndexReport()  # cleared since these files were saved: an index that was not made stays unmade

    def counting(done: int, total: int, at: str) -> None:
        if work.full:  # at every batch: a run that is killed can't say what it left
            with contextlib.suppress(CarrelError):
                index.note_unfinished(total - done)
        progress(done, total, at)

    scope: Literal["all", "force"] | list[str] = "force" if work.force else "all" if work.full else sorted(work.paths)
    try:
        with collect() as index.traffic:
            report = await run_index(
                index.store,
                index.embedder,
                token,
                scope=scope,
                progress=counting,
                count_on=bool(work.full and index.unfinished),
                native=native,
                tokenizer=index.counter,
                questions=index.questions if work.full else None,
            )
    except CarrelError as error:
        # The error may be kept for long, and its frames hold the texts and vectors of a batch.
        traceback.clear_frames(error.__traceback__)
        check_root(index.root)  # a folder that was taken away is why it failed, whatever it failed at
        raise
    finally:
        index.traffic = None
        if index.replica:
            try:
                await native(partial(_note_changes, index.replica))
            finally:
                index.replica.ended()
        if work.full:
            await native(give_back_memory)
    await native(partial(_ended, index, work, report, commit))
    return report


def _begins(index: OpenIndex, work: Work) -> tuple[bool, str | None]:
    """Tell whether there is something to do, and before a run over everything what is checked out."""
    from carrel.git import git

    check_root(index.root)
    may_begin = work.full or index.begun
    if may_begin and index.replica:
        index.replica.begin()  # before the first commit: a run that is killed is found by it
    return may_begin, git.head(index.root) if work.full else None


def _ended(index: OpenIndex, work: Work, report: IndexReport, commit: str | None) -> None:
    from carrel.model.local_index import is_of_core

    check_root(index.root)
    # A first index that lacks what a service failed to embed, or lacks most, isn't whole: another answers until it is.
    lacks = report.failed or (report.refused and index.lacks_most_vectors)
    if work.full and (index.complete or not lacks or is_of_core(index.embedder)):
        index.note_run(commit)
        write_state(index)


def _note_changes(replica: VectorReplica) -> None:
    """Have the store told what was committed; an outbox that can't be written costs the copy, not the run."""
    try:
        replica.note()
    except CarrelError as error:
        log.warning("The store of vectors isn't told of changes: %s", error)


def check_root(root: Path, *, indexed: Callable[[], bool] = lambda: True) -> None:
    """Raise `StoreError` where a folder isn't there: an unplugged disk must not empty its index.

    `indexed` tells whether there is an index of it.
    """
    try:
        is_folder = stat.S_ISDIR(root.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except OSError as error:
        raise StoreError(f"{root} can't be read ({error.strerror}); its index is kept", "Mend that, then index again.") from None
    if not is_folder and not indexed():
        raise StoreError(f"{root} is gone, or was never there, and has no index", "Bring the folder back, or close it.")
    if not is_folder:
        raise StoreError(f"{root} is gone; its index is kept", f"Bring the folder back, or delete the index: carrel clear {root}")


def write_state(index: OpenIndex) -> None:
    """Write what the index holds into the project, if it lives there."""
    if index.in_project is not None and index.begun:
        export(index.store, (index.home or index.directory) / STATE_FILE, index.last_commit)


def traffic_note(index: OpenIndex | None) -> str:
    """Say how many texts a run has sent, and what they cost so far; nothing where it has sent none."""
    sent = list(index.traffic.sent) if index is not None and index.traffic else []
    texts, dollars = sum(item.load.texts for item in sent), sum(item.load.dollars for item in sent)
    if not texts:
        return ""
    return f"{texts:,} texts embedded" + (f", about ${dollars:.2f}" if dollars else "")


def throttled(tell: Callable[[Progress], None], index: Callable[[], OpenIndex | None]) -> TellProgress:
    """Return what an index thread tells of its progress, which the event loop hears a few times a second at most."""
    loop = asyncio.get_running_loop()
    last = 0.0

    def progress(done: int, total: int, at: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_SECONDS or done == total:
            last = now
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(tell, Progress(done, total, at, traffic_note(index())))

    return progress


class IndexingEvents(Struct, frozen=True):
    """What the rest of the workspace does for a job, and when it goes on, changes or fails."""

    open: Callable[[], Awaitable[OpenIndex]]
    renew: Callable[[], Awaitable[None]]  # opens a new index in place of one that was deleted
    changed: Callable[[], None]
    progressed: Callable[[Job[CancelToken, IndexReport], Progress], None]
    failed: Callable[[CarrelError], None]


class IndexService:
    """The index jobs of one workspace. Runs on the event loop; native steps run on the index pool."""

    def __init__(
        self,
        state: StateCell,
        jobs: Jobs,
        runner: IndexRunner,
        new_token: Callable[[], CancelToken],
        run_interactive: RunInteractive,
        events: IndexingEvents,
    ) -> None:
        self._state = state
        self._jobs = jobs
        self._runner = runner
        self._run_interactive = run_interactive
        self._events = events
        self.queue: IndexQueue[CancelToken, IndexReport] = IndexQueue(new_token, self._run, _SAVE_SECONDS, self._rescan_dropped)
        self.rescans = RescanScheduler(self.queue, self.rescan)
        self._state_writing = Debouncer(_STATE_SECONDS, self._write_state)
        self.buffers: Buffers | None = None
        self._clearing = False

    @property
    def keeps_current(self) -> bool:
        """Tell whether changes on disk are indexed: by this process, where somebody wanted the index."""
        index = self._state.now.index
        if index is None or self._clearing or index.store.role != "writer":
            return False
        return index.begun or self.queue.busy

    @contextlib.asynccontextmanager
    async def clearing(self) -> AsyncIterator[None]:
        """Drop every job while the index is deleted; no change on disk and no rescan that was due fills it again."""
        self._clearing = True
        try:
            async with self.queue.alone():
                yield
        finally:
            self._clearing = False

    @property
    def pending(self) -> int:
        """Count the files that wait for indexing."""
        progress = self._state.now.progress
        return max(progress.total - progress.done, 0) or self.queue.pending_paths

    def changed_on_disk(self, paths: Iterable[str]) -> None:
        """Index files that were saved, created, deleted or renamed. An index that was never made stays unmade."""
        paths = [path for path in paths if not _NOISE.intersection(path.split("/"))]
        if len(paths) > _MANY or any(path.rpartition("/")[2] in _IGNORE_FILES for path in paths):
            self.rescan()
        elif paths and self.keeps_current:
            self.queue.request(paths=paths)

    def rescan(self) -> None:
        """Compare the whole folder with the index, if it is kept current."""
        if self.keeps_current:
            self.queue.request(full=True)

    def _rescan_dropped(self) -> None:
        self.rescans.failed()

    async def close(self) -> bool:
        """End every job; return whether the state in the project is still to be written."""
        self.rescans.stop()
        unwritten = self._state_writing.cancel()
        await self.queue.close()
        return unwritten

    async def _run(self, job: Job[CancelToken, IndexReport]) -> IndexReport:
        from carrel.model.local_index import is_of_core

        index = await self._events.open()
        self._state.replace(progress=Progress(0, 0))
        self._events.changed()
        try:
            if index.store.lost:
                index = await self._renew(job)
            try:
                report = await self._index(index, job)
            except StoreError:
                if not index.store.lost:
                    raise
                index = await self._renew(job)  # deleted while it was written
                report = await self._index(index, job)
            job.indexed = True
            self._state.replace(error=None)
            if report.failed and is_of_core(index.embedder):  # files that couldn't be read
                self.rescans.failed()
            elif job.work.full:
                self.rescans.succeeded()
        except Cancelled:
            raise
        except CarrelError as error:
            self.rescans.failed()
            self._events.failed(error)
            raise
        finally:
            if job.work.full:
                self.rescans.ended()
            self._state.replace(progress=Progress(0, 0))
            # Not before the queue has let go of the job: what is told last would be that it still runs.
            job.done.add_done_callback(lambda _: self._events.changed())
        if index.in_project is not None and not job.work.full:
            self._state_writing.restart()
        if self.buffers:
            await self.buffers.settle(set(self.buffers.overlaid) if job.work.full else job.work.paths)
        return report

    async def _renew(self, job: Job[CancelToken, IndexReport]) -> OpenIndex:
        """Open a new index in place of one that was deleted, and have the job fill it."""
        await self._events.renew()
        job.work.full = True
        return await self._events.open()

    async def _index(self, index: OpenIndex, job: Job[CancelToken, IndexReport]) -> IndexReport:
        progress = throttled(partial(self._progressed, job), lambda: self._state.now.index)
        if job.work.full:
            progress = self.rescans.timed(progress)

        async def native(work: Callable[[], T]) -> T:
            return await self._jobs.run_indexing(work, job.token)

        return await self._runner.run(index, job.work, job.token, progress, native)

    def _progressed(self, job: Job[CancelToken, IndexReport], progress: Progress) -> None:
        self._state.replace(progress=progress)
        self._events.progressed(job, progress)
        self._events.changed()

    def _write_state(self) -> None:
        if index := self._state.now.index:
            writing = asyncio.ensure_future(self._run_interactive(lambda _: write_state(index)))
            writing.add_done_callback(lambda done: done.cancelled() or done.exception())
