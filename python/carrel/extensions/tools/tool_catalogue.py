"""The tool catalogue of a process: sources as the settings name them, what the person approved, and the search over all of it.

A tool of an MCP server is used only as the person saw it. Its text is kept when they approve it; another text, another schema or
another program behind the same name make it "changed", and it is shown again before it is used. What was read of each source, and
what the person approved of it, is one JSON file in their data folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from carrel.extensions.tools.catalogue.exports import problems_of, resolve
from carrel.extensions.tools.catalogue.files import from_file, from_mcp, read_document
from carrel.extensions.tools.catalogue.runs_anything import runs_anything
from carrel.extensions.tools.catalogue.search import FoundTool, ToolIndex, ToolQuery
from carrel.extensions.tools.servers.shared_servers import Connect, SharedServers
from carrel.model.catalogue_tool import CatalogueTool, KeptSource, KeptTools, Risk, canonical
from carrel.model.errors import CarrelError, InvalidInput, ProviderError, StoreError
from carrel.model.local_index import CoreEmbedder, IndexStore
from carrel.model.remote import Confirm, Confirmation
from carrel.pack.appearance import visible
from carrel.settings.tool_settings import ToolSettings
from carrel.system.filesystem import locked, private_folder, replace_file

ToolState = Literal["builtIn", "approved", "new", "changed"]


class StatedTool(Struct, frozen=True):
    """A tool, whether the person approved it as it is, and what they approved before where it changed."""

    tool: CatalogueTool
    state: ToolState
    before: CatalogueTool | None = None
    note: str = ""
    """Where its risk isn't the one that the person named, and why."""

    @property
    def usable(self) -> bool:
        """Tell whether a model may be told of it, and a pipeline use it."""
        return self.state in ("builtIn", "approved")


class CatalogueState(Struct, frozen=True):
    """All tools of one moment, and what a person may want to mend."""

    tools: tuple[StatedTool, ...]
    problems: tuple[str, ...]


class ToolCatalogue:
    """Tools by the settings of each call. Used on the event loop; `search` on any thread."""

    def __init__(
        self,
        store: ToolStore,
        connect: Connect,
        new_index: Callable[[], tuple[IndexStore, CoreEmbedder]],
    ) -> None:
        """Take where tools are kept, and how servers are connected and indexes made."""
        self.store = store
        self.connect = connect
        self.servers = SharedServers(connect)
        self._new_index = new_index
        self._lock = threading.Lock()
        self._indexed: tuple[tuple[CatalogueTool, ...], ToolIndex] | None = None
        self._stated: tuple[KeptTools, ToolSettings, tuple[CatalogueTool, ...], CatalogueState] | None = None

    # --- what there is

    def state(self, settings: ToolSettings, built_in: Sequence[CatalogueTool]) -> CatalogueState:
        """Return all tools of the sources that are set, as they were last read; asks no server."""
        kept, built_ins = self.store.kept(), tuple(built_in)
        if self._stated and self._stated[0] is kept and self._stated[1:3] == (settings, built_ins):
            return self._stated[3]
        stated = [StatedTool(tool, "builtIn") for tool in built_ins]
        problems: list[str] = []
        for name in settings.sources:
            held = kept.sources.get(name)
            if held is None:
                problems.append(f"The tools of {name} were never read: `carrel tools refresh {name}`.")
            elif held.origin != origin_of(settings, name):
                problems.append(f"The settings of {name} changed, so its tools count again after `carrel tools refresh {name}`.")
            else:
                stated += [_stated(tool, kept, settings) for tool in held.tools]
        waiting = [item.tool.qualified for item in stated if not item.usable]
        if waiting:
            more = f" and {len(waiting) - 5} more" if len(waiting) > 5 else ""
            problems.append(f"Nobody approved {', '.join(waiting[:5])}{more} as they are now: `carrel tools approve`.")
        problems += [item.note for item in stated if item.note]
        problems += problems_of([item.tool for item in stated])
        state = CatalogueState(tuple(stated), tuple(problems))
        self._stated = (kept, settings, built_ins, state)
        return state

    def find(self, name: str, settings: ToolSettings, built_in: Sequence[CatalogueTool]) -> tuple[StatedTool | None, str]:
        """Return the tool that a name means among those that pipelines may use, or why there is none."""
        stated = {item.tool.qualified: item for item in self.state(settings, built_in).tools}
        runnable = [
            item
            for item in stated.values()
            if item.state == "builtIn" or (item.tool.source in settings.servers and _matches(item.tool.qualified, settings.allow))
        ]
        # A tool that nobody approved yet takes no name away from one that is used.
        tool, problem = resolve(name, [item.tool for item in runnable if item.state != "new"])
        if tool is None and all(item.state == "new" for item in runnable if name in (item.tool.name, item.tool.qualified)):
            tool, problem = resolve(name, [item.tool for item in runnable])
        return (stated[tool.qualified], "") if tool else (None, problem)

    def search(self, query: ToolQuery, tools: Sequence[CatalogueTool], vector: bytes) -> list[FoundTool]:
        """Return the best of these tools. The first call after a change of tools indexes them: half a millisecond each."""
        with self._lock:
            key = tuple(tools)
            if self._indexed is None or self._indexed[0] != key:
                self._indexed = (key, ToolIndex(key, *self._new_index()))
            index = self._indexed[1]
            return index.search(query, vector)

    # --- reading sources

    async def refresh(self, settings: ToolSettings, names: Iterable[str] = ()) -> list[str]:
        """Read sources again, all of them or those named; return what went wrong. Servers are started, asked and stopped."""
        wanted = tuple(names) or settings.sources
        problems: list[str] = []
        for name in wanted:
            if name not in settings.sources:
                sources = ", ".join(settings.sources) or "none"
                raise InvalidInput("name", f'there is no source of tools "{name}"', f"There are: {sources}.")
            try:
                tools, more_problems = await self._read(name, settings)
            except CarrelError as error:
                problems.append(f"{name}: {error}")
                continue
            problems += more_problems
            await self.keep(name, settings, tools)
        return problems

    async def keep(self, name: str, settings: ToolSettings, tools: Sequence[CatalogueTool]) -> None:
        """Keep what a source holds now. What another program stood behind is approved no more. Raises `StoreError`."""
        origin = origin_of(settings, name)
        before = self.store.kept().sources.get(name)
        if before is None or before.origin != origin or before.tools != tuple(tools):
            await asyncio.to_thread(self.store.put, name, origin, tools)  # it may wait for another process

    async def _read(self, name: str, settings: ToolSettings) -> tuple[list[CatalogueTool], list[str]]:
        if server := settings.servers.get(name):
            async with self.connect(name, server) as connection:
                return await asyncio.to_thread(from_mcp, await connection.list_tools(), name)
        document = await asyncio.to_thread(read_document, Path(settings.files[name]))
        return await asyncio.to_thread(from_file, document, name)

    # --- approval

    async def approve(self, items: Sequence[StatedTool], confirm: Confirm) -> bool:
        """Show tools to the person, and keep that they approved them.

        Raises `ProviderError` where nobody can be asked or the tools are no longer those that were shown, `StoreError`.
        """
        waiting = [item for item in items if not item.usable]
        if not waiting:
            return True
        tools = _still_held(waiting, self.store.kept())
        if not await confirm(of_tools(waiting)):
            return False
        if _still_held(waiting, self.store.kept()) != tools:
            raise ProviderError(*_CHANGED, retryable=True)
        await asyncio.to_thread(self.store.approve, tools)
        return True


