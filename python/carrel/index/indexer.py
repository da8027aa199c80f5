"""Changes in the workspace -> a new generation of the index, one transaction a batch."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from carrel.index.waiting_questions import WaitingQuestion, WaitingQuestions
from carrel.model.errors import NotWriter, ProviderError, StoreError, TextRefused
from carrel.model.local_index import CoreEmbedder, IndexStore, Progress, is_of_core
from carrel.model.native import Batch, CancelToken, Plan
from carrel.model.ports import Embedder, Tokenizer
from carrel.model.remote import RemoteEmbedder
from carrel.model.vectors import Vectors
from carrel.model_calls.embedding import Answered, EmbeddingRequest, batch_requests, embed_documents, give_vectors
from carrel.system.background import directly, run_blocking, run_to_end

log = logging.getLogger(__name__)
T = TypeVar("T")
Scope = Literal["all", "force"] | Sequence[str]

_BATCH_BYTES = 2_000_000
_FIRST_BATCH_BYTES = 250_000
"""Of files in the first batch; each next one may have twice as many, up to `_BATCH_BYTES`. Progress is told after each batch:
the first numbers come at once, and small files are many in a batch."""
_AWAITED_BYTES = 1_000_000
"""Of files in a batch whose model is awaited: what a cancel or a kill throws away was paid for."""
_MOST_FAILURES = 3
"""Batches in a row for which a model that is awaited gave nothing: it is down, or refuses everything."""
_WRITER_WAIT_S = 10.0
_WRITER_LOOK_S = 0.2
_READ_ONLY_REMEDY = "Free some disk space, make the folder writable, or set `cacheFolder` to one that is."
_WRITER_REMEDY = "Index there (an editor has a command for it), or close it and try again."


class RunNative(Protocol):
    """Runs work on a thread and gives its result; a cancel ends when the thread has left."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what `work` returns."""


class IndexReport(Struct, frozen=True):
    """What one run did, in files; `chunks` counts those that were embedded, `trivial` pieces that were too small for one.

    A file of which chunks lack their vector counts as failed, besides being added or changed; as refused where the model takes
    the other texts of the index, so that nothing can be done about it here.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    refused: int = 0
    chunks: int = 0
    trivial: int = 0
    elapsed_ms: float = 0.0


async def run_index(
    store: IndexStore,
    embedder: Embedder,
    cancel: CancelToken,
    *,
    scope: Scope = "all",
    progress: Progress = lambda *_: None,
    count_on: bool = False,
    native: RunNative,
    tokenizer: Tokenizer | None = None,
    questions: WaitingQuestions | None = None,
) -> IndexReport:
    """Bring the index up to date with the whole workspace, or with the paths in `scope`.

    `native` runs work on a thread. A model of the core embeds there, in one piece with all other work; any other is awaited
    between two steps, so that it holds no thread. `progress` is called on the thread; with `count_on` it counts what is in the
    index already, as a run does that goes on where another stopped. `tokenizer` counts where it has limits. Files that questions
    in `questions` are about are read before others.

    Raises `Cancelled` and `StoreError`; batches that were committed before stay. Chunks that a model which is awaited can't embed
    are found by words, their files counted as failed: the next run embeds these chunks alone. A text that it refuses is asked for
    again only by the scope "force", and where the model forgets what it refused.
    """
    run = _Run(store, cancel, progress, count_on=count_on, questions=questions)
    if is_of_core(embedder):
        return await native(partial(run.by_core, embedder, scope))
    spec = embedder.spec

    def cut() -> tuple[Batch, list[EmbeddingRequest]] | None:
        batch = run.cut(_AWAITED_BYTES)
        return None if batch is None else (batch, batch_requests(batch, spec, tokenizer))

    def begin() -> tuple[Batch, list[EmbeddingRequest]] | None:
        run.begin(scope, keep_moved=isinstance(embedder, RemoteEmbedder))
        return cut()

    def commit(batch: Batch, answered: list[Answered]) -> None:
        run.note_lacking(answered)
        run.commit(batch, refused=give_vectors(batch, answered, spec))

    def go_on(batch: Batch, answered: list[Answered]) -> tuple[Batch, list[EmbeddingRequest]] | None:
        commit(batch, answered)
        return cut()

    def give_up(batch: Batch, answered: list[Answered]) -> IndexReport:
        commit(batch, answered)
        run.give_up()
        return run.end()

    patient, failures = True, 0
    step = await native(begin)
    while step is not None:
        batch, texts = step
        answered = await embed_documents(embedder, texts, patient=patient, anew=scope == "force")
        if any(isinstance(answer, Vectors) for _, answer in answered):
            patient, failures = True, 0
        elif not all(isinstance(answer, TextRefused) for _, answer in answered):
            patient = False  # a model that is down would keep the run waiting before every batch
            failures += 1
        if failures == _MOST_FAILURES:
            return await native(partial(give_up, batch, answered))
        step = await native(partial(go_on, batch, answered))
    return await native(run.end)


def native_steps(embedder: Embedder, cancel: CancelToken) -> RunNative:
    """Return what runs native work under `run_with`: on the caller's own thread with a model of the core, else on another."""
    if is_of_core(embedder):
        return directly

    async def native(work: Callable[[], T]) -> T:
        return await run_to_end(None, work, cancel)

    return native


