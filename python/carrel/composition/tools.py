"""Make the tool catalogue of a process: where it is kept, how servers are connected and tools indexed."""

# ruff: noqa: PLC0415 - most processes ask for no tools
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, cast

from carrel.composition.models import bundled
from carrel.extensions.tools.tool_catalogue import ToolCatalogue
from carrel.model.local_index import CoreEmbedder, IndexStore
from carrel.model.outbound import Outbound
from carrel.settings.tool_settings import ToolServer

if TYPE_CHECKING:
    from carrel.extensions.tools.servers.mcp_tools import McpConnection


def tool_catalogue(outbound: Callable[[], Outbound], new_index: Callable[[], tuple[IndexStore, CoreEmbedder]]) -> ToolCatalogue:
    """Return the catalogue that is kept in the person's data folder."""
    import platformdirs

    from carrel.extensions.tools.servers.mcp_tools import connected
    from carrel.extensions.tools.tool_catalogue import ToolStore

    def connect(name: str, server: ToolServer) -> AbstractAsyncContextManager[McpConnection]:
        return connected(name, server, outbound())

    path = platformdirs.user_data_path("carrel", appauthor=False) / "tools.json"
    return ToolCatalogue(ToolStore(path), connect, new_index)


def tool_index() -> tuple[IndexStore, CoreEmbedder]:
    """Return an empty index in memory for the texts of tools, and the model that embeds them."""
    from carrel.model.native import CutOptions, Store, WalkOptions

    model = cast("CoreEmbedder", bundled())
    spec = model.spec
    store = Store.open("", "", embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions(), in_memory=True)
    return store, model
