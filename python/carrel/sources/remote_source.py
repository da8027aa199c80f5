"""A repository that isn't checked out, as a source: searched on the server where `carrel publish` put it.

What it gives is marked as not local. Where the workspace is a checkout of the same repository, the files that its index holds
answer instead, and the answer says which those are.
A server that fails or is slow is left alone for a while, and every answer says so; nobody waits for it then.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

from carrel.composition.models import bundled, published_repository
from carrel.model.errors import CarrelError, NotAllowed, ProviderError
from carrel.model.published import Head, PublishedAddress
from carrel.model.wording import counted
from carrel.settings.source_settings import SourceSettings
from carrel.sources.served_source import SourceReport

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.composition.models import PublishedStore
    from carrel.model.local_index import SnapshotView
    from carrel.model.ports import Embedder
    from carrel.model.published import ReadPoint
    from carrel.model.types import Hit, Query
    from carrel.settings.settings import Settings
    from carrel.sources.published_search import RemoteQuestion

T = TypeVar("T")

SECONDS = 3.0
"""How long a question waits for a server, whatever else its deadline allows."""
FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds that a server which failed isn't asked again, doubled with each failure."""
_MOST_NAMED = 3
"""Files that a notice names."""


class _Checkout(NamedTuple):
    """The workspace's index, and what it is of."""

    view: SnapshotView
    place: Place


