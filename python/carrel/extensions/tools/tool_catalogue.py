"""The tool catalogue of a process: sources as the settings name them, what the person approved, and the search over all of it.

A tool of an MCP server is used only as the person saw it. Its text is kept when they approve it; another text, another schema or
another program behind the same name make it "changed", and it is shown again before it is used.
"""

# ruff: noqa: PLC0415 - the catalogue is imported by who asks for tools
from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from carrel.extensions.tools.catalogue.exports import problems_of, resolve
from carrel.extensions.tools.catalogue.files import from_file, from_mcp
from carrel.extensions.tools.catalogue.search import FoundTool, ToolIndex, ToolQuery
from carrel.extensions.tools.servers.shared_servers import Connect, SharedServers
from carrel.extensions.tools.tool_store import ToolStore
from carrel.model.catalogue_tool import CatalogueTool, KeptTools, canonical
from carrel.model.errors import CarrelError, InvalidInput, ProviderError
from carrel.model.local_index import CoreEmbedder, IndexStore
from carrel.model.remote import Confirm, Confirmation
from carrel.pack.appearance import visible
from carrel.settings.tool_settings import ToolSettings

ToolState = Literal["builtIn", "approved", "new", "changed"]


@dataclass(frozen=True, slots=True)
class StatedTool:
    """A tool, whether the person approved it as it is, and what they approved before where it changed."""

    tool: CatalogueTool
    state: ToolState
    before: CatalogueTool | None = None

    @property
    def usable(self) -> bool:
        """Tell whether a model may be told of it, and a pipeline use it."""
        return self.state in ("builtIn", "approved")


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """All tools of one moment, and what a person may want to mend."""

    tools: tuple[StatedTool, ...]
    problems: tuple[str, ...]


class ToolCatalogue:
    """Tools by the settings of each call. Used on the event loop; `search` on any thread."""

    def __init__(
        self,
        store: ToolStore,
        connect: Connect,
        read_document: Callable[[Path], Any],
        new_index: Callable[[], tuple[IndexStore, CoreEmbedder]],
    ) -> None:
        """Take where tools are kept, and how servers are connected, files read and indexes made."""
        self.store = store
        self.connect = connect
        self.servers = SharedServers(connect)
        self._read_document = read_document
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
        document = await asyncio.to_thread(self._read_document, Path(settings.files[name]))
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
        state = f"{'Changed' if item.before else 'New'} ({item.tool.risk})."
        details[item.tool.qualified] = f"{state} {_shown(item.tool)}{before}"
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
    import msgspec

    where = msgspec.to_builtins(settings.servers.get(name) or settings.files.get(name))
    return hashlib.sha256(canonical(where).encode("utf-8", "replace")).hexdigest()[:32]


def _stated(tool: CatalogueTool, kept: KeptTools, settings: ToolSettings) -> StatedTool:
    approved = kept.approved.get(tool.qualified)
    shown = replace(tool, risk=settings.risk.get(tool.qualified, tool.risk))
    if approved is None:
        return StatedTool(shown, "new")
    if approved.fingerprint == tool.fingerprint:
        return StatedTool(shown, "approved")
    return StatedTool(shown, "changed", approved)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
