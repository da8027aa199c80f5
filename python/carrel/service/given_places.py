"""Places of an earlier answer that may not be given again: the rules of this moment decide, not those of then."""

from __future__ import annotations

from collections.abc import Iterable

from carrel.model.native import CancelToken
from carrel.model.types import ContextItem
from carrel.service.tool_source import PREFIX
from carrel.service.workspace import Workspace
from carrel.settings.source_settings import WORKSPACE


async def refused_paths(workspace: Workspace, items: Iterable[ContextItem]) -> frozenset[str]:
    """Return the paths among these places that are ignored, secret, outside or gone now, or of a source that is set no more.

    Raises `CarrelError` where nothing at all may be searched. What settings exclude is for the caller to compare.
    """
    origins: dict[str, set[str]] = {}  # paths by the source that gave them
    for chunk in (item.hit.chunk for item in items):
        origins.setdefault(chunk.origin.source if chunk.origin else WORKSPACE, set()).add(chunk.path)
    index = await workspace.ready(explicit=False, wait_ms=0)
    in_workspace = origins.pop(WORKSPACE, set())
    if origins:
        workspace.require("sources")
    sources = {source.id: source for source in workspace.sources()}

    def refused(_: CancelToken) -> frozenset[str]:
        refusals = {path for path in in_workspace if index.store.refusal(path) is not None}
        for name, paths in origins.items():
            source = sources.get(name)
            if not name.startswith(PREFIX):  # what a tool said has no rules but the settings
                refusals |= {path for path in paths if source is None or source.refused(path)}
        return frozenset(refusals)

    return await workspace.run_interactive(refused)