class RemoteSource(Struct, eq=False):
    """A published repository that answers.

    `embedder` finds the model of an id here, `mask` masks secrets in a text of a path, `mask_question` those of a question.
    """

    id: str
    settings: SourceSettings
    root: Path  # of the workspace that asks
    repository: PublishedStore
    embedder: Callable[[str], Embedder | None]
    mask: Callable[[str, str], str]
    mask_question: Callable[[str], str]
    notice: str | None = None
    """What must be told with its hits."""
    _head: Head | None = None
    _rest: float = 0.0
    _rests_until: float = 0.0
    _last_problem: str = ""

    @property
    def address(self) -> PublishedAddress:
        """Return where it is."""
        return self.repository.address

    @property
    def description(self) -> str:
        """Return its line for whoever chooses."""
        return self.settings.description or f"The code of the repository {self.address.name}, which isn't on this machine."

    def uri(self, path: str) -> str | None:
        """Return the URI of a path as its hits have it, `repo@commit path`; None for another source's."""
        place, _, inside = path.partition(" ")
        name, _, commit = place.rpartition("@")
        return self.address.uri(commit.removesuffix("+"), inside) if name == self.address.name and inside else None

    def refused(self, path: str) -> bool:  # noqa: ARG002 - who published it decided
        """Tell whether a path as its hits have it may not be given any more."""
        return False

    async def search(
        self,
        query: Query,
        *,
        explicit: bool,  # noqa: ARG002 - as every source
        wait_ms: int,  # noqa: ARG002
        view: SnapshotView | None = None,
    ) -> list[Hit]:
        """Return its chunks for a question, best first, without those whose files the workspace's index `view` holds.

        Raises `CarrelError` where its server can't answer.
        """
        held = _Checkout(view, await own_checkout(self.root).place()) if view is not None else None
        return await self._ask(lambda: self._search(query, held))

    async def _search(self, query: Query, checkout: _Checkout | None) -> list[Hit]:
        from carrel.sources.published_search import RemoteQuestion

        request = RemoteQuestion.read(self.mask_question(query.searched_text))
        if self._head is None:
            self._head = await self._visible()
        answer: tuple[list[Hit], frozenset[str]] | BaseException
        for _ in range(2):
            head = self._head
            vector, by_words = await self._vector(request, head)
            # Whether what was searched is still what is visible is asked at the same time; its vectors may be gone if it isn't.
            answer, now = await asyncio.gather(
                self._hits(request, head, vector, query, checkout), self._visible(), return_exceptions=True
            )
            if isinstance(now, BaseException):
                raise now
            if isinstance(answer, ProviderError) and now.generation == head.generation:
                now = await self._visible()  # it may have changed, and the old vectors gone, after the first answer
            self._head = now
            if now.generation == head.generation:
                break
        if isinstance(answer, BaseException):
            raise answer
        hits, left_out = answer
        self.notice = " ".join(filter(None, (by_words, self._contents_note(left_out)))) or None
        return hits

    async def _hits(
        self, request: RemoteQuestion, head: Head, vector: list[float], query: Query, checkout: _Checkout | None
    ) -> tuple[list[Hit], frozenset[str]]:
        """Return hits, and the paths that were left out of them."""
        from carrel.sources.published_search import POOL, Shown, best_ids, ranked

        result = await self.repository.search(head, vector, request.indices, POOL, len(query.text))
        points = await self.repository.read(best_ids(result))
        shown = Shown(self.id, self.address, head, self.mask)

        def work() -> tuple[list[Hit], frozenset[str]]:
            local = self._local(points, head, checkout)
            return ranked(request, result, [point for point in points if point.chunk.path not in local], shown, query), local

        return await asyncio.to_thread(work)

    async def _visible(self) -> Head:
        head = await self.repository.head()
        if head is None or not head.generation:
            raise ProviderError(f"Nothing is published as {self.address} yet", "Publish it: `carrel publish --repo NAME`.")
        return head

    async def _vector(self, request: RemoteQuestion, head: Head) -> tuple[list[float], str]:
        """Return the question's vector of the model that the repository was published with, and why it is empty, if it is."""
        from carrel.model_calls.embedding import embed_queries

        text = request.question.text
        model = self.embedder(head.model)
        if model is None:
            return [], (
                f"{self.address.name} was published with the model {head.model or 'none'}, which isn't the one set here: it was "
                "searched by words alone."
            )
        if not text:
            return [], ""
        try:
            vector = (await embed_queries(model, [text], seconds=SECONDS / 2))[text]
        except CarrelError as error:
            return [], f"{str(error).rstrip('.')}. {self.address.name} was searched by words alone."
        return list(struct.unpack(f"<{len(vector) // 4}f", vector)), ""

    def _local(self, points: Sequence[ReadPoint], head: Head, checkout: _Checkout | None) -> frozenset[str]:
        """Return the paths whose files the workspace's index holds as they are now, where it is the same repository.

        Runs on a thread. The whole name must be the same: `billing` of another owner is another repository.
        """
        if checkout is None or not points:
            return frozenset()
        origin, prefix = checkout.place
        if not origin or origin.casefold() != (head.origin or self.address.name).casefold():
            return frozenset()
        inside = {point.chunk.path for point in points if point.chunk.path.startswith(prefix)}
        return frozenset(path for path in inside if checkout.view.text(path.removeprefix(prefix)) is not None)

    def _contents_note(self, left_out: frozenset[str]) -> str:
        """Say which files' own contents answer; empty for none."""
        if not left_out:
            return ""
        names = ", ".join(sorted(left_out)[:_MOST_NAMED]) + (", …" if len(left_out) > _MOST_NAMED else "")
        files = counted(len(left_out), "file")
        return f"This workspace is a checkout of {self.address.name}: its own contents of {files} answer ({names})."

    async def bring_up_to_date(self, wait_ms: int) -> None:  # noqa: ARG002 - as every source
        """Look what is visible now. Raises `CarrelError`."""
        self._head = await self._ask(self._visible)

    async def report(self) -> SourceReport:
        """Describe its state: asks the server."""

        problem = ""
        try:
            await self.bring_up_to_date(0)
        except CarrelError as error:
            problem = str(error)
        head = self._head if not problem else None
        at = f" at {head.commit[:12]}" + (f" ({head.branch})" if head.branch else "") if head else ""
        return SourceReport(
            self.id,
            self.settings.kind,
            self.description,
            f"{self.address}{at}",
            "error" if problem else "ready",
            head.files if head else 0,
            head.chunks if head else 0,
            0,
            head.published_at if head else None,
            (problem,) if problem else (),
        )

    async def close(self) -> None:
        """Release its connections."""
        await self.repository.aclose()

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Ask the server, for `SECONDS` at most and not at all while it rests. Raises `CarrelError`."""
        clock = asyncio.get_running_loop().time
        began = clock()
        if began < self._rests_until:
            raise ProviderError(f"{self._last_problem.rstrip('.')}. It is asked again in {self._rests_until - began:.0f} s")
        try:
            async with asyncio.timeout(SECONDS):
                result = await work()
        except TimeoutError:
            slow = ProviderError(f"{self.address.host} gave no answer within {SECONDS:g} s", retryable=True)
            self._failed(slow)
            raise slow from None
        except asyncio.CancelledError:
            if clock() - began > SECONDS / 2:  # a caller's deadline, not a person who thought better of it
                self._failed(ProviderError(f"{self.address} was slow"))
            raise
        except NotAllowed:
            raise
        except ProviderError as error:
            self._failed(error)
            raise
        self._rest = self._rests_until = 0.0
        return result

    def _failed(self, error: ProviderError) -> None:
        """Leave the server alone for a while."""
        self._rest = min(max(2 * self._rest, FIRST_REST), LONGEST_REST)
        self._rests_until, self._last_problem = asyncio.get_running_loop().time() + self._rest, str(error)


def remote_source(
    name: str, source: SourceSettings, root: Path, composition: Composition, settings: Callable[[], Settings]
) -> RemoteSource:
    """Return a published repository as a source of the workspace at `root`; models and rules are those of each moment."""

    def embedder(model: str) -> Embedder | None:
        candidates = (bundled(), composition.embedder(settings()))
        return next((candidate for candidate in candidates if candidate.spec.id == model), None)

    def mask(path: str, text: str) -> str:
        from carrel.index.index_opening import secret_options
        from carrel.model.native import mask_secrets

        return mask_secrets(path, text, secret_options(settings()))

    def mask_question(text: str) -> str:
        from carrel.index.index_opening import question_mask

        return question_mask(settings())(text)

    repository = published_repository(source.url, source.key, composition.outbound.of(settings()))
    return RemoteSource(name, source, root, repository, embedder, mask, mask_question)


GIT_SECONDS = 1.0
"""How long a question waits for git. Later questions use what it said meanwhile."""
LOOK_AGAIN_SECONDS = 60.0
"""How long it counts that git named no repository: it may have been too slow, or the remote is added later."""


class Place(NamedTuple):
    """Name a repository on its host, and a folder of it; an empty `origin` where that isn't known."""

    origin: str
    prefix: str


