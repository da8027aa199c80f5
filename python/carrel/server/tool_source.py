"""Safe tools of the person as a place where questions go: what one says becomes a hit, quoted as any other text.

Only tools that the person approved and called `safe` (`tools.risk`) run here by themselves; no server's word makes one safe.
"""

# ruff: noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from carrel.core.catalogue_tool import BUILT_IN, CatalogueTool
from carrel.core.errors import CarrelError
from carrel.core.lines import lines_of
from carrel.core.types import Chunk, Hit, Origin, Signals, Span

if TYPE_CHECKING:
    from carrel.server.workspace import Workspace

_LONGEST_RESULT = 20_000
_LEAST_SECONDS = 0.5
"""No server starts and answers within less."""
PREFIX = "tool:"
"""Before the name of a tool among the sources that a question can go to."""


def safe_tools(workspace: Workspace) -> list[CatalogueTool]:
    """Return the tools that may be asked without the person: approved as they are, and called safe by the person."""
    settings = workspace.settings.tools
    if not settings.runnable or "safe" not in settings.risk.values():
        return []
    state = workspace.composition.tools(workspace.settings).state()
    return [item.tool for item in state.tools if item.usable and item.tool.risk == "safe" and item.tool.source != BUILT_IN]


async def ask_tool(workspace: Workspace, tool: CatalogueTool, text: str, seconds: float) -> Hit:
    """Run a tool for a question, and return what it says as a hit. Raises `CarrelError`."""
    from carrel.engine.tool_routing import arguments_for
    from carrel.server.index_opening import question_mask

    if seconds < _LEAST_SECONDS:
        raise CarrelError(f"The tool {tool.qualified} was not asked: there was no time for it")
    service = workspace.composition.tools(workspace.settings, confirm=None)
    arguments = arguments_for(tool, question_mask(workspace.settings)(text)) or {}
    asked = asyncio.ensure_future(
        service.run({"steps": [{"tool": tool.qualified, "args": dict(arguments)}], "risk_level": "safe"}, "")
    )
    try:
        await asyncio.wait({asked}, timeout=seconds)
    finally:
        if not asked.done():
            workspace.composition.end(asked)
    if not asked.done():
        raise CarrelError(f"The tool {tool.qualified} gave no answer in time")
    run = asked.result()
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