class _Run:
    """The native steps of one run, and what they counted. Called from one thread at a time."""

    def __init__(
        self, store: IndexStore, cancel: CancelToken, progress: Progress, *, count_on: bool, questions: WaitingQuestions | None
    ) -> None:
        self._store = store
        self._cancel = cancel
        self._progress = progress
        self._started = time.perf_counter()
        self._counts = dict.fromkeys(("added", "changed", "removed", "unchanged", "skipped", "failed", "chunks", "trivial"), 0)
        self._refused = 0
        self._lacking = {True: 0, False: 0}  # texts without a vector, by whether they were refused
        self._first_reasons: dict[bool, str] = {}
        self._count_on = count_on
        self._total = self._done = self._before = self._left = 0
        self._plan: Plan | None = None
        self._batch_bytes = _FIRST_BATCH_BYTES
        self._questions = questions or WaitingQuestions()
        self._foremost: list[tuple[Batch, WaitingQuestion]] = []  # batches that a question waits for, not committed yet

    def by_core(self, embedder: CoreEmbedder, scope: Scope) -> IndexReport:
        """Do everything with a model of the core."""
        self.begin(scope)
        while (batch := self.cut()) is not None:
            try:
                embedder.embed_batch(batch, self._cancel)
            except ProviderError as error:
                log.warning("A batch of %d files was not embedded and will be tried again: %s", batch.files, error)
                batch.fail(batch.paths(), str(error))
            self.commit(batch)
        return self.end()

    def begin(self, scope: Scope, *, keep_moved: bool = False) -> None:
        """Compare the workspace with the index. With `keep_moved` a file in another folder keeps its vectors."""
        self._plan = plan = _plan(self._store, scope, self._cancel)
        if keep_moved:
            plan.keep_moved()
        self._total = plan.pending
        self._before = plan.unchanged if self._count_on else 0
        self._tell(0)
        self._counts["unchanged"], self._counts["skipped"] = plan.unchanged, plan.skipped

    def cut(self, most_bytes: int = _BATCH_BYTES) -> Batch | None:
        """Read and cut the next files; None when all are done."""
        if self._plan is None:
            return None
        if question := self._questions.take():  # a batch each: the next one's files would come before this one's
            self._store.bring_forward(self._plan, question.words, self._cancel)
            self._batch_bytes = _BATCH_BYTES
        max_bytes = min(self._batch_bytes, most_bytes)
        self._batch_bytes *= 2
        batch = self._store.cut(self._plan, self._cancel, max_bytes)
        if batch and question:
            self._foremost.append((batch, question))
        return batch

    def commit(self, batch: Batch, *, refused: int = 0) -> None:
        """Put a batch that has its vectors into the index, of which so many files lack some that the model refused."""
        paths = batch.paths()
        commit = self._store.commit(batch, self._cancel)
        for name in self._counts:
            self._counts[name] += getattr(commit, name)
        self._counts["failed"] -= refused
        self._refused += refused
        self._done += len(paths)
        self._tell(min(self._done, self._total), paths[-1] if paths else "")
        for foremost, question in self._foremost:
            if foremost is batch:
                question.answerable()
        self._foremost = [entry for entry in self._foremost if entry[0] is not batch]

    def note_lacking(self, answered: Sequence[Answered]) -> None:
        """Count the texts that got no vector, for the log."""
        for part, answer in answered:
            if isinstance(answer, ProviderError):
                refused = isinstance(answer, TextRefused)
                self._lacking[refused] += len(part.texts)
                self._first_reasons.setdefault(refused, str(answer))

    def _log_lacking(self) -> None:
        for refused, what in (
            (False, "not embedded, and will be tried again"),
            (True, "refused: `carrel status` names their files"),
        ):
            if texts := self._lacking[refused]:
                reason = self._first_reasons[refused]
                log.warning("%d text%s %s. First reason: %s", texts, " was" if texts == 1 else "s were", what, reason)

    def give_up(self) -> None:
        """Leave all files that are not done as they were, counted as failed."""
        pending = self._plan.pending if self._plan else 0
        log.warning(
            "The embedding model failed %d times in a row: %d more files are left for the next run", _MOST_FAILURES, pending
        )
        self._counts["failed"] += pending
        self._left = pending

    def _tell(self, done: int, at: str = "") -> None:
        self._progress(self._before + done, self._before + self._total, at)

    def end(self) -> IndexReport:
        """Merge segments, and sum up."""
        self._log_lacking()
        if self._total:
            self._store.compact(self._cancel)
        self._tell(self._total - self._left)
        elapsed_ms = round(1000 * (time.perf_counter() - self._started), 3)
        return IndexReport(**self._counts, refused=self._refused, elapsed_ms=elapsed_ms)


