"""The requests about tools and pipelines: decode, call, encode."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from carrel.frontends.lsp.convert import convert_tools
from carrel.frontends.lsp.messages import tool_messages as wire
from carrel.model.structs import decode
from carrel.service.workspace_tools import tool_service

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from carrel.extensions.tools.pipelines.running import StepReport
    from carrel.extensions.tools.tool_service import ToolService
    from carrel.frontends.lsp.client_model import Asker
    from carrel.frontends.lsp.messages.question_messages import FolderParams
    from carrel.service.session import Session
    from carrel.service.workspace import Workspace


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
        found = await service.search(ToolQuery(params.query, params.limit, params.risk, params.tags), usable_only=False)
        tools = tuple(convert_tools.from_tool(stated, item) for item, stated in found)
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
            tools=tuple(convert_tools.from_tool(item) for item in state.tools),
            problems=(*problems, *state.problems),
            exported=export(usable, params.export) if params.export else UNSET,
        )

    async def validate(self, raw: Any) -> wire.PipelineChecked:
        """Answer `carrel/pipeline/validate`."""
        params = decode(wire.PipelineParams, raw)
        service = await self._service(params)
        return convert_tools.from_checked(service.check(params.pipeline, params.input_data))

    async def run(self, raw: Any) -> wire.PipelineRunResult:
        """Answer `carrel/pipeline/run`."""
        params = decode(wire.PipelineRunParams, raw)
        service = await self._service(params)

        def tell(step: StepReport) -> None:
            if self._client is not None:
                self._client.report(params.partial_result_token, convert_tools.from_step(step))

        return convert_tools.from_run(await service.run(params.pipeline, params.input_data, tell))

    async def _service(self, params: FolderParams) -> ToolService:
        composition = self._session.composition
        if not self._session.folders and params.workspace_folder is None:
            return composition.tools(self._session.settings, confirm=composition.confirm)
        return await tool_service(self._workspace(params), confirm=composition.confirm)
