"""The sources beside the workspace that a person set: folders of documents and git history, each with an index of its own, and
published repositories (`server.remote_source`), which a server holds.

An index of a source is a `Workspace` whose folder nobody has open: it is opened, followed, kept current and written by one
process as any other. What the core can't read itself is mirrored as text in Carrel's cache (`engine.documents.mirror`), and that
folder is indexed.
Runs on the event loop; blocking work goes to `Jobs`.
"""

# ruff: noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from carrel.core.errors import CarrelError, NotReady
from carrel.server.index_location import cache_root, folder_name
from carrel.server.indexing import IndexRunner, check_root
from carrel.server.jobs import Job, Work
from carrel.server.remote_source import RemoteSource, remote_source
from carrel.server.source_settings import Sources, SourceSettings, folder_of
from carrel.server.source_state import SourceReport

if TYPE_CHECKING:
    from carrel.core.local_index import Progress as TellProgress
    from carrel.core.local_index import SnapshotView
    from carrel.core.native import CancelToken, Store
    from carrel.core.types import Hit, Query
    from carrel.engine.documents.conversion import Convert
    from carrel.engine.documents.passages import FactsCache, Shown
    from carrel.engine.indexer import IndexReport, RunNative
    from carrel.engine.source_evidence import AskedWords
    from carrel.server.composition import Composition
    from carrel.server.open_index import OpenIndex
    from carrel.server.settings import Settings
    from carrel.server.status import Status

T = TypeVar("T")

_CONVERTED_BYTES = 20_000_000
"""Of a mirrored text, which `convert.LONGEST_TEXT` bounds in characters."""
_DESCRIPTIONS = {
    "documents": "Documents of the team in the folder {name}: runbooks, protocols, guides, decisions.",
    "git": "Commits of the repository {name}: what was changed when, by whom and why.",
    "mcp": "What the server {name} offers to read.",
}


class TextMirror(Protocol):
    """Texts that stand for something that the core can't read."""

    root: Path
    texts: Path

    def prepare(self) -> None:
        """Make the folder of the texts."""

    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = ...) -> int:
        """Bring the texts up to date, native work by `native`; `compared` is called when it is known what there is to do."""
        ...

    def original(self, path: str) -> str:
        """Return the path of what a text stands for."""

    def refused(self, path: str) -> bool:
        """Tell whether a text may not be given any more."""

    @property
    def failed(self) -> dict[str, str]:
        """Name what has no text, and why."""

    def delete(self) -> None:
        """Delete all texts."""


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


MakeIndex = Callable[[Path, "Settings", "IndexRunner | None"], IndexedFolder]
"""(folder, settings, who does its jobs) -> its index."""


class _MirrorRunner(IndexRunner):
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


class _Gate:
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


@dataclass(slots=True, eq=False)
class _Part:
    """One index of a source."""

    workspace: IndexedFolder
    shown: Shown
    facts: FactsCache
    mirror: TextMirror | None = None
    gate: _Gate | None = None
    expire: Callable[[], None] | None = None
    """Has what is kept read again the next time, where its age decides about that."""

    async def close(self) -> None:
        await self.workspace.close()
        if self.gate:
            self.gate.close()