async def follow_index(store: IndexStore, cancel: CancelToken, *, force: bool, native: RunNative) -> IndexReport:
    """Wait until the index is current that another process writes: the twin of `run_index` there.

    `native` runs work on a thread; none is held while the other process works. Counts what a comparison with the workspace found.
    Raises `NotWriter` if the writer hasn't taken everything up in time, or at once where the index shall be built anew by
    `force`; `StoreError` where nobody can write it.
    """
    if force and store.read_only:
        raise StoreError(f"{store.directory} can't be written, so the index can't be built anew", _READ_ONLY_REMEDY)
    if force:
        raise NotWriter("Another Carrel process writes this index, so it can't be built anew here", _WRITER_REMEDY)

    def look() -> tuple[Plan, int]:
        store.follow()
        plan = store.scan(cancel)
        return plan, len(store.changed(plan, cancel))

    started = time.perf_counter()
    while True:
        plan, behind = await native(look)
        elapsed = time.perf_counter() - started
        if not behind:
            # What looked changed was as it is in the index, what looked new is no text.
            unchanged, skipped = plan.unchanged + plan.changed, plan.skipped + plan.added
            return IndexReport(unchanged=unchanged, skipped=skipped, elapsed_ms=round(1000 * elapsed, 3))
        waiting = "1 changed file waits" if behind == 1 else f"{behind} changed files wait"
        if store.read_only:
            raise StoreError(f"{store.directory} can't be written, and {waiting} for being indexed", _READ_ONLY_REMEDY)
        if elapsed > _WRITER_WAIT_S:
            raise NotWriter(f"Another Carrel process writes this index, and {waiting} for it", _WRITER_REMEDY)
        await asyncio.sleep(_WRITER_LOOK_S)


def follow_index_blocking(store: IndexStore, cancel: CancelToken, *, force: bool) -> IndexReport:
    """Do `follow_index` from a thread, whether or not it has an event loop."""

    async def native(work: Callable[[], T]) -> T:
        return await run_to_end(None, work, cancel)

    return run_blocking(follow_index(store, cancel, force=force, native=native), cancel)


def _plan(store: IndexStore, scope: Scope, cancel: CancelToken) -> Plan:
    if scope == "all":
        return store.scan(cancel)
    if scope == "force":
        return store.force(cancel)
    return store.check(list(scope), cancel)
