"""The resources of MCP servers that the person configured for tools, read as texts of a source."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from carrel.model.errors import CarrelError, ProviderError

if TYPE_CHECKING:
    from carrel.extensions.tools.tool_catalogue import ToolCatalogue
    from carrel.settings.source_settings import SourceSettings
    from carrel.settings.tool_settings import ToolSettings
    from carrel.sources.documents.resource_mirror import Fetch, ResourceText

MOST_RESOURCES = 500
SECONDS = 180.0
"""How long all of a server's resources may take."""
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


def fetcher(source: SourceSettings, tools: ToolSettings, catalogue: Callable[[], ToolCatalogue]) -> Fetch:
    """Return what asks a source's server. It starts the server, asks, and stops it; a cancel too stops it."""

    async def fetch() -> list[ResourceText]:
        return await _texts(source, tools, catalogue())

    return fetch


async def _texts(source: SourceSettings, tools: ToolSettings, catalogue: ToolCatalogue) -> list[ResourceText]:
    from carrel.sources.documents.resource_mirror import LONGEST_TEXT, MOST_CHARACTERS, ResourceText

    server = tools.servers.get(source.server)
    if server is None:
        raise CarrelError(
            f"There is no MCP server {source.server} among your tools",
            f"Add it with `carrel tools add {source.server} -- PROGRAM`.",
        )
    found: list[ResourceText] = []
    left = MOST_CHARACTERS
    try:
        async with asyncio.timeout(SECONDS), catalogue.connect(source.server, server) as connection:
            rows = [row for row in await connection.list_resources() if str(row.get("uri", "")).startswith(source.prefix)]
            for row in rows[:MOST_RESOURCES]:
                uri = str(row["uri"])
                if not str(row.get("mimeType", "text/")).startswith(_TEXTS):
                    found.append(ResourceText(uri, problem=f"its kind, {row['mimeType']}, is no text"))
                    continue
                try:
                    text = await connection.read_resource(uri)
                except ProviderError as error:
                    found.append(ResourceText(uri, problem=str(error), unread=True))
                    continue
                found.append(_resource(row, text[:LONGEST_TEXT]))
                left -= len(found[-1].text)
                if left < 0:  # what keeps them says so of the last one
                    break
    except TimeoutError:
        if not found:
            raise ProviderError(f"The MCP server {source.server} gave no resources within {SECONDS:g} s") from None
        found.append(ResourceText(".", problem=f"not all resources were given within {SECONDS:g} s", unread=True))
        return found
    if len(rows) > MOST_RESOURCES:
        found.append(ResourceText(".", problem=f"only the first {MOST_RESOURCES} of {len(rows)} resources are read"))
    return found


def _resource(row: dict[str, Any], text: str) -> ResourceText:
    from carrel.sources.documents.resource_mirror import ResourceText

    if not text.strip():
        return ResourceText(str(row["uri"]), problem="it holds no text")
    notes = row.get("annotations")
    updated = notes.get("lastModified") if isinstance(notes, dict) else None
    title = row.get("title") or row.get("name") or ""
    return ResourceText(str(row["uri"]), str(title), text, str(updated or ""))