@dataclass(slots=True, eq=False)
class ServedSource:
    """A source that answers."""

    id: str
    settings: SourceSettings
    folder: Path
    parts: list[_Part] = field(default_factory=list)
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
        return self.uri_of(path.removeprefix(prefix))

    def uri_of(self, original: str) -> str:
        """Return the URI of an original: of a commit that of its repository."""
        return self.folder.as_uri() if self.settings.kind == "git" else (self.folder / original).as_uri()

    async def search(
        self,
        query: Query,
        *,
        explicit: bool,
        wait_ms: int,
        own: SnapshotView | None = None,  # noqa: ARG002 - as every source
    ) -> list[Hit]:
        """Return its passages for a question, best first. Raises `CarrelError` where none of its indexes can answer."""
        found = await asyncio.gather(
            *(self._search(part, query, explicit=explicit, wait_ms=wait_ms) for part in self.parts), return_exceptions=True
        )
        hits = [hit for part in found if not isinstance(part, BaseException) for hit in part]
        errors = [part for part in found if isinstance(part, BaseException)]
        if errors and len(errors) == len(found):
            raise errors[0]
        return sorted(hits, key=lambda hit: -hit.score)[: query.limit]

    async def _search(self, part: _Part, query: Query, *, explicit: bool, wait_ms: int) -> list[Hit]:
        from carrel.core.types import Filters
        from carrel.engine.assisted_retrieval import ALONE, Question, retrieve_assisted
        from carrel.engine.documents.passages import passages
        from carrel.engine.retriever import Ranking, read

        try:
            index = await part.workspace.ready(explicit=explicit, wait_ms=wait_ms)
        except NotReady:
            part.workspace.request_index()  # the person named it; whoever doesn't wait finds it later
            raise
        # Older versions of a document give their places to others.
        asked = replace(query, limit=2 * query.limit, filters=Filters(), left_out=(), active_path=None, open_paths=(), pinned=())

        def finish(ranking: Ranking, token: CancelToken) -> list[Hit]:
            hits = read(ranking, asked, token).hits
            if part.mirror:
                hits = tuple(hit for hit in hits if not part.mirror.refused(hit.chunk.path))
            return passages(hits, ranking.view, part.facts, part.shown, max_age_days=query.filters.max_age_days)

        return await retrieve_assisted(
            Question(asked), index.store.snapshot, index.embedder, ALONE, part.workspace.run_interactive, finish
        )

    async def speaks_for(self, asked: AskedWords, workspace: SnapshotView) -> str | None:
        """Return why it may answer a question that doesn't ask for it; None where nothing says so. Makes no index."""
        for part in self.parts:
            try:
                index = await part.workspace.ready(explicit=False, wait_ms=0)
            except CarrelError:
                continue
            view = index.store.snapshot()
            found = await part.workspace.run_interactive(partial(_evidence, asked, view, workspace))
            if found:
                return found
        return None

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


def _evidence(asked: AskedWords, view: SnapshotView, workspace: SnapshotView, _: CancelToken) -> str | None:
    from carrel.engine.source_evidence import evidence

    return evidence(asked, view, workspace)


def _failed(mirror: TextMirror, _: CancelToken) -> list[tuple[str, str]]:
    return list(mirror.failed.items())


Source = ServedSource | RemoteSource


