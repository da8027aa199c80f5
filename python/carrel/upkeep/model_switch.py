"""Have a workspace answer by the remote embedding model that is set, as soon as that model's index is whole.

Until then the bundled model answers and is kept current. The other index is filled beside it, resumes after a kill, and takes its
place at one moment. What a person has to allow, confirm or mend is told; it is looked at again when the workspace is used.
"""

# ruff: noqa: PLC0415 - search is imported by the first run
from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct

from carrel.index.workspace_state import Progress, StateCell
from carrel.model.errors import Cancelled, CarrelError, InvalidInput, ProviderError, TextRefused
from carrel.model.outbound import Destination
from carrel.model.remote import Confirmation, KeepsVectors, RemoteEmbedder
from carrel.model.wording import counted
from carrel.system.jobs import Job, Jobs, Work
from carrel.upkeep.index_jobs import IndexRunner, throttled, traffic_note

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.index.indexer import IndexReport, RunNative
    from carrel.index.open_index import OpenIndex
    from carrel.model.local_index import Progress as TellProgress
    from carrel.model.native import CancelToken
    from carrel.settings.settings import Settings

log = logging.getLogger(__name__)
T = TypeVar("T")

CONFIRM_DOLLARS = 0.05
"""A first index that is estimated to cost more needs a confirmation."""
MOST_ROUNDS = 5
"""Runs over the workspace at most, until one finds nothing that changed during the one before."""
FOLLOW_SECONDS = 1.0
READY_AGAIN_SECONDS = 2.0
"""Between two looks whether a permission or a key is there by now, which ask nobody."""
FIRST_PAUSE_SECONDS = 15.0
LONGEST_PAUSE_SECONDS = 900.0


class Estimate(Struct, frozen=True):
    """What a first index would send. `kept` counts the texts whose vectors are in the cache."""

    model: str
    destinations: tuple[Destination, ...]
    texts: int
    tokens: int
    kept: int
    dollars: float

    def __str__(self) -> str:
        cost = f", about ${self.dollars:.2f}" if self.dollars else ""
        kept = f"; {self.kept:,} more are in the cache" if self.kept else ""
        return f"{counted(self.texts, 'text')}, about {counted(self.tokens, 'token')}{cost}, to {self.destinations[0]}{kept}"


