"""A source that is a folder of this machine, as it answers: the indexes of its files and of the texts that stand for what the
core can't read (`sources.documents.mirror`), with the access rules of the folder in front of both.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.index.workspace_state import State
from carrel.model.errors import CarrelError, NotReady
from carrel.settings.source_settings import SourceSettings
from carrel.system.jobs import Job, Work
from carrel.upkeep.index_jobs import IndexRunner, check_root

if TYPE_CHECKING:
    from carrel.index.indexer import IndexReport, RunNative
    from carrel.index.open_index import OpenIndex
    from carrel.index.status import Status
    from carrel.model.local_index import Progress as TellProgress
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import CancelToken, Store
    from carrel.model.types import Hit, Query
    from carrel.sources.documents.passages import FactsCache, Shown
    from carrel.sources.documents.text_folder import TextMirror


class SourceReport(Struct, frozen=True):
    """The state of one source; `files` and `chunks` count what its indexes hold, `updated` is when they were last compared."""

    id: str
    kind: str
    description: str
    folder: str = ""
    state: State = "empty"
    files: int = 0
    chunks: int = 0
    pending: int = 0
    updated: float | None = None
    problems: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


T = TypeVar("T")

_DESCRIPTIONS = {
    "documents": "Documents of the team in the folder {name}: runbooks, protocols, guides, decisions.",
    "git": "Commits of the repository {name}: what was changed when, by whom and why.",
    "mcp": "What the server {name} offers to read.",
}


class IndexedFolder(Protocol):
    """What a source needs of an index; `Workspace` has this shape."""

    async def ready(self, *, explicit: bool, wait_ms: int) -> OpenIndex:
        """Return the index, brought up to date. Raises `CarrelError`."""
        ...

    async def run_interactive(self, work: Callable[[CancelToken], T]) -> T:
        """Run native work for a question."""
        ...

    def request_index(self) -> Job[Any, Any]:
        """Have everything brought up to date."""
        ...

    async def status(self, *, most_files: int) -> Status:
        """Return the whole status."""
        ...

    async def close(self) -> None:
        """Release the index."""


class MirrorRunner(IndexRunner):
    """Brings the texts up to date before they are indexed."""

    def __init__(self, mirror: TextMirror) -> None:
        self._mirror = mirror

    async def run(
        self, index: OpenIndex, work: Work, token: CancelToken, progress: TellProgress, native: RunNative
    ) -> IndexReport:
        """Do one job. Raises as `IndexRunner.run`, and `StoreError` where the originals aren't there."""
        check_root(self._mirror.root)
        if work.full:
            await self._mirror.update(token, native, lambda: progress(0, 0, ""))
        return await super().run(index, work, token, progress, native)


