"""Describe every source that a workspace's questions can be answered from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from carrel.settings.source_settings import WORKSPACE
from carrel.sources.source_state import SourceReport

if TYPE_CHECKING:
    from carrel.service.workspace import Workspace

THE_WORKSPACE = "The code and documents of the user's workspace."


async def report(workspace: Workspace) -> list[SourceReport]:
    """Return the workspace itself, then the sources beside it; makes no index."""
    status = await workspace.status()
    own = SourceReport(
        WORKSPACE,
        "code",
        THE_WORKSPACE,
        str(workspace.root),
        status.state,
        status.files,
        status.chunks,
        status.pending,
        status.last_indexed,
        (*status.problems, *((status.error,) if status.error else ())),
        status.failed,
    )
    return [own, *[await source.report() for source in workspace.sources()]]
