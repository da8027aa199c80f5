"""The requests about sources: decode, call, encode. Only a person's yes changes which there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from carrel.frontends.lsp.messages import source_messages as wire
from carrel.model.structs import decode
from carrel.service import model_report
from carrel.sources import source_editing

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from carrel.frontends.lsp.messages.question_messages import FolderParams
    from carrel.service.session import Session
    from carrel.service.workspace import Workspace
    from carrel.sources.source_editing import SourceChange


class SourceCommands:
    """One coroutine a request."""

    def __init__(self, session: Session, workspace: Callable[[FolderParams], Workspace]) -> None:
        self._session = session
        self._workspace = workspace

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        return {"carrel/sources": self.sources, "carrel/sources/add": self.add, "carrel/sources/remove": self.remove}

    async def sources(self, raw: Any) -> wire.SourcesResult:
        """Answer `carrel/sources`."""
        workspace = self._workspace(decode(wire.SourcesParams, raw))
        return wire.SourcesResult(sources=tuple(map(wire.from_report, await model_report.source_reports(workspace))))

    async def add(self, raw: Any) -> wire.SourceChanged:
        """Answer `carrel/sources/add`."""
        params = decode(wire.SourcesAddParams, raw)
        wanted = source_editing.WantedSource(
            id=params.id.strip(),
            place=params.place.strip(),
            git=params.git,
            description=params.description.strip(),
            outdated_after_days=params.outdated_after_days,
            key=params.key,
        )
        change = await asyncio.to_thread(source_editing.planned, wanted)
        return await self._change(change, source_editing.command_of(wanted))

    async def remove(self, raw: Any) -> wire.SourceChanged:
        """Answer `carrel/sources/remove`."""
        change = await asyncio.to_thread(source_editing.removal, decode(wire.SourcesRemoveParams, raw).id.strip())
        return await self._change(change, f"carrel sources remove {change.id}")

    async def _change(self, change: SourceChange, command: str) -> wire.SourceChanged:
        """Write a change if the person agrees, and search accordingly from now on."""
        if not await self._session.composition.confirm(source_editing.confirmation(change)):
            problem = f"Nothing was changed, since you didn't agree to it. You can also type it in a terminal: {command}"
            return wire.SourceChanged(id=change.id, changed=False, problem=problem)
        path = await asyncio.to_thread(source_editing.write, change)
        for workspace in self._session.folders.values():
            self._session.recheck(workspace)
        return wire.SourceChanged(id=change.id, changed=True, file=str(path))
