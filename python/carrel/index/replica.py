"""Keep a copy of an index's vectors in a store elsewhere: what the outbox names is published, the store's health is watched.

The index keeps its own vectors, from which the copy is made: nothing is embedded again for it, and they answer while the store
is gone, is being filled or lacks too much. Only the process that writes the index publishes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from carrel.index.outbox import Backlog, Comparison, Outbox
from carrel.model.errors import CarrelError, NotAllowed, StoreError, place_of
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.outbound import Destination
from carrel.model.ports import ChunkId, PublishedVectors, Scalar, VectorRecord, VectorStore

log = logging.getLogger(__name__)


ReplicaState = Literal["waiting", "opening", "filling", "ready", "unreachable"]
MOST_UNPUBLISHED = 100
"""Files that the store may lack and still be asked: these are compared by the index's own vectors."""
BATCH = 512
"""Chunks of one publication: what a kill makes the store be told again."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
PUBLISH_SECONDS = 120.0
"""How long one publication may take before the store counts as gone."""
OPEN_SECONDS = 60.0
SWEEP_SECONDS = 24 * 3600.0
"""Between two comparisons of all ids with the store's."""
Progress = Callable[[int, int], None]


class ReplicatedIndex(Protocol):
    """What a copy is made of. `carrel._core.Store` has this shape."""

    @property
    def role(self) -> Literal["writer", "follower"]:
        """Tell whether this process writes the index."""

    def snapshot(self) -> SnapshotView:
        """Return it as it stands."""
        ...

    def index_state(self) -> list[tuple[str, int, list[str]]]:
        """Return (path, modification time, chunk ids) of every file."""
        ...


ReadRecords = Callable[[ReplicatedIndex, Sequence[ChunkId], bool], list[VectorRecord]]
"""Reads chunks that can be read as the index stands, with their text if asked to. Called on a thread."""


class StorePlace(Struct, frozen=True):
    """Where a store is: its kind, its place in words for a person, and where that sends vectors, if anywhere."""

    kind: str
    name: str
    destination: Destination | None = None
    with_content: bool = False

    @property
    def leaves_machine(self) -> bool:
        """Tell whether vectors go to another machine."""
        return self.destination is not None and not self.destination.local

    def silent(self, what: str) -> StoreError:
        """Return the error that it kept someone waiting, with its remedy."""
        return StoreError(f"{self.title} {what}", self.remedy, retryable=True)

    @property
    def title(self) -> str:
        """Return its name as a sentence begins with it."""
        return f"The store of vectors, {self.name},"

    @property
    def remedy(self) -> str:
        """Say what a person can do where it doesn't answer."""
        return "Restart it, or check its URL." if self.destination else "Check its disk, or restart what uses it."


class OpenedStore(Protocol):
    """A store that is open, with whatever runs for it."""

    @property
    def vectors(self) -> VectorStore:
        """Return the store itself."""
        ...

    @property
    def alive(self) -> bool:
        """Tell whether what runs for it still does."""

    async def close(self) -> None:
        """Release all of it."""


class ReplicaStatus(Struct, frozen=True):
    """A copy at one moment. `backlog` counts chunks to add or delete, the oldest of which waits for `lag_seconds`."""

    kind: str
    place: str
    state: ReplicaState
    leaves_machine: bool
    held: int
    backlog: int
    lag_seconds: float
    problem: str = ""


