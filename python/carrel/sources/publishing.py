"""Publish the index of a repository, so that others can search it without a checkout: `carrel publish`.

What is there already is told by the server, so nothing has to be kept between two runs of CI. A run writes a new generation
beside the visible one: it adds what is new, marks what is gone, counts, and makes all of it visible by one write. A run that is
killed leaves the visible generation whole; the next one takes over what it added. Two at the same time: the later one goes on,
the earlier one stops.
"""

# ruff: noqa: PLC0415 - search is imported when something is published
from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from carrel.model.errors import CarrelError, InvalidInput, ProviderError
from carrel.model.published import BATCH, FORMAT, Head, Overtaken
from carrel.model.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from carrel.composition.models import PublishedStore
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import Store
    from carrel.model.ports import EmbeddingSpec

_MOST_DEAD = 16
"""Runs that never ended and are remembered, in case one of them still writes."""
_TRIES = 3
_AT_ONCE = 4
"""Batches under way: while the server writes some, others are read and sent."""

Tell = Callable[[int, int], None]
"""(chunks done, chunks in all) of what this run has to send."""


class Checkout(Struct, frozen=True):
    """The state of the repository that is published."""

    commit: str
    branch: str = ""
    dirty: bool = False
    origin: str = ""


class PublishReport(Struct, frozen=True):
    """What a run did. Nothing was to be done where `generation` is that of before."""

    generation: int
    commit: str
    files: int
    chunks: int
    added: int
    taken_over: int
    removed: int


def checkout_of(root: Path, *, allow_dirty: bool) -> Checkout:
    """Return the state of the repository at `root`. Raises `CarrelError` for one that can't be published."""
    from carrel.git import git

    state = git.state(root)
    if state is None or state.head is None:
        raise CarrelError(f"{root} is no git repository with a commit", "What is found is named by a commit: publish a checkout.")
    if not state.root.samefile(root):
        raise InvalidInput("path", f"{root} is a folder inside of the repository {state.root}", "Publish the whole repository.")
    if state.dirty and not allow_dirty:
        names = ", ".join(state.dirty[:3]) + (", …" if len(state.dirty) > 3 else "")
        raise CarrelError(
            f"The commit lacks {counted(len(state.dirty), 'changed file')} ({names})",
            "Commit them, or publish them with --allow-dirty.",
        )
    return Checkout(state.head, state.branch or "", bool(state.dirty), git.origin(root))


class _Difference(Struct):
    """What is to be done so that a generation holds what is wanted, and nothing else: ids of points."""

    add: list[str] = field(default_factory=list)
    take_over: list[str] = field(default_factory=list)  # added by a run that never ended
    restore: list[str] = field(default_factory=list)  # marked as removed by such a run
    remove: list[str] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)  # not visible, nor wanted