class KnowledgeBase:
    """The sources of one process: made when they are first asked, closed when the settings name them no more."""

    def __init__(self, composition: Composition, settings: Callable[[], Settings], make_index: MakeIndex) -> None:
        """Take the person's settings: what a workspace narrows for itself doesn't count for sources."""
        self._composition = composition
        self._settings = settings
        self._make_index = make_index
        self._served: dict[tuple[str, Path], tuple[object, Source]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._convert: Convert | None = None

    def sources(self, root: Path) -> list[Source]:
        """Return the sources that the settings name, for the workspace at `root`."""
        from carrel.server.composition import OF_THE_INDEX

        settings, found = self._settings(), []
        for name, source in settings.sources.by_id:
            folder = _folder(name, source, root, settings)
            key = (name, folder)
            settled = (
                source,
                settings.tools.servers.get(source.server),
                *(getattr(settings, of_index) for of_index in OF_THE_INDEX),
            )
            known = self._served.get(key)
            if known is None or known[0] != settled:
                if known:
                    self._close(known[1])
                self._served[key] = known = (settled, self._made(name, source, folder, settings))
            found.append(known[1])
        named = {name for name, _ in settings.sources.by_id}
        for key in [key for key in self._served if key[0] not in named]:
            self._close(self._served.pop(key)[1])
        return found

    async def close(self) -> None:
        """Release every index."""
        served, self._served = list(self._served.values()), {}
        await asyncio.gather(*(source.close() for _, source in served), *self._closing, return_exceptions=True)

    def _close(self, source: Source) -> None:
        task = asyncio.get_running_loop().create_task(source.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _made(self, name: str, source: SourceSettings, folder: Path, settings: Settings) -> Source:
        if source.kind == "repository":
            return remote_source(name, source, folder, self._composition, self._settings)
        from carrel.engine.documents.conversion import Converter
        from carrel.engine.documents.git_mirror import GitMirror
        from carrel.engine.documents.kinds import ONLY_DOCUMENTS
        from carrel.engine.documents.mirror import Mirror

        served = ServedSource(name, source, folder)
        base = _base(settings)
        kept = mirror_folder(base, source, folder)
        if source.kind == "git":
            git = GitMirror(folder, kept)
            served.parts.append(self._part(served, git.texts, _mirrored(settings, base), mirror=git))
            return served
        if source.kind == "mcp":
            from carrel.engine.documents.resource_mirror import ResourceMirror
            from carrel.server.resources import fetcher

            fetch = fetcher(source, settings.tools, lambda: self._composition.tools(self._settings()).catalogue)
            resources = ResourceMirror(folder.parent, fetch)
            part = self._part(served, resources.texts, _mirrored(settings, base), mirror=resources)
            part.expire = resources.expire
            served.parts.append(part)
            return served
        gate = _Gate(lambda: self._composition.access_rules(folder, settings, kept / "rules"))
        self._convert = self._convert or Converter()
        mirror = Mirror(folder, kept, gate.refusal, self._convert)
        documents = replace(_own(settings, base), editor_exclude=ONLY_DOCUMENTS)
        served.parts.append(self._part(served, folder, documents))
        served.parts.append(self._part(served, mirror.texts, _mirrored(settings, base), mirror=mirror, gate=gate))
        return served

    def _part(
        self, served: ServedSource, root: Path, settings: Settings, *, mirror: TextMirror | None = None, gate: _Gate | None = None
    ) -> _Part:
        from carrel.engine.documents.passages import FactsCache, Shown

        if mirror:
            with contextlib.suppress(CarrelError):  # told when it is indexed
                mirror.prepare()
        index = self._make_index(root, settings, _MirrorRunner(mirror) if mirror else None)
        original = mirror.original if mirror else lambda path: path
        shown = Shown(
            served.id,
            lambda path: f"@{served.id}/{original(path)}",
            lambda path: served.uri_of(original(path)),
            served.settings.outdated_after_days,
        )
        return _Part(index, shown, FactsCache(), mirror, gate)


def _folder(name: str, source: SourceSettings, root: Path, settings: Settings) -> Path:
    """Return the folder of a source: of a server's resources that of their texts."""
    if source.kind == "mcp":
        return resource_folder(_base(settings), name, source) / "texts"
    return folder_of(source) if source.folder else root


def resource_folder(base: Path, name: str, source: SourceSettings) -> Path:
    """Return where the texts of a server's resources are kept."""
    digest = hashlib.sha256(f"{source.server}\0{source.prefix}".encode("utf-8", "replace")).hexdigest()[:8]
    return base / "texts" / f"{name}-{digest}-mcp"


def forget(settings: Settings, name: str, source: SourceSettings) -> None:
    """Delete what is kept of a source that `settings` name no more: its texts and indexes. What another process holds stays.

    The history of "the workspace's own repository" may be that of many; all go that no other source of git history keeps.
    """
    base = _base(settings)
    if source.kind == "mcp":
        _delete(base, [resource_folder(base, name, source)], [])
        return
    others = [other for _, other in settings.sources.by_id]
    needed = {mirror_folder(base, other, folder_of(other)) for other in others if other.folder}
    roots = []
    if source.folder:
        kept = [mirror_folder(base, source, folder_of(source))]
        roots = [folder_of(source)] if not any(other.folder == source.folder for other in others) else []
    else:
        keeps_own = any(other.kind == source.kind and not other.folder for other in others)
        kept = [] if keeps_own else list((base / "texts").glob(f"*-{source.kind}"))
    _delete(base, [one for one in kept if one not in needed], roots)


def _delete(base: Path, kept: Sequence[Path], roots: list[Path]) -> None:
    """Delete texts with their indexes, and the indexes of further folders."""
    for directory in kept:
        roots.append(directory / "texts")
        shutil.rmtree(directory, ignore_errors=True)
    for root in roots:
        shutil.rmtree(base / "indexes" / folder_name(root), ignore_errors=True)


def mirror_folder(base: Path, source: SourceSettings, folder: Path) -> Path:
    """Return where the texts of a source are kept."""
    return base / "texts" / f"{folder_name(folder)}-{source.kind}"


def _base(settings: Settings) -> Path:
    return cache_root(settings)[0].parent / "sources"


def _own(settings: Settings, base: Path) -> Settings:
    """Return the settings of an index that isn't the workspace's; it lies in a cache of its own."""
    return replace(
        settings,
        rag_enabled=False,
        rag_auto_index=False,
        storage="cache",
        cache_folder=str(base),
        chunking="syntax",
        sources=Sources(),
        planner="off",
        rerank=False,
    )


def _mirrored(settings: Settings, base: Path) -> Settings:
    """Return the settings of an index of texts, whose originals passed the person's rules already."""
    return replace(_own(settings, base), exclude=(), editor_exclude=(), excluded_folders=(), max_file_bytes=_CONVERTED_BYTES)
