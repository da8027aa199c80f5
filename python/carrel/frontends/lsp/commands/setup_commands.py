"""Serve the requests about models and keys, sources, and tools and pipelines: decode, call, encode.

Only a person's yes changes which sources there are.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from carrel.frontends.lsp.convert import convert_setup
from carrel.frontends.lsp.convert.convert_setup import from_state, from_store
from carrel.frontends.lsp.messages import setup_messages as wire
from carrel.model.outbound import Secret
from carrel.model.structs import decode
from carrel.service import model_report
from carrel.service.model_report import store_report
from carrel.service.workspace_tools import tool_service
from carrel.sources import source_editing

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from carrel.extensions.tools.pipelines.running import StepReport
    from carrel.extensions.tools.tool_service import ToolService
    from carrel.frontends.lsp.client_model import Asker
    from carrel.frontends.lsp.messages.question_messages import FolderParams
    from carrel.model.outbound import Destination
    from carrel.policy.consent import Consent
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
        return wire.SourcesResult(sources=tuple(map(convert_setup.from_report, await model_report.source_reports(workspace))))

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


class ToolCommands:
    """One coroutine a request. Without a folder the tools that read a workspace are missing."""

    def __init__(self, session: Session, workspace: Callable[[FolderParams], Workspace], client: Asker | None) -> None:
        self._session = session
        self._workspace = workspace
        self._client = client

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        return {
            "carrel/tools/search": self.search,
            "carrel/tools/list": self.list_tools,
            "carrel/pipeline/validate": self.validate,
            "carrel/pipeline/run": self.run,
        }

    async def search(self, raw: Any) -> wire.ToolsSearchResult:
        """Answer `carrel/tools/search`."""
        from carrel.extensions.tools.catalogue.search import ToolQuery

        started = time.perf_counter()
        params = decode(wire.ToolsSearchParams, raw)
        service = await self._service(params)
        matches = await service.search(ToolQuery(params.query, params.limit, params.risk, params.tags), usable_only=False)
        tools = tuple(convert_setup.from_tool(stated, item) for item, stated in matches)
        return wire.ToolsSearchResult(tools=tools, elapsed_ms=round(1000 * (time.perf_counter() - started), 3))

    async def list_tools(self, raw: Any) -> wire.ToolsListResult:
        """Answer `carrel/tools/list`."""
        from carrel.extensions.tools.catalogue.exports import export

        params = decode(wire.ToolsListParams, raw)
        service = await self._service(params)
        problems = await service.catalogue.refresh(service.settings) if params.refresh else []
        if params.approve:
            await service.approve(service.state().tools)
        state = service.state()
        usable = [item.tool for item in state.tools if item.usable]
        return wire.ToolsListResult(
            tools=tuple(convert_setup.from_tool(item) for item in state.tools),
            problems=(*problems, *state.problems),
            exported=export(usable, params.export) if params.export else UNSET,
        )

    async def validate(self, raw: Any) -> wire.PipelineChecked:
        """Answer `carrel/pipeline/validate`."""
        params = decode(wire.PipelineParams, raw)
        service = await self._service(params)
        return convert_setup.from_checked(service.check(params.pipeline, params.input_data))

    async def run(self, raw: Any) -> wire.PipelineRunResult:
        """Answer `carrel/pipeline/run`."""
        params = decode(wire.PipelineRunParams, raw)
        service = await self._service(params)

        def tell(step: StepReport) -> None:
            if self._client is not None:
                self._client.report(params.partial_result_token, convert_setup.from_step(step))

        return convert_setup.from_run(await service.run(params.pipeline, params.input_data, tell))

    async def _service(self, params: FolderParams) -> ToolService:
        composition = self._session.composition
        if not self._session.folders and params.workspace_folder is None:
            return composition.tools(self._session.settings, confirm=composition.confirm)
        return await tool_service(self._workspace(params), confirm=composition.confirm)


class ModelCommands:
    """One coroutine a request. `consent` asks the person for permissions."""

    def __init__(self, session: Session, consent: Consent | None) -> None:
        self._session = session
        self._consent = consent

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        return {"carrel/providers": self.providers, "carrel/key": self.key}

    async def providers(self, raw: Any) -> wire.ProvidersResult:
        """Answer `carrel/providers`."""
        params = decode(wire.ProvidersParams, raw)
        composition, settings = self._session.composition, self._session.settings
        if params.check and self._consent:
            self._consent.forget()  # whoever checks wants to be asked again
        states = await model_report.report(composition, settings, check=params.check)
        store = await asyncio.to_thread(store_report, composition, settings)
        kept_from = [place for state in states if not state.allowed for place in state.destinations]
        kept_from += [place for place in store.destinations if not composition.outbound.permissions.allows(place)]
        if params.check and await self._allowed_meanwhile(kept_from):
            states = await model_report.report(composition, settings, check=True)
        allows = composition.outbound.permissions.allows
        return wire.ProvidersResult(
            models=tuple(from_state(state, allows) for state in states),
            store=from_store(store, allows),
            known=model_report.providers_by_role(),
            keys=model_report.key_names(settings),
        )

    async def key(self, raw: Any) -> wire.KeyResult:
        """Answer `carrel/key`."""
        params = decode(wire.KeyParams, raw)
        self._session.composition.outbound.keys.give(params.provider, Secret(params.key) if params.key else None)
        if params.key:
            self._session.retry_models()  # the editor can hand a key over only after a folder began to be indexed
        return wire.KeyResult(kept=bool(params.key))

    async def _allowed_meanwhile(self, places: Iterable[Destination]) -> bool:
        """Wait for the person's answer about each place that a check was kept from; tell whether one is allowed now."""
        if self._consent is None:
            return False
        allows = self._session.composition.outbound.permissions.allows
        # A check that is taken back must not take the question back: others may wait for its answer.
        return any([allows(place) or await asyncio.shield(self._consent.want(place)) for place in dict.fromkeys(places)])