_CHANGED = ("The tools changed while you were asked about them", "Look at them again.")


def _still_held(items: Sequence[StatedTool], kept: KeptTools) -> list[CatalogueTool]:
    """Return the tools as their sources gave them. Raises `ProviderError` where one is gone or another than was shown."""
    held = {tool.qualified: tool for source in kept.sources.values() for tool in source.tools}
    tools = [held.get(item.tool.qualified) for item in items]
    same = [
        tool
        for tool, item in zip(tools, items, strict=True)
        if tool is not None and replace(tool, risk=item.tool.risk) == item.tool
    ]
    if len(same) != len(items):
        raise ProviderError(*_CHANGED, retryable=True)
    return same


def of_tools(items: Sequence[StatedTool]) -> Confirmation:
    """Return the question whether tools may be used as they are now: all that a model is told of them, old beside new."""
    details = {}
    for item in items:
        before = f"\nBefore: {_shown(item.before)}" if item.before else ""
        note = f" {item.note}" if item.note else ""
        state = f"{'Changed' if item.before else 'New'} ({item.tool.risk})."
        details[item.tool.qualified] = f"{state}{note} {_shown(item.tool)}{before}"
    named = hashlib.sha256(canonical([item.tool.fingerprint for item in items]).encode("utf-8", "replace")).hexdigest()
    return Confirmation("tools", "Models are told of these tools, and pipelines may use them", details, named[:32])


def _shown(tool: CatalogueTool) -> str:
    """Return all that a model is told of a tool, in full: an order may hide in the middle of a text, or in a parameter's."""
    parts = [("", visible(tool.description)), ("tags", ", ".join(map(visible, tool.tags)))]
    parts += [("takes", visible(canonical(tool.schema)))]
    parts += [("gives", visible(canonical(tool.output_schema)) if tool.output_schema else "")]
    parts += [(f"example {number}", visible(example)) for number, example in enumerate(tool.examples, 1)]
    return " ".join(f"[{name}: {text}]" if name else text for name, text in parts if text)


def origin_of(settings: ToolSettings, name: str) -> str:
    """Name what stands behind a source: another program, address or file is another source."""
    where = msgspec.to_builtins(settings.servers.get(name) or settings.files.get(name))
    return hashlib.sha256(canonical(where).encode("utf-8", "replace")).hexdigest()[:32]


def _stated(tool: CatalogueTool, kept: KeptTools, settings: ToolSettings) -> StatedTool:
    approved = kept.approved.get(tool.qualified)
    risk, note = _risk(tool, settings)
    shown = replace(tool, risk=risk)
    if approved is None:
        return StatedTool(shown, "new", note=note)
    if approved.fingerprint == tool.fingerprint:
        return StatedTool(shown, "approved", note=note)
    return StatedTool(shown, "changed", approved, note)


