"""The sources beside the workspace that a person set: folders of documents and git history, each with an index of its own, and
published repositories (`sources.remote_source`), which a server holds.

An index of a source is a `Workspace` whose folder nobody has open: it is opened, followed, kept current and written by one
process as any other. What the core can't read itself is mirrored as text in Carrel's cache (`sources.documents.mirror`), and that
folder is indexed.
Runs on the event loop; blocking work goes to `Jobs`.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.index.index_location import cache_root, folder_name
from carrel.model.errors import CarrelError
from carrel.settings.source_settings import Sources, SourceSettings, folder_of
from carrel.sources.remote_source import RemoteSource, remote_source
from carrel.sources.served_source import Gate, IndexedFolder, MirrorRunner, Part, ServedSource
from carrel.upkeep.index_jobs import IndexRunner

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.settings.settings import Settings
    from carrel.sources.documents.converter_process import Convert
    from carrel.sources.documents.text_folder import TextMirror

_CONVERTED_BYTES = 20_000_000
"""Of a mirrored text, which `convert.LONGEST_TEXT` bounds in characters."""
MakeIndex = Callable[[Path, "Settings", "IndexRunner | None"], IndexedFolder]
"""(folder, settings, who does its jobs) -> its index."""

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
        from carrel.composition.composition import OF_THE_INDEX

        settings, sources = self._settings(), []
        for name, source in settings.sources.by_id:
            folder = _folder(name, source, root, settings)
            key = (name, folder)
            settled = (
                source,
                settings.tools.servers.get(source.server),
                *(getattr(settings, of_index) for of_index in OF_THE_INDEX),
            )
            entry = self._served.get(key)
            if entry is None or entry[0] != settled:
                if entry:
                    self._close(entry[1])
                self._served[key] = entry = (settled, self._made(name, source, folder, settings))
            sources.append(entry[1])
        named = {name for name, _ in settings.sources.by_id}
        for key in [key for key in self._served if key[0] not in named]:
            self._close(self._served.pop(key)[1])
        return sources

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
        from carrel.model.kinds import ONLY_DOCUMENTS
        from carrel.sources.documents.converter_process import Converter
        from carrel.sources.documents.git_mirror import GitMirror
        from carrel.sources.documents.mirror import Mirror

        served = ServedSource(name, source, folder)
        base = _base(settings)
        kept = mirror_folder(base, source, folder)
        if source.kind == "git":
            git = GitMirror(folder, kept)
            served.parts.append(self._part(served, git.texts, _mirrored(settings, base), mirror=git))
            return served
        if source.kind == "mcp":
            from carrel.sources.documents.resource_mirror import ResourceMirror, fetch_texts

            fetch = partial(fetch_texts, source, settings.tools, lambda: self._composition.tools(self._settings()).catalogue)
            resources = ResourceMirror(folder.parent, fetch)
            part = self._part(served, resources.texts, _mirrored(settings, base), mirror=resources)
            part.expire = resources.expire
            served.parts.append(part)
            return served
        gate = Gate(lambda: self._composition.access_rules(folder, settings, kept / "rules"))
        self._convert = self._convert or Converter()
        mirror = Mirror(folder, kept, gate.refusal, self._convert)
        documents = replace(_index_settings(settings, base), editor_exclude=ONLY_DOCUMENTS)
        served.parts.append(self._part(served, folder, documents))
        served.parts.append(self._part(served, mirror.texts, _mirrored(settings, base), mirror=mirror, gate=gate))
        return served

    def _part(
        self, served: ServedSource, root: Path, settings: Settings, *, mirror: TextMirror | None = None, gate: Gate | None = None
    ) -> Part:
        from carrel.sources.documents.passages import FactsCache, Shown

        if mirror:
            with contextlib.suppress(CarrelError):  # told when it is indexed
                mirror.prepare()
        index = self._make_index(root, settings, MirrorRunner(mirror) if mirror else None)
        original = mirror.original if mirror else lambda path: path
        shown = Shown(
            served.id,
            lambda path: f"@{served.id}/{original(path)}",
            lambda path: served.uri_of(path if served.settings.kind == "mcp" else original(path)),
            served.settings.outdated_after_days,
            named=served.settings.kind == "mcp",
        )
        return Part(index, shown, FactsCache(), mirror, gate)


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
    _delete(base, [folder for folder in kept if folder not in needed], roots)


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


def _index_settings(settings: Settings, base: Path) -> Settings:
    """Return the settings of an index that isn't the workspace's; it lies in a cache of its own."""
    return replace(
        settings,
        rag_enabled=False,
        rag_auto_index=False,
        storage="cache",
        cache_folder=str(base),
        chunking="syntax",
        sources=Sources(),
        planner="never",
        rerank=False,
    )


def _mirrored(settings: Settings, base: Path) -> Settings:
    """Return the settings of an index of texts, whose originals passed the person's rules already."""
    return replace(
        _index_settings(settings, base), exclude=(), editor_exclude=(), excluded_folders=(), max_file_bytes=_CONVERTED_BYTES
    )