Stamp = tuple[int, int, int] | None
"""Of a file: when it was written, its size and number; None where there is none."""


class _Answer(NamedTuple):
    """Hold what git said, and of which state of the repository's `config`."""

    place: Place
    config: Path | None
    stamp: Stamp
    until: float


class OwnCheckout:
    """What git says of one folder. A remote that changes in the repository's `config` counts at the next question."""

    def __init__(self, root: Path) -> None:
        """Ask nothing yet."""
        self._root = root
        self._answer = _Answer(Place("", ""), None, None, 0.0)
        self._asking: asyncio.Task[None] | None = None

    async def place(self) -> Place:
        """Return the place as git last gave it, after `GIT_SECONDS` at most."""
        if self._asking is None or self._asking.done() or self._asking.get_loop() is not asyncio.get_running_loop():
            self._asking = asyncio.create_task(self._ask())
        await asyncio.wait({self._asking}, timeout=GIT_SECONDS)
        return self._answer.place

    async def _ask(self) -> None:
        self._answer = await asyncio.to_thread(_look, self._root, self._answer)


def _look(root: Path, answer: _Answer) -> _Answer:
    """Return the answer where it still counts, else a new one of git."""
    same = _stamp(answer.config) == answer.stamp
    if same and (answer.place.origin or time.monotonic() < answer.until):
        return answer
    from carrel.git import git

    common = git.common_folder(root)
    config = common / "config" if common else None
    stamp = _stamp(config)  # before git reads it: what changes meanwhile is seen by the next question
    return _Answer(Place(git.origin(root), git.prefix(root)), config, stamp, time.monotonic() + LOOK_AGAIN_SECONDS)


def _stamp(path: Path | None) -> Stamp:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=32)
def own_checkout(root: Path) -> OwnCheckout:
    """Return the one value of a folder."""
    return OwnCheckout(root)