class Gate:
    """The access rules of a folder, without an index of it; opened by the first question, on a thread."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._store: Store | None = None

    def refusal(self, path: str) -> str | None:
        """Return why a file may not be read, None if it may."""
        if self._store is None:
            self._store = self._open()
        return self._store.refusal(path)

    def close(self) -> None:
        """Release its files."""
        if self._store:
            self._store.close()


class Part(Struct, eq=False):
    """One index of a source."""

    workspace: IndexedFolder
    shown: Shown
    facts: FactsCache
    mirror: TextMirror | None = None
    gate: Gate | None = None
    expire: Callable[[], None] | None = None
    """Has what is kept read again the next time, where its age decides about that."""

    async def close(self) -> None:
        """Release its index and rules."""
        await self.workspace.close()
        if self.gate:
            self.gate.close()


class ServedSource(Struct, eq=False):
    """A source that answers."""

    id: str
    settings: SourceSettings
    folder: Path
    parts: list[Part] = field(default_factory=list)
    notice: str | None = None
    """What must be told with its hits."""

    @property
    def description(self) -> str:
        """Return its line for whoever chooses."""
        name = self.settings.server or self.folder.name
        return self.settings.description or _DESCRIPTIONS[self.settings.kind].format(name=name)

    def uri(self, path: str) -> str | None:
        """Return the URI of a path as its hits have it, such as `@runbooks/phoenix.md`; None for another source's."""
        prefix = f"@{self.id}/"
        if not path.startswith(prefix) or ".." in path.split("/"):
            return None
        original = path.removeprefix(prefix)
        if self.settings.kind == "mcp":
            from carrel.sources.documents.resource_mirror import resource_name

            texts = self.folder.glob("*.md")
            return next((text for text in texts if resource_name(text.name) == original), self.folder).as_uri()
        return self.uri_of(original)

    def uri_of(self, original: str) -> str:
        """Return the URI of an original: of a commit that of its repository, of a resource that of its text."""
        return self.folder.as_uri() if self.settings.kind == "git" else (self.folder / original).as_uri()

    def refused(self, path: str) -> bool:
        """Tell whether a path as its hits have it may not be given any more. Native work."""
        original = path.removeprefix(f"@{self.id}/")
        return any(part.gate.refusal(original) is not None for part in self.parts if part.gate)

    async def search(
        self,
        query: Query,
        *,
        explicit: bool,
        wait_ms: int,
        view: SnapshotView | None = None,  # noqa: ARG002 - as every source
    ) -> list[Hit]:
        """Return its passages for a question, best first. Raises `CarrelError` where none of its indexes can answer."""
        if self.settings.kind != "mcp" and not self.folder.is_dir():
            raise CarrelError(f"{self.folder} is not there", f"Bring it back, or `carrel sources remove {self.id}`.")
        answers = await asyncio.gather(
            *(self._search(part, query, explicit=explicit, wait_ms=wait_ms) for part in self.parts), return_exceptions=True
        )
        hits = [hit for part in answers if not isinstance(part, BaseException) for hit in part]
        errors = [part for part in answers if isinstance(part, BaseException)]
        if errors and len(errors) == len(answers):
            raise errors[0]
        return sorted(hits, key=lambda hit: -hit.score)[: query.limit]

    async def _search(self, part: Part, query: Query, *, explicit: bool, wait_ms: int) -> list[Hit]:
        from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted
        from carrel.model.types import Filters
        from carrel.search.retriever import Ranking, read
        from carrel.sources.documents.passages import looked_at, passages

        try:
            index = await part.workspace.ready(explicit=explicit, wait_ms=wait_ms)
        except NotReady:
            part.workspace.request_index()  # the person named it; whoever doesn't wait finds it later
            raise
        everything = Filters()
        plain = replace(query, filters=everything, left_out=(), active_path=None, open_paths=(), pinned=(), documents=True)
        wide_query, max_age = replace(plain, limit=looked_at(query)), query.filters.max_age_days

        def finish(ranking: Ranking, token: CancelToken) -> list[Hit]:
            hits = read(ranking, wide_query, token).hits
            if part.mirror:
                hits = tuple(hit for hit in hits if not part.mirror.refused(hit.chunk.path))
            return passages(hits, ranking.view, part.facts, part.shown, max_age_days=max_age)

        return await retrieve_assisted(
            Question(wide_query), index.store.snapshot, index.embedder, ALONE, part.workspace.run_interactive, finish
        )

    async def bring_up_to_date(self, wait_ms: int) -> None:
        """Wait until its indexes hold what is there now. Raises `CarrelError`."""
        for part in self.parts:
            if part.expire:
                part.expire()
            index = await part.workspace.ready(explicit=True, wait_ms=wait_ms)
            if index.store.role == "writer":  # a question waits a moment only for what changed since
                await asyncio.wait({part.workspace.request_index().done}, timeout=wait_ms / 1000)

    async def report(self) -> SourceReport:
        """Describe its state; makes no index."""
        states = [await part.workspace.status(most_files=1_000) for part in self.parts]
        problems = [problem for state in states for problem in (*state.problems, *((state.error,) if state.error else ()))]
        if not self.folder.is_dir() and self.settings.kind != "mcp":
            problems.append(f"{self.folder} is not there")
        failed = [item for state in states for item in state.failed]
        for part in self.parts:
            if part.mirror:
                failed += await part.workspace.run_interactive(partial(_failed, part.mirror))
        busy = next((state.state for state in states if state.state in ("indexing", "error")), None)
        return SourceReport(
            self.id,
            self.settings.kind,
            self.description,
            str(self.folder),
            "error" if problems else busy or ("ready" if any(state.last_indexed for state in states) else "empty"),
            sum(state.files for state in states),
            sum(state.chunks for state in states),
            sum(state.pending for state in states),
            min((state.last_indexed for state in states if state.last_indexed), default=None),
            tuple(dict.fromkeys(problems)),
            tuple(failed),
        )

    async def close(self) -> None:
        """Release its indexes."""
        await asyncio.gather(*(part.close() for part in self.parts), return_exceptions=True)


def _failed(mirror: TextMirror, _: CancelToken) -> list[tuple[str, str]]:
    return list(mirror.failed.items())
