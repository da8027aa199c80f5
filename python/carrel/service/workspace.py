"""One workspace folder: its settings, its open buffers, and its index as questions see it.

Everything here runs on the event loop; native work goes to `Jobs`. `lifecycle` opens and follows the index, `indexing` keeps it
current, `answering_index` waits for both on behalf of a question. A chat turn never waits for either.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from carrel.index.status import Status, read_details
from carrel.index.workspace_state import FolderSettings, Progress, State, StateCell, WorkspaceState
from carrel.model.errors import CarrelError, NewerFormat, StoreError
from carrel.policy import permissions
from carrel.service.answering_index import AnsweringIndex
from carrel.service.context_request import RecentContexts
from carrel.settings.allow_settings import Right
from carrel.settings.settings_files import WORKSPACE_FILE
from carrel.system.jobs import IndexQueue, Job, Jobs
from carrel.upkeep.buffers import Buffers
from carrel.upkeep.folder_watch import FolderWatch, WatchEvents
from carrel.upkeep.index_jobs import IndexingEvents, IndexRunner, IndexService, write_state
from carrel.upkeep.lifecycle import IndexLifecycle, LifecycleEvents
from carrel.upkeep.model_switch import ModelSwitch, SwitchEvents

if TYPE_CHECKING:
    from carrel.assist.assisted_retrieval import Assistants
    from carrel.composition.composition import Composition
    from carrel.index.indexer import IndexReport
    from carrel.index.open_index import OpenIndex
    from carrel.model.native import CancelToken
    from carrel.model.ports import ChatModel, Tokenizer
    from carrel.policy.audit import AuditTrail
    from carrel.settings.settings import Planning, Settings
    from carrel.sources.knowledge import KnowledgeBase, Source

log = logging.getLogger(__name__)
T = TypeVar("T")

_CLEAR_SECONDS = 20.0
_PATIENCE_SECONDS = 60.0
_SMALL_JOB = 20  # paths; a job of fewer isn't worth a change of state


class WorkspaceEvents(Struct, frozen=True):
    """Whom a workspace tells. `fault` gets what a person must act on, again and again while it stands."""

    changed: Callable[[Workspace], None] = lambda _: None
    progressed: Callable[[Workspace, Job[Any, Any], Progress], None] = lambda *_: None
    fault: Callable[[str], None] = lambda _: None


class Workspace:
    """A folder that answers questions."""

    def __init__(
        self,
        root: Path,
        uri: str,
        *,
        folder: FolderSettings,
        composition: Composition,
        jobs: Jobs,
        watched: bool = False,
        events: WorkspaceEvents = WorkspaceEvents(),
        recheck: Callable[[Workspace], None] = lambda _: None,
        recent: RecentContexts | None = None,
        runner: IndexRunner | None = None,
        knowledge: KnowledgeBase | None = None,
    ) -> None:
        """Take what it is built from. `recheck` takes over what was changed in a settings file; `recent` keeps its packs, and
        `knowledge` has the sources beside it.
        """
        self.root = root
        self.root_key = str(root)
        self.uri = uri
        self.recent = recent or RecentContexts()
        self.composition = composition
        self._jobs = jobs
        self._knowledge = knowledge
        self._events = events
        self._recheck = recheck
        self._changing: asyncio.Task[None] | None = None  # acts on settings that were changed
        progressed = partial(events.progressed, self)
        self._state = StateCell(WorkspaceState(folder, reported=watched))
        self._lifecycle = IndexLifecycle(
            root,
            self._state,
            composition,
            self.run_interactive,
            LifecycleEvents(self._attached, self._changed, self._took_over, events.fault),
        )
        runner, renew = runner or IndexRunner(), partial(self._lifecycle.reopen, renew=True)
        self.indexing = IndexService(
            self._state,
            jobs,
            runner,
            composition.new_token,
            self.run_interactive,
            IndexingEvents(self.open, renew, self._changed, progressed, self._lifecycle.failed),
        )
        self.buffers = Buffers(root, self.run_interactive, self.queue.concerns, self.indexing.changed_on_disk)
        self.indexing.buffers = self.buffers
        self.watch = FolderWatch(
            root,
            self._state,
            self.run_interactive,
            WatchEvents(self.indexing.rescans.run_soon, self.changed_on_disk, self.rescan, events.fault),
        )
        self.switch = ModelSwitch(
            root,
            self._state,
            jobs,
            composition,
            runner,
            SwitchEvents(progressed, self._switched, self._changed, events.fault),
        )
        self._answering = AnsweringIndex(
            root,
            self._state,
            self._lifecycle,
            self.indexing,
            self.watch,
            self.switch,
            self.run_interactive,
            self.open,
            self._changed,
        )

    # --- the state of this moment

    @property
    def audit(self) -> AuditTrail | None:
        """Return where it is recorded what was given to whom, if it is."""
        return self.composition.audit

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self._state.now.folder.settings

    @property
    def problems(self) -> tuple[str, ...]:
        """Name what can't be used of the settings."""
        return self._state.now.folder.problems

    @property
    def blocked(self) -> CarrelError | None:
        """Return why nothing may be read, if so."""
        return self._state.now.folder.blocked

    @property
    def watched(self) -> bool:
        """Tell whether every change on disk is told, by the editor or by a watch of ours, and what came before was looked at."""
        return self._answering.watched

    @property
    def index(self) -> OpenIndex | None:
        """Return the index, if it is open."""
        return self._state.now.index

    @property
    def error(self) -> str | None:
        """Return what went wrong with the index last, if nothing went well since."""
        return self._state.now.error

    @property
    def queue(self) -> IndexQueue[CancelToken, IndexReport]:
        """Return the queue of its index jobs."""
        return self.indexing.queue

    @property
    def has_index(self) -> bool:
        """Tell whether an index is open, or was made before."""
        return self._lifecycle.exists

    @property
    def pending(self) -> int:
        """Count the files that wait for indexing."""
        return self.indexing.pending

    def state(self) -> State:
        """Return the state in one word."""
        job, now = self.queue.running, self._state.now
        if job and (job.work.full or len(job.work.paths) > _SMALL_JOB):
            return "indexing"
        if now.folder.blocked or now.error:
            return "error"
        return "ready" if now.index and now.index.begun else "empty"

    def brief(self) -> Status:
        """Return the status without anything that costs more than a field."""
        return Status.of(self.root_key, self._state.now, self.state(), self.pending)

    async def status(self, *, most_files: int = 1_000) -> Status:
        """Return the whole status, with so many skipped and failed files; opens an index that exists on disk, makes none."""
        self._recheck(self)
        if self.index is None and not self.blocked and self.has_index:
            with contextlib.suppress(CarrelError):
                await self.open()
        index = self.index
        if index is None:
            return self.brief()
        details = await self.run_interactive(lambda _: read_details(index, self.root, most_files, switches=self.switch.enabled))
        return Status.of(self.root_key, self._state.now, self.state(), self.pending, details=details)

    # --- questions

    async def run_interactive(self, work: Callable[[CancelToken], T], token: CancelToken | None = None) -> T:
        """Run native work for a question on the interactive pool, cancelled with this coroutine, by `token` if given."""
        return await self._jobs.run_interactive(work, token or self.composition.new_token())

    def tokenizer(self, model: str | None) -> Tokenizer:
        """Return how tokens are counted for a chat model."""
        return self.composition.tokenizer(self.settings, model)

    def sources(self) -> list[Source]:
        """Return the sources beside it that are set."""
        return self._knowledge.sources(self.root) if self._knowledge else []

    def source_uri(self, path: str) -> str | None:
        """Return the URI of a path that a source beside it gave, None for any other."""
        return next(filter(None, (source.uri(path) for source in self.sources())), None) if "@" in path else None

    def assistants(
        self,
        *,
        plan: Planning | None = None,
        rerank: bool | None = None,
        chat: bool = False,
        lent: ChatModel | None = None,
    ) -> Assistants:
        """Return the models that help with a question, or with one to a `chat`; None for what the settings say.

        `lent` is a chat model at hand.
        """
        return self.composition.assistants(self.settings, plan=plan, rerank=rerank, chat=chat, lent=lent)

    def chat_model(self, name: str | None = None) -> ChatModel:
        """Return the chat model that is set, or its provider's model of this name. Raises `ProviderError` where none is set."""
        return self.composition.chat_model(self.settings, name)

    def permits(self, right: Right) -> bool:
        """Return whether whoever asks has a right."""
        return permissions.permits(right, self.settings.allow, self.audit)

    def require(self, right: Right) -> None:
        """Raise `NotPermitted` where whoever asks lacks a right."""
        permissions.require(right, self.settings.allow, self.audit)

    async def settle(self) -> None:
        """Have the settings of this moment in force: what they leave out since now must not answer any more."""
        self._recheck(self)
        await self._settings_taken()

    async def ready(self, *, explicit: bool, wait_ms: int, about: str = "") -> OpenIndex:
        """Return the index with every buffer in it; raises `CarrelError`, also where the folder isn't there.

        Only an explicit question waits: for a first index, which it starts, and for a moment for what was just saved, or
        changed where nobody tells us of changes. Of a large folder it waits for the files that it is `about`.
        """
        await self.settle()
        self.require("search")
        index = await self._answering.bring(explicit=explicit, wait_ms=wait_ms, about=about)
        await self.buffers.flush()
        while self._changing and not self._changing.done():  # while this waited: the index it began with is closed
            await self._settings_taken()
            await self.buffers.flush()
        return self.index or index

    async def open(self) -> OpenIndex:
        """Open the index, once; raises `CarrelError` when it can't be or mustn't be."""
        if self.blocked:
            self._recheck(self)
        if self.blocked:
            raise self.blocked.with_traceback(None)
        return await self._lifecycle.open()

    # --- indexing

    async def start(self) -> None:
        """Begin what opening a folder does by itself: index it when asked to, else keep its index current when chats use it."""
        self.switch.enabled = self.watch.enabled = True
        if (index := self.index) and index.replica:
            index.replica.start()
        await self._begin()

    async def _begin(self) -> None:
        settings = self.settings
        if not (settings.rag_auto_index or settings.rag_enabled):
            return
        warming = asyncio.create_task(self.run_interactive(lambda _: self.composition.warm_up(settings)))
        warming.add_done_callback(lambda done: done.cancelled() or done.exception())
        with contextlib.suppress(CarrelError):
            index = await (self.open() if settings.rag_auto_index else self._answering.open_existing())
            if index.store.role == "writer":
                if index.begun:
                    self.indexing.rescans.run_soon()
                elif settings.rag_auto_index:
                    self.queue.request(full=True)

    def request_index(self, *, force: bool = False) -> Job[CancelToken, IndexReport]:
        """Have the whole workspace brought up to date, and what kept another model from answering tried again."""
        self.switch.look(at_once=True)
        return self.queue.request(full=True, force=force)

    def retry(self) -> None:
        """Take up what lacked a permission or a key until now."""
        self.switch.retry()
        if self.index and self.index.replica:
            self.index.replica.retry()

    def changed_on_disk(self, paths: Iterable[str]) -> None:
        """Take what somebody tells of changes on disk: paths of files and folders, whoever changed them."""
        paths = tuple(paths)
        if WORKSPACE_FILE in paths:
            self._recheck(self)
        self.indexing.changed_on_disk(paths)

    def rescan(self) -> None:
        """Compare everything: so much changed, or the rules of what counts did."""
        self.indexing.rescan()

    def note_reports(self) -> None:
        """Note that the editor reports changes on disk from now on."""
        self._state.replace(reported=True)
        self.watch.update()

    # --- changes of settings, end

    def apply(self, folder: FolderSettings) -> None:
        """Put settings in force at once, since the next question may already count on them; act on them beside it."""
        before = self._state.now.folder
        self._state.replace(folder=folder)
        if folder.settings != before.settings or (before.blocked and not folder.blocked):
            self._changing = asyncio.get_running_loop().create_task(self._reconfigure(before.settings))
            self._changing.add_done_callback(lambda done: done.cancelled() or done.exception())
        else:
            self._changed()

    async def clear(self) -> int:
        """Delete the index; return the bytes that were freed. Raises `StoreError` where it can't be."""
        if not self.has_index:
            return 0
        try:
            index = await self.open()
        except NewerFormat:
            freed = await asyncio.to_thread(self.composition.discard_index, self.root, self.settings)
            self._state.replace(error=None)
            self._changed()
            return freed
        if index.not_kept and (kept := self.composition.index_folder(self.root, self.settings)).is_dir():
            raise StoreError(f"{kept} can't be written, so the index in it was not deleted", "Make the folder writable.")
        await self.switch.stop()
        self._lifecycle.close_retired()
        settings = self.settings
        async with self.indexing.clearing():
            freed = index.store.bytes_on_disk
            await self.run_interactive(lambda _: index.clear())
            await self.run_interactive(lambda _: self.composition.clear_others(self.root, settings, index))
        if index.replica:
            with contextlib.suppress(CarrelError, TimeoutError):  # a sweep deletes what stays there
                async with asyncio.timeout(_CLEAR_SECONDS):
                    await index.replica.clear()
        self._state.replace(error=None)
        self.buffers.attach(index)
        self._changed()
        return max(freed - index.store.bytes_on_disk, 0)

    async def close(self) -> None:
        """Stop everything and release the index, so that another process may write it."""
        if self._changing:
            self._changing.cancel()
        self.watch.enabled = False
        self.watch.stop()
        await self.switch.stop()
        index = self._lifecycle.close()
        unwritten = await self.indexing.close()
        await self.buffers.close()
        if index:
            run = asyncio.get_running_loop().run_in_executor
            with contextlib.suppress(CarrelError, RuntimeError):
                await index.close_replica()
                if unwritten:
                    await run(None, write_state, index)
                await run(None, index.store.close)
            await index.close_model()

    async def _settings_taken(self) -> None:
        while self._changing and not self._changing.done():
            await asyncio.wait({self._changing})

    async def _reconfigure(self, old: Settings) -> None:
        """Act on settings that were `old` before: open the index anew where they change what it holds or where it lives."""
        settings = self.settings
        if self.index and self.composition.needs_reopening(old, settings):
            await self.switch.stop()
            async with self.queue.alone():
                await self._lifecycle.reopen()
            if self.index and self.index.store.role == "writer" and self.index.begun:
                self.queue.request(full=True)
        await self._begin()
        self.switch.look()

    async def _switched(self, index: OpenIndex) -> None:
        """Answer by an index of another model, which is whole; what changed since is compared at once."""
        await self.queue.idle(_PATIENCE_SECONDS)  # a person may wait for the job
        async with self.queue.alone():
            self._lifecycle.install(index)
        log.info("The model %s answers from now on", index.embedder.spec.id)
        if index.store.role == "writer":
            self.queue.request(full=True)

    # --- what its parts tell

    def _attached(self, index: OpenIndex | None) -> None:
        self.buffers.attach(index)
        self._attach_replica()

    def _attach_replica(self) -> None:
        """Keep a copy of the vectors where the settings say so, or the index has become large."""
        index = self._state.now.index
        if index is None or index.replica is not None:
            return
        self.composition.attach_replica(index, self.settings)
        if index.replica is not None:
            index.replica.overlaid = lambda: self.buffers.overlaid
            index.replica.on_change = self._changed
            if self.switch.enabled:
                index.replica.start()

    def _took_over(self, index: OpenIndex) -> None:
        if index.replica:
            index.replica.retry()
        if index.begun or self.settings.rag_auto_index:
            self.queue.request(full=True)

    def _changed(self) -> None:
        self.switch.look()
        self.watch.update()
        self._attach_replica()
        self._events.changed(self)