class VectorReplica:
    """The copy of one index. Its coroutines run on one event loop; `begin`, `note` and `status` on any thread."""

    def __init__(
        self,
        place: StorePlace,
        index: ReplicatedIndex,
        outbox: Outbox,
        open_store: Callable[[], Awaitable[OpenedStore]],
        read: ReadRecords,
    ) -> None:
        """Take what opens the store, and what reads chunks of the index for it."""
        self.place = place
        self.overlaid: Callable[[], Iterable[str]] = tuple
        """Names the files whose unsaved text answers in place of what is published."""
        self.on_change: Callable[[], None] = lambda: None
        """Called on the loop when the state or the problem is another one."""
        self._index, self._outbox, self._open_store, self._read = index, outbox, open_store, read
        self._opened: OpenedStore | None = None
        self._state: ReplicaState = "waiting"
        self._problem = ""
        self._unpublished: list[str] | None = None  # None: too many, or unknown
        self._held, self._backlog = 0, Backlog()
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    # --- questions

    def usable(self) -> PublishedVectors | None:
        """Return the store where it answers and lacks little."""
        opened, lacking = self._opened, self._unpublished
        if opened is None or self._state != "ready" or lacking is None or self._outbox.changing:
            return None
        return PublishedVectors(opened.vectors, [*lacking, *self.overlaid()], self.place.title, self.place.remedy)

    def failed(self, error: CarrelError) -> None:
        """Note that the store didn't answer: it is looked for in the background, and left alone until it was opened anew."""
        if self._state != "unreachable":
            self._note_state("unreachable", str(error))
        self._news.set()

    # --- the index changes (on its writer's thread)

    def begin(self) -> None:
        """Note that a run begins that may change the index."""
        if self._index.role == "writer":
            self._outbox.begin()

    def note(self) -> None:
        """Take up what a run did to the index; it is published afterwards."""
        if self._index.role != "writer":
            return
        self._outbox.note(self._index.index_state())
        self.measure()
        if self._loop and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._news.set)

    def ended(self) -> None:
        """Note that no run changes the index any more, whether or not `note` was reached."""
        self._outbox.changing = False

    # --- keeping up

    def start(self) -> None:
        """Open the store and keep it current from now on, in the background of this event loop."""
        if self._task is None or self._task.done():
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._keep_up())

    def retry(self) -> None:
        """Look at once whether what was missing has come."""
        self._news.set()

    async def publish(self, progress: Progress = lambda *_: None, *, sweep: bool = False) -> None:
        """Open the store and publish all that waits. Raises `CarrelError`; what was published stays."""
        async with self._turn:
            if self._index.role != "writer":
                self._note_state("waiting")  # the process that writes the index publishes it, and asks the store
                return
            await self._open()
            if not self._outbox.changing and await asyncio.to_thread(lambda: self._outbox.dirty):
                await asyncio.to_thread(self.note)
            if sweep or await self._differs():
                await self._compare(mend=True)
            await self._publish(progress)
            self._note_state("ready")

    async def probe(self) -> None:
        """Open the store, to say in `status` whether it answers. Raises `CarrelError`. Publishes nothing."""
        async with self._turn:
            try:
                await self._open()
                async for _ in self._vectors.ids():
                    break
            except CarrelError as error:
                await self._fail(error, say=False)  # who asked says it
                raise
            finally:
                await asyncio.to_thread(self.measure)
            self._note_state("ready")

    async def verify(self, *, mend: bool) -> Comparison:
        """Compare the ids of the store with those of the index; `mend` has the difference published. Raises `CarrelError`."""
        async with self._turn:
            await self._open()
            comparison = await self._compare(mend=mend)
            if mend:
                await self._publish(lambda *_: None)
                self._note_state("ready")
            return comparison

    async def clear(self) -> None:
        """Delete from the store all that the index put there. Raises `CarrelError`."""
        async with self._turn:
            await self._open()
            kept = [chunk async for page in self._vectors.ids() for chunk in page]
            for at in range(0, len(kept), BATCH):
                await self._vectors.publish((), kept[at : at + BATCH])
            await asyncio.to_thread(self._outbox.forget)
            self._unpublished = None

    async def close(self) -> None:
        """Stop and release the store; what waits is published next time."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._release()
        await asyncio.to_thread(self._outbox.close)

    def measure(self) -> None:
        """Count what waits and what is there, for `status`. Runs on a thread."""
        self._held, self._backlog = self._outbox.held, self._outbox.backlog()

    def status(self) -> ReplicaStatus:
        """Describe the copy, by what was counted last."""
        lag = max(time.time() - self._backlog.since, 0.0) if self._backlog.entries else 0.0
        return ReplicaStatus(
            self.place.kind,
            self.place.name,
            self._state,
            self.place.leaves_machine,
            self._held,
            self._backlog.entries,
            round(lag, 1),
            self._problem,
        )

    async def catch_up(self, seconds: float) -> None:
        """Publish for so long at most, for a program that ends. Raises nothing but a cancel."""
        try:
            async with asyncio.timeout(seconds):
                await self.publish()
        except TimeoutError:
            log.info("%s isn't filled yet; what waits is published next time", self.place.name)
        except CarrelError as error:
            await self._fail(error)

    @property
    def problem(self) -> str | None:
        """Return why the store doesn't answer, in words for a person."""
        return f"{self._problem.rstrip('.')}. Meanwhile the index's own vectors answer." if self._problem else None

    # --- inside

    @property
    def _vectors(self) -> VectorStore:
        if self._opened is None:
            raise StoreError("The store of vectors is closed")
        return self._opened.vectors

    async def _keep_up(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            self._news.clear()
            try:
                await self.publish()
            except CarrelError as error:
                await self._fail(error)
            except Exception as error:  # a fault of ours or of a package: the index answers, and it is tried again
                log.error("Vectors were not published: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400
                await self._fail(StoreError(f"The store of vectors failed ({type(error).__name__})"))
            if self._state == "ready":
                pause = FIRST_PAUSE_SECONDS
                await self._news.wait()
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._news.wait()
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _fail(self, error: CarrelError, *, say: bool = True) -> None:
        self._note_state("waiting" if isinstance(error, NotAllowed) else "unreachable", str(error), say=say)
        await self._release()

    async def _open(self) -> None:
        if self._opened is not None and self._opened.alive and self._state != "unreachable":
            return
        await self._release()
        if not self._problem:
            self._note_state("opening")
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                self._opened = await self._open_store()
        except TimeoutError:
            raise self.place.silent(f"didn't open within {OPEN_SECONDS:g} s") from None
        self._note_state("opening", self._problem)
        log.info("The store of vectors at %s is open", self.place.name)

    async def _release(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(CarrelError):
                await opened.close()

    async def _differs(self) -> bool:
        """Tell whether all ids must be compared: once a day, and where the store holds another number than the outbox says."""
        if time.time() - self._outbox.swept_at > SWEEP_SECONDS:
            return True
        count = getattr(self._vectors, "count", None)
        if count is None:
            return False
        backlog = await asyncio.to_thread(self._outbox.backlog)
        return not backlog.entries and await count() != await asyncio.to_thread(lambda: self._outbox.held)

    async def _compare(self, *, mend: bool) -> Comparison:
        pages = [page async for page in self._vectors.ids()]
        return await asyncio.to_thread(self._outbox.compare, pages, mend=mend)

    async def _publish(self, progress: Progress) -> None:
        self._unpublished = await asyncio.to_thread(self._lacking)
        total = (await asyncio.to_thread(self._outbox.backlog)).entries
        if self._unpublished is None:
            self._note_state("filling")
        done, after = 0, 0
        progress(done, total)
        while entries := await asyncio.to_thread(self._outbox.take, BATCH, after):
            after = entries[-1].turn
            records = await asyncio.to_thread(
                self._read, self._index, [entry.id for entry in entries if entry.add], self.place.with_content
            )
            gone = [entry.id for entry in entries if not entry.add]
            try:
                async with asyncio.timeout(PUBLISH_SECONDS):
                    await self._vectors.publish(records, gone)
            except TimeoutError:
                raise self.place.silent(f"took no vectors within {PUBLISH_SECONDS:g} s") from None
            ids = {record.id for record in records}
            published = [entry for entry in entries if not entry.add or entry.id in ids]
            await asyncio.to_thread(self._outbox.done, published)
            await self._upkeep()
            done += len(entries)
            progress(min(done, total), total)
            self._unpublished = await asyncio.to_thread(self._lacking)

    async def _upkeep(self) -> None:
        """Have the store do what isn't part of publishing; what was published stays, also where that fails."""
        upkeep = getattr(self._vectors, "upkeep", None)
        if upkeep is None:
            return
        try:
            await upkeep()
        except CarrelError as error:
            log.warning("Vectors at %s were published, but not tidied: %s", self.place.name, error)

    def _lacking(self) -> list[str] | None:
        self.measure()
        paths = self._outbox.pending_paths(MOST_UNPUBLISHED + 1)
        return paths if len(paths) <= MOST_UNPUBLISHED else None

    def _note_state(self, state: ReplicaState, problem: str = "", *, say: bool = True) -> None:
        if self._state == "unreachable" and state in ("filling", "ready"):
            return  # a question had no answer while this was under way: only opening it anew ends that
        if (state, problem) != (self._state, self._problem):
            news = say and not self._problem
            self._state, self._problem = state, problem
            if news and problem:  # once, until it answers again
                log.warning("%s", self.problem)
            self.on_change()


def vector_records(view: SnapshotView, ids: Sequence[ChunkId], *, with_content: bool) -> list[VectorRecord]:
    """Return the chunks that are there with a vector, with their text as it stands now, secrets masked, where that is asked.

    Left out are those that are gone, that an unsaved buffer hides, or whose model gave no vector yet. Runs on a thread.
    """
    docs = [doc for doc in view.resolve(ids) if doc is not None]
    texts = [""] * len(docs)
    if with_content:
        texts = ["" if isinstance(chunk, str) else chunk.text for chunk in view.read_current(docs, CancelToken())]
    records = []
    for info, text in zip(view.describe(docs), texts, strict=True):
        vector = view.vector(info.doc)
        if not vector:
            continue
        payload: dict[str, Scalar] = {
            "path": info.path,
            "start_line": info.start_line,
            "end_line": info.end_line,
            "symbol": info.symbol,
            "language": info.language,
            "source": info.source,
            "kind": info.kind,
            "content_hash": info.content_hash,
        }
        records.append(VectorRecord(ChunkId(info.id), vector, payload | ({"content": text} if with_content else {})))
    return records