class Publication(Struct, frozen=True):
    """One run: which index is published, at which state, with its chunks' text or without."""

    index: Store
    model: EmbeddingSpec
    checkout: Checkout
    with_text: bool

    async def run(self, repository: PublishedStore, tell: Tell = lambda _done, _all: None) -> PublishReport:
        """Publish what changed. Raises `CarrelError`; what was visible before stays so then."""
        from carrel.sources.published_words import wanted_chunks

        view = self.index.snapshot()
        wanted, files = await asyncio.to_thread(
            wanted_chunks, view, self.index.index_state(), self.model.id, with_text=self.with_text
        )
        await repository.prepare(self.model.dim)
        before = await repository.head()
        visible = before or Head(format=FORMAT)
        number = max(visible.generation, visible.claim, *visible.dead, 0) + 1
        dead = tuple(dict.fromkeys((*visible.dead, *([visible.claim] if visible.claim else []))))[-_MOST_DEAD:]
        held = await repository.write_head(msgspec.structs.replace(visible, claim=number, dead=dead), before)
        vector = await repository.vector_name(self.model.dim, held)
        new = msgspec.structs.replace(
            held,
            generation=number,
            claim=0,
            commit=self.checkout.commit,
            branch=self.checkout.branch[:300],
            dirty=self.checkout.dirty,
            origin=self.checkout.origin[:300],
            model=self.model.id,
            floor=self.model.floor,
            vector=vector,
            chunks=len(wanted),
            files=files,
            with_text=self.with_text,
            published_at=round(time.time(), 3),
        )
        with _failures_of(repository, "nothing of this run is visible, and what was visible before still is"):
            changed = await self._write(repository, wanted, view, held, new, tell)
        with _failures_of(repository, "whether its state is visible now isn't known; if not, what was visible before still is"):
            shown = await repository.write_head(new, held)
        try:  # a run that is killed here leaves it to the next one
            await repository.delete(list(changed.remove), number)
            await repository.forget_vectors(shown)
        except ProviderError as error:
            reason = (
                f"{repository.address} shows {self.checkout.commit[:12]} now, but what is gone wasn't deleted: {error.reason}"
            )
            raise CarrelError(reason, "The next run deletes it.") from None
        added, taken_over, removed = len(changed.add), len(changed.take_over), len(changed.remove)
        return PublishReport(number, self.checkout.commit, files, len(wanted), added, taken_over, removed)

    async def _write(
        self,
        repository: PublishedStore,
        wanted: Mapping[str, str],
        view: SnapshotView,
        held: Head,
        new: Head,
        tell: Tell,
    ) -> _Difference:
        """Write the new state beside the visible one, until the server holds all of it; return what was changed."""
        changed = _Difference()
        for _ in range(_TRIES):
            difference = await _difference(repository, wanted, held)
            changed.add += difference.add
            changed.take_over += difference.take_over
            changed.remove = list(dict.fromkeys([*changed.remove, *difference.remove]))
            await self._apply(repository, difference, wanted, view, held, new.vector, tell)
            if await repository.count(new) == len(wanted):
                return changed
            # An earlier run, which stops at its next step, may have written meanwhile.
        raise CarrelError(f"{repository.address} doesn't hold what was written there", "Run it again.")

    async def _apply(
        self,
        repository: PublishedStore,
        difference: _Difference,
        wanted: Mapping[str, str],
        view: SnapshotView,
        held: Head,
        vector: str,
        tell: Tell,
    ) -> None:
        """Write the difference as the generation that is claimed; nothing of it is visible yet."""
        from carrel.sources.published_words import points_of

        await repository.delete(difference.delete, held.claim)
        await repository.mark(difference.take_over, "added", held.claim)
        await repository.unmark(difference.restore, held.claim)
        tell(0, len(difference.add))
        starts, done = iter(range(0, len(difference.add), BATCH)), 0

        async def send() -> None:
            nonlocal done
            for at in starts:
                batch = {point: wanted[point] for point in difference.add[at : at + BATCH]}
                points = await asyncio.to_thread(points_of, view, batch, with_text=self.with_text)
                await repository.check_claim(held)
                await repository.add(points, held.claim, vector)
                done += len(batch)
                tell(done, len(difference.add))

        await _all_or_none([send() for _ in range(_AT_ONCE)])
        await repository.check_claim(held)
        await repository.mark(difference.remove, "removed", held.claim)


@contextmanager
def _failures_of(repository: PublishedStore, state: str) -> Iterator[None]:
    """Say of a server that fails what readers see now. Raises `ProviderError`."""
    try:
        yield
    except Overtaken:
        raise
    except ProviderError as error:
        reason = f"The publish to {repository.address} stopped: {error.reason}; {state}"
        raise ProviderError(reason, f"{error.remedy} The next run goes on where this one stopped.".strip()) from error


async def _all_or_none(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all; where one fails or the caller is cancelled, the others are cancelled and have ended when this does."""
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _difference(repository: PublishedStore, wanted: Mapping[str, str], held: Head) -> _Difference:
    """Compare what is wanted with all that is there."""
    difference, seen, dead = _Difference(), set[str](), frozenset(held.dead)
    async for page in repository.kept():
        for point in page:
            removed = point.removed
            visible = point.added <= held.generation and point.added not in dead
            if removed is not None and removed <= held.generation and removed not in dead:
                difference.delete.append(point.id)
            elif point.id in wanted:
                seen.add(point.id)
                if not visible and point.added != held.claim:
                    difference.take_over.append(point.id)
                if removed is not None:
                    difference.restore.append(point.id)
            elif not visible:
                difference.delete.append(point.id)
            elif removed != held.claim:
                difference.remove.append(point.id)
    difference.add = [point for point in wanted if point not in seen]
    return difference
