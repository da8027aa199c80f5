"""Make the team's cache of vectors that is set, and tell what it is.

Make the tool catalogue of a process: where it is kept, how servers are connected, files read and tools indexed.
"""

# ruff: noqa: PLC0415 - it is in a folder, at a server or in an object store
# ruff: noqa: PLC0415 - most processes ask for no tools
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from carrel.composition.models import bundled
from carrel.extensions.team.team_cache import SealedValues, TeamCache, TeamStatus
from carrel.extensions.team.team_ledger import TeamLedger
from carrel.extensions.team.team_seal import TeamSeal
from carrel.extensions.tools.tool_catalogue import Connection, HttpOperations, ToolCatalogue
from carrel.model.errors import CarrelError, ProviderError
from carrel.settings.tool_settings import OpenApiSettings, ToolServer

if TYPE_CHECKING:
    from carrel.extensions.team.object_values import ObjectValues
    from carrel.model.local_index import CoreEmbedder, IndexStore
    from carrel.model.outbound import Destination, Outbound
    from carrel.settings.team_settings import TeamSettings


def tool_catalogue(outbound: Callable[[], Outbound], new_index: Callable[[], tuple[IndexStore, CoreEmbedder]]) -> ToolCatalogue:
    """Return the catalogue that is kept in the person's data folder."""
    import platformdirs

    from carrel.extensions.tools.catalogue.files import read_document
    from carrel.extensions.tools.servers.mcp_tools import McpServerSpec, connected
    from carrel.extensions.tools.servers.openapi_service import OpenApiService
    from carrel.extensions.tools.tool_store import ToolStore

    def connect(name: str, server: ToolServer) -> AbstractAsyncContextManager[Connection]:
        spec = McpServerSpec(name, server.command, server.args, server.env, server.cwd, server.url, server.key)
        return connected(spec, outbound())

    def open_service(name: str, service: OpenApiSettings) -> HttpOperations:
        return OpenApiService(name, service.url, service.key, outbound(), keys=service.keys)

    path = platformdirs.user_data_path("carrel", appauthor=False) / "tools.json"
    return ToolCatalogue(ToolStore(path), connect, read_document, new_index, open_service)


def tool_index() -> tuple[IndexStore, CoreEmbedder]:
    """Return an empty index in memory for the texts of tools, and the model that embeds them."""
    from carrel.model.native import CutOptions, Store, WalkOptions

    model = cast("CoreEmbedder", bundled())
    spec = model.spec
    store = Store.open("", "", embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions(), in_memory=True)
    return store, model


__all__ = ["TeamCache", "TeamStatus", "make_team_cache", "team_destination"]

TEAM_LEDGER = "team.sqlite"
PROVIDER = "team"


def make_team_cache(settings: TeamSettings, outbound: Outbound, ledger: Path) -> TeamCache | None:
    """Return the team's cache; None where none is set. Opens nothing and asks nobody. Raises `InvalidInput`."""
    if not settings.used:
        return None
    from carrel.extensions.team.folder_values import FolderValues
    from carrel.extensions.team.qdrant_values import QdrantValues

    if settings.folder:
        place = Path(settings.folder).expanduser() / settings.collection
        name = str(place)
        values: SealedValues = FolderValues(place)
    elif settings.is_object_store:
        objects = _objects(settings, outbound)
        name = f"{settings.collection} in {settings.url.rstrip('/')} at {objects.destinations[0].host}"
        values = objects
    else:
        name = f"{settings.collection} in Qdrant at {urlsplit(settings.url).netloc}"
        values = QdrantValues(outbound, settings.url, settings.collection, settings.key)
    return TeamCache(name, values, lambda: find_seal(settings, outbound), TeamLedger(ledger))


def problem_of(settings: TeamSettings, outbound: Outbound) -> str:
    """Say what is missing for a team's cache that is set; "" for nothing. Reads the keyring and asks nobody."""
    try:
        if destination := team_destination(settings, outbound):
            outbound.permissions.check(destination)
        find_seal(settings, outbound)
    except CarrelError as error:
        return str(error)
    return ""


def find_seal(settings: TeamSettings, outbound: Outbound) -> TeamSeal:
    """Return what the team's secret makes. Raises `CarrelError` where it is missing or can't be used. Runs on a thread."""
    secret = outbound.keys.find(PROVIDER, settings.secret)
    if secret is None:
        raise ProviderError("There is no team secret", "Enter it with `carrel models key team`, or set `CARREL_TEAM_SECRET`.")
    return TeamSeal(secret)


def team_destination(settings: TeamSettings, outbound: Outbound) -> Destination | None:
    """Return which host sealed vectors are sent to; None for none, and for a folder."""
    if not settings.url:
        return None
    if settings.is_object_store:
        return _objects(settings, outbound).destinations[0]
    from carrel.extensions.team.qdrant_values import QdrantValues

    return QdrantValues(outbound, settings.url, settings.collection).destinations[0]


def _objects(settings: TeamSettings, outbound: Outbound) -> ObjectValues:
    from carrel.extensions.team.object_values import ObjectValues

    return ObjectValues(
        outbound, settings.url, settings.collection, endpoint=settings.endpoint, region=settings.region, key=settings.key
    )