def _risk(tool: CatalogueTool, settings: ToolSettings) -> tuple[Risk, str]:
    """Return the risk of a tool, by the person's settings before its own, and why theirs doesn't count, if so."""
    named = settings.risk.get(tool.qualified, tool.risk)
    if runs_anything(tool):
        lowered = tool.qualified in settings.risk and named != "dangerous"
        return "dangerous", f"{tool.qualified} runs whatever it is given: `tools.risk` doesn't change that." if lowered else ""
    return named, ""


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


log = logging.getLogger(__name__)
_VERSION = 3
_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
_UNREADABLE = (OSError, *_DAMAGED)
_LOCK_SECONDS = 5.0
"""How long a change waits for that of another process."""


class _NewerVersionError(ValueError):
    """A newer Carrel wrote the file."""


class ToolStore:
    """Read again whenever the file changed: another process may have written it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int, int] | None, KeptTools] = (None, KeptTools())

    def kept(self) -> KeptTools:
        """Return what is kept; the same object as long as nothing changes. A file that can't be read holds nothing."""
        read = self._read
        try:
            status = self._path.stat()
        except OSError:
            return KeptTools() if read[0] is not None else read[1]
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if read[0] != stamp:
            try:
                read = (stamp, self._load())
            except _UNREADABLE as error:
                reason = "a newer Carrel wrote it" if isinstance(error, _NewerVersionError) else type(error).__name__
                log.warning("%s can't be read, so no tool in it counts: %s", self._path, reason)
                read = (stamp, KeptTools())
            self._read = read
        return read[1]

    def put(self, name: str, origin: str, tools: Sequence[CatalogueTool]) -> None:
        """Keep what a source holds now; what another origin stood behind is approved no more. Raises `StoreError`."""
        with self._changing() as kept:
            held = kept.sources.get(name)
            left = kept if held is None or held.origin == origin else _without(kept, name)
            self._write(replace(left, sources={**left.sources, name: KeptSource(origin, time.time(), tuple(tools))}))

    def remove(self, name: str) -> None:
        """Forget a source, and what was approved of it. Raises `StoreError`."""
        with self._changing() as kept:
            self._write(_without(kept, name))

    def approve(self, tools: Iterable[CatalogueTool]) -> None:
        """Keep that the person saw and approved these tools as they are; one that is no longer held so isn't approved.

        Raises `StoreError`.
        """
        with self._changing() as kept:
            held = {tool.qualified: tool for source in kept.sources.values() for tool in source.tools}
            seen = {tool.qualified: tool for tool in tools if held.get(tool.qualified) == tool}
            self._write(KeptTools(kept.sources, {**kept.approved, **seen}))

    @contextmanager
    def _changing(self) -> Iterator[KeptTools]:
        """Hold the file for a change, against threads and other processes; gives what is in it. Raises `StoreError`."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        try:
            with self._lock:
                private_folder(lock.parent)
                with locked(lock, _LOCK_SECONDS, pause=0.01) as alone:
                    if not alone:
                        raise StoreError(f"{self._path} is being changed by another process", "Try again.")
                    yield self._held()
                    self._read = (None, KeptTools())  # two writes within a tick of the clock may look the same
        except OSError as error:
            raise StoreError(f"{self._path} can't be written ({error.strerror})", "Make its folder writable.") from None

    def _held(self) -> KeptTools:
        """Read what a change starts from; a damaged file is put aside. Raises `StoreError` for one of a newer Carrel."""
        try:
            return self._load()
        except FileNotFoundError:
            return KeptTools()
        except _NewerVersionError:
            raise StoreError(
                f"{self._path} was written by a newer Carrel, so nothing in it is changed",
                "Update Carrel, or move the file away and approve your tools again.",
            ) from None
        except _DAMAGED:
            aside = self._path.with_name(f"{self._path.name}.damaged")
            self._path.replace(aside)
            log.warning("%s was damaged: it is %s now, and tools have to be approved again", self._path, aside)
            return KeptTools()

    def _load(self) -> KeptTools:
        return _decode(json.loads(self._path.read_text("utf-8")))

    def _write(self, kept: KeptTools) -> None:
        document = {"version": _VERSION, **msgspec.to_builtins(kept)}
        replace_file(self._path, json.dumps(document, ensure_ascii=True).encode())


def _without(kept: KeptTools, name: str) -> KeptTools:
    sources = {source: held for source, held in kept.sources.items() if source != name}
    approved = {qualified: tool for qualified, tool in kept.approved.items() if tool.source != name}
    return KeptTools(sources, approved)


def _decode(raw: Any) -> KeptTools:
    if raw["version"] > _VERSION:
        raise _NewerVersionError
    if raw["version"] not in (2, _VERSION):  # 2 held one thing more
        raise ValueError("another version")
    return msgspec.convert({"sources": raw["sources"], "approved": raw["approved"]}, KeptTools)