def estimate(index: OpenIndex, token: CancelToken) -> Estimate:
    """Count what filling this index would send, by cutting every file that it lacks. Sends nothing. Runs on a thread."""
    from carrel.model_calls.embedding import batch_requests

    model = index.embedder
    if not isinstance(model, RemoteEmbedder):
        raise InvalidInput("provider", "asks no service")
    texts = tokens = kept = 0
    plan = index.store.scan(token)
    while (batch := index.store.cut(plan, token)) is not None:
        for request in batch_requests(batch, model.spec, index.counter):
            missing = model.missing(request.texts) if isinstance(model, KeepsVectors) else request.texts
            sent = [text for text in missing if text.strip()]
            texts += len(sent)
            kept += len(request.texts) - len(sent)
            tokens += sum(index.counter.count(text) if index.counter else len(text) // 4 for text in sent)
    return Estimate(model.spec.id, model.destinations, texts, tokens, kept, tokens * model.spec.price / 1e6)


def confirmation(root: Path, cost: Estimate) -> Confirmation:
    """Return what a person is asked before this is sent. Its hash stays while the cost, in powers of two, and the places do."""
    most = 2.0 ** math.ceil(math.log2(cost.dollars))
    places = [str(destination) for destination in cost.destinations]
    named = "\0".join((str(root), cost.model, *places, f"{most:g}"))
    return Confirmation(
        "paidIndex",
        f"The index of {root.name} by {cost.model} costs about ${cost.dollars:.2f}",
        {
            "sends": str(cost),
            "to": ", ".join(places),
            "kept": "Vectors that were paid for: the same text is never paid for twice.",
        },
        hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
    )


class NotPrepared(ProviderError):
    """A permission or a key is missing: whether it still is can be looked at without asking anybody."""


async def fill(
    composition: Composition,
    root: Path,
    settings: Settings,
    token: CancelToken,
    native: RunNative,
    *,
    runner: IndexRunner,
    progress: Callable[[OpenIndex], TellProgress] = lambda _: lambda *_: None,
    tell: Callable[[Estimate], None] = lambda _: None,
    force: bool = False,
) -> OpenIndex:
    """Return the index of the remote model that is set, open and whole. Native work runs by `native`.

    With `force` all is cut anew, and texts that were refused are asked for again.

    Raises `ProviderError` where it can't be made whole, `NotPrepared` before anything was sent, `StoreError`, `Cancelled`.
    """
    model = composition.embedder(settings)
    if not isinstance(model, RemoteEmbedder):
        raise InvalidInput("provider", "asks no service")
    try:
        await model.check()
    except ProviderError as error:
        raise NotPrepared(error.reason or str(error), error.remedy) from error
    dim = composition.known_dim(root, settings, model) or await model.learn_dim()
    model = model.with_dim(dim)
    index = await native(partial(composition.open_model_index, root, settings, model))
    try:
        await _fill(composition, index, token, native, runner, progress(index), tell, force=force)
    except BaseException:
        index.store.close()
        await model.aclose()
        raise
    return index


def fill_blocking(
    composition: Composition,
    root: Path,
    settings: Settings,
    token: CancelToken,
    progress: TellProgress,
    note: Callable[[str], None],
    *,
    force: bool = False,
) -> None:
    """Do `fill` from a thread, and close the index; `note` is told what will be sent, and what was refused."""
    from carrel.system.background import run_blocking, run_to_end

    async def native(work: Callable[[], T]) -> T:
        return await run_to_end(None, work, token)

    def progress_of(index: OpenIndex) -> TellProgress:
        def tell(done: int, total: int, _: str) -> None:
            progress(done, total, traffic_note(index))

        return tell

    async def work() -> None:
        index = await fill(
            composition,
            root,
            settings,
            token,
            native,
            runner=IndexRunner(),
            progress=progress_of,
            tell=lambda cost: note(str(cost)),
            force=force,
        )
        if refused := index.refused_files:
            files = "1 file holds" if refused == 1 else f"{refused:,} files hold"
            note(f"{files} a text that {index.embedder.spec.id} refused: words find it, and `carrel status` says why.")
        index.store.close()
        await index.close_model()

    run_blocking(work(), token)


async def _fill(
    composition: Composition,
    index: OpenIndex,
    token: CancelToken,
    native: RunNative,
    runner: IndexRunner,
    progress: TellProgress,
    tell: Callable[[Estimate], None],
    *,
    force: bool,
) -> None:
    while index.store.role == "follower":
        if index.complete:
            return
        await asyncio.sleep(FOLLOW_SECONDS)  # another process fills it
        if not await native(index.follow):
            await native(index.store.try_become_writer)
    spec = index.embedder.spec
    if not index.complete and (spec.leaves_machine or spec.price):
        cost = await native(partial(estimate, index, token))
        log.info("A first index by %s: %s", spec.id, cost)
        tell(cost)
        if cost.dollars > CONFIRM_DOLLARS and not await composition.confirm(question := confirmation(index.root, cost)):
            raise ProviderError(f"{question.risk}; it was not confirmed, so it was not begun.")
    for number in range(MOST_ROUNDS):
        report = await runner.run(index, Work(full=True, force=force and number == 0), token, progress, native)
        if report.failed or not index.complete:
            raise await native(partial(_failed, index, report))
        if not (report.added or report.changed > report.refused or report.removed):  # refused ones are cut again by each run
            return


def _failed(index: OpenIndex, report: IndexReport) -> ProviderError:
    reasons: dict[bool, list[str]] = {True: [], False: []}
    for _, reason in index.store.failed():
        reasons[TextRefused.is_reason(reason)].append(reason)
    refused, failed = reasons[True], reasons[False]
    if not report.failed:
        why = f": {refused[0]}" if refused else "."
        return ProviderError(f"{index.embedder.spec.id} gave less than half of the texts a vector, so it isn't used{why}")
    files = "1 file was" if report.failed == 1 else f"{report.failed:,} files were"
    text = f"{files} not embedded by {index.embedder.spec.id}, and will be tried again"
    if failed:
        text += f": {failed[0].rstrip('.')}"
    if refused:
        more = "1 more file holds" if len(refused) == 1 else f"{len(refused):,} more files hold"
        text += f". {more} a text that the model refused, which isn't sent again as it is"
    return ProviderError(f"{text}.")


def why_not_used(answering: OpenIndex, why: str) -> str:
    """Say why the model that is set isn't used, and what answers."""
    return f"{why.rstrip('.')}. Until {answering.wanted} can be used, the bundled model answers."


class SwitchEvents(Struct, frozen=True):
    """What the rest of the workspace does for the switch."""

    progressed: Callable[[Job[CancelToken, IndexReport], Progress], None]
    ready: Callable[[OpenIndex], Awaitable[None]]  # puts it in the other's place
    changed: Callable[[], None]
    fault: Callable[[str], None]


class ModelSwitch:
    """The switch of one workspace. Runs on the event loop; native steps run on the index pool.

    `enabled` where the process lives long enough: a command that answers one question begins nothing.
    """

    def __init__(
        self, root: Path, state: StateCell, jobs: Jobs, composition: Composition, runner: IndexRunner, events: SwitchEvents
    ) -> None:
        self._root = root
        self._state = state
        self._jobs = jobs
        self._composition = composition
        self._runner = runner
        self._events = events
        self._job: Job[CancelToken, IndexReport] | None = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._failures = 0
        self._again = False
        self.enabled = False

    @property
    def running(self) -> bool:
        """Tell whether an index is being filled."""
        return self._task is not None and not self._task.done()

    def look(self, *, at_once: bool = False) -> None:
        """Begin where another model is wanted and the workspace's own index is whole; `at_once` also after a failure."""
        index = self._state.now.index
        if not self.enabled or self.running or index is None or not index.wanted or index.not_kept or not index.complete:
            return
        if at_once or time.monotonic() >= self._not_before:
            self._again = False
            self._task = asyncio.get_running_loop().create_task(self._run(index))

    def retry(self) -> None:
        """Begin, or begin once more when the present try has failed: what it lacked has come."""
        self._again = self.running
        self.look(at_once=True)

    async def stop(self) -> None:
        """Stop filling; what was finished stays. The next `look` begins again."""
        if self._job:
            self._job.stop()
            self._job = None
        if self._task:
            await asyncio.wait({self._task})
        self._failures, self._not_before = 0, 0.0

    async def _run(self, answering: OpenIndex) -> None:
        from carrel.index.indexer import IndexReport

        loop = asyncio.get_running_loop()
        job: Job[CancelToken, IndexReport] = Job(Work(full=True), self._composition.new_token(), loop.create_future())
        job.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        job.task = cast("asyncio.Task[IndexReport]", asyncio.current_task())  # to be cancelled by; nobody asks it for a result
        self._job = job

        async def native(work: Callable[[], T]) -> T:
            return await self._jobs.run_indexing(work, job.token)

        def progress(index: OpenIndex) -> TellProgress:
            return throttled(partial(self._events.progressed, job), lambda: index)

        settings = self._state.now.folder.settings
        try:
            index = await fill(self._composition, self._root, settings, job.token, native, runner=self._runner, progress=progress)
            await asyncio.shield(asyncio.ensure_future(self._events.ready(index)))
        except (Cancelled, asyncio.CancelledError) as error:
            job.done.set_exception(Cancelled("cancelled"))
            self._not_before = math.inf  # who stopped it says when it shall begin again
            if isinstance(error, asyncio.CancelledError) and not job.token.cancelled:
                raise
        except Exception as error:
            job.done.set_exception(error)
            is_new = self._note_failure(answering, error)
            await asyncio.to_thread(answering.note_failure, answering.waits_for)  # first: who is told may close the folder
            if is_new and answering.waits_for:
                self._events.fault(answering.waits_for)
                self._events.changed()
            if self._again:
                loop.call_soon(partial(self.look, at_once=True))  # when this task is done
        else:
            job.done.set_result(IndexReport())
            self._failures = 0
            await asyncio.to_thread(answering.note_failure, None)
        finally:
            self._job = None

    def _note_failure(self, answering: OpenIndex, error: Exception) -> bool:
        """Note why the model isn't used, and when it is tried again; tell whether that is another reason than before."""
        is_foreseen = isinstance(error, CarrelError)
        if not is_foreseen:
            log.error("The switch to another embedding model failed: %s", type(error).__name__)
        if isinstance(error, NotPrepared):
            pause = READY_AGAIN_SECONDS
        else:
            pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
            self._failures += 1
        self._not_before = time.monotonic() + pause
        why = str(error) if is_foreseen else "Something went wrong inside Carrel; its log says more"
        text = why_not_used(answering, why)
        is_new = answering.waits_for != text
        if is_new:
            answering.waits_for = text
            log.warning("%s", text)
        return is_new
