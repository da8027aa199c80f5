"""Safe tools of the person as a place where questions go: what one says becomes a hit, quoted as any other text.

Only tools that the person approved and called `safe` (`tools.risk`) run here by themselves; no server's word makes one safe.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from carrel.model.catalogue_tool import BUILT_IN, CatalogueTool
from carrel.model.errors import CarrelError
from carrel.model.lines import lines_of
from carrel.model.types import Chunk, Hit, Origin, Signals, Span

if TYPE_CHECKING:
    from carrel.service.workspace import Workspace

_LONGEST_RESULT = 20_000
_LEAST_SECONDS = 0.5
"""No server starts and answers within less."""
_LEAST_WORDS = 2
"""How many telling words of a question its tool must hold."""
PREFIX = "tool:"
"""Before the name of a tool among the sources that a question can go to."""


def safe_tools(workspace: Workspace, text: str) -> list[CatalogueTool]:
    """Return the tools that a question may go to: approved as they are, called safe by the person, and content with its text."""
    settings = workspace.settings.tools
    if not settings.servers or "safe" not in settings.risk.values():
        return []
    state = workspace.composition.tools(workspace.settings).state()
    safe = [item.tool for item in state.tools if item.usable and item.tool.risk == "safe" and item.tool.source != BUILT_IN]
    return [tool for tool in safe if _arguments(tool, text) is not None]


async def fitting_tool(workspace: Workspace, tools: Sequence[CatalogueTool], text: str) -> CatalogueTool | None:
    """Return which of the tools a question fits best by the catalogue's search; None where it hardly does.

    Raises `NotPermitted` for a caller that may not know of tools.
    """
    from carrel.extensions.tools.catalogue.search import ToolQuery

    service = workspace.composition.tools(workspace.settings)
    query = ToolQuery(text, limit=1, among=frozenset(tool.qualified for tool in tools))
    matches = await service.search(query, usable_only=False)
    return next((item.tool for item, _ in matches if len(item.why) >= _LEAST_WORDS), None)


async def ask_tool(workspace: Workspace, tool: CatalogueTool, text: str, seconds: float) -> Hit:
    """Run a tool for a question, and return what it says as a hit. Raises `CarrelError`."""
    from carrel.index.index_opening import question_mask

    if seconds < _LEAST_SECONDS:
        raise CarrelError(f"The tool {tool.qualified} was not asked: there was no time for it")
    service = workspace.composition.tools(workspace.settings, confirm=None)
    arguments = _arguments(tool, question_mask(workspace.settings)(text)) or {}
    task = asyncio.ensure_future(service.run({"steps": [{"tool": tool.qualified, "args": arguments}], "risk_level": "safe"}, ""))
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            workspace.composition.end(task)
    if not task.done():
        raise CarrelError(f"The tool {tool.qualified} gave no answer in time")
    run = task.result()
    if run.problem or run.result is None:
        raise CarrelError(f"The tool {tool.qualified} failed: {run.problem}")
    said = run.result.output[:_LONGEST_RESULT].strip() or "(It said nothing.)"
    now = datetime.now(UTC)
    chunk = Chunk(
        id=f"{tool.fingerprint[:16]}{int(now.timestamp()):016x}",
        path=f"@{tool.source}/{tool.name}",
        language="text",
        source="docs",
        kind="tool result",
        symbol=f"{tool.qualified}",
        span=Span(1, len(lines_of(said))),
        text=said,
        updated_at=int(now.timestamp()),
        origin=Origin(
            f"{PREFIX}{tool.qualified}",
            f"{PREFIX}{tool.qualified}",
            f"said by the tool {tool.qualified} at {now:%Y-%m-%d %H:%M} UTC",
        ),
    )
    return Hit(chunk, 1.0, Signals())


def _arguments(tool: CatalogueTool, text: str) -> dict[str, str] | None:
    """Return what a tool is called with for a question: nothing, or the question as its one text; None where it needs more."""
    from carrel.agent.tool_arguments import problem_with

    required = tool.schema.get("required")
    arguments = {str(required[0]): text} if required and isinstance(required, list) else {}
    return None if problem_with(arguments, tool.schema) else arguments
