"""The resources of an MCP server as Markdown files in Carrel's cache, so that the core indexes them as it does documents.

Nothing runs at rest: the server is asked when the source is used and what is kept is older than `MINUTES`. What it gives is
bounded; where it fails, what was kept answers.

The resources of MCP servers that the person configured for tools, read as texts of a source.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel.model.errors import CarrelError, ProviderError
from carrel.model.native import CancelToken
from carrel.model.plain_data import inner
from carrel.model.structs import whole_characters
from carrel.sources.documents.freshness import front_matter
from carrel.sources.documents.text_folder import TextMirror, not_writable
from carrel.system.filesystem import replace_file

if TYPE_CHECKING:
    from carrel.extensions.tools.tool_catalogue import ToolCatalogue
    from carrel.index.indexer import RunNative
    from carrel.settings.source_settings import SourceSettings
    from carrel.settings.tool_settings import ToolSettings


MOST_RESOURCES = 500
SECONDS = 180.0
"""How long all of a server's resources may take."""
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


async def fetch_texts(source: SourceSettings, tools: ToolSettings, catalogue: Callable[[], ToolCatalogue]) -> list[ResourceText]:
    """Ask a source's server for all its resources. It is started and stopped again, by a cancel, too."""
    server = tools.servers.get(source.server)
    if server is None:
        raise CarrelError(
            f"There is no MCP server {source.server} among your tools",
            f"Add it with `carrel tools add {source.server} -- PROGRAM`.",
        )
    resources: list[ResourceText] = []
    left = MOST_CHARACTERS
    try:
        async with asyncio.timeout(SECONDS), catalogue().connect(source.server, server) as connection:
            rows = [row for row in await connection.list_resources() if str(row.get("uri", "")).startswith(source.prefix)]
            for row in rows[:MOST_RESOURCES]:
                uri = str(row["uri"])
                if not str(row.get("mimeType", "text/")).startswith(_TEXTS):
                    resources.append(ResourceText(uri, problem=f"its kind, {row['mimeType']}, is no text"))
                    continue
                try:
                    text = await connection.read_resource(uri)
                except ProviderError as error:
                    resources.append(ResourceText(uri, problem=str(error), unread=True))
                    continue
                resources.append(_resource(row, text[:LONGEST_TEXT]))
                left -= len(resources[-1].text)
                if left < 0:  # what keeps them says so of the last one
                    break
    except TimeoutError:
        if not resources:
            raise ProviderError(f"The MCP server {source.server} gave no resources within {SECONDS:g} s") from None
        resources.append(ResourceText(".", problem=f"not all resources were given within {SECONDS:g} s", unread=True))
        return resources
    if len(rows) > MOST_RESOURCES:
        resources.append(ResourceText(".", problem=f"only the first {MOST_RESOURCES} of {len(rows)} resources are read"))
    return resources


def _resource(row: dict[str, Any], text: str) -> ResourceText:
    if not text.strip():
        return ResourceText(str(row["uri"]), problem="it holds no text")
    updated = inner(row, "annotations", "lastModified")
    title = row.get("title") or row.get("name") or ""
    return ResourceText(str(row["uri"]), str(title), text, str(updated or ""))


MINUTES = 10.0
RETRY_MINUTES = 1.0
LONGEST_TEXT = 1_000_000
MOST_CHARACTERS = 20_000_000
_FORMAT = 2
_LONGEST_NAME = 120
_DIGEST = 8


class ResourceText(Struct, frozen=True):
    """A resource of a server: its text, or in `problem` why it has none."""

    uri: str
    title: str = ""
    text: str = ""
    updated_at: str = ""
    problem: str = ""
    unread: bool = False
    """It could not be read this time: what was read of it before stays. With the URI `.` that holds for all that isn't named."""


Fetch = Callable[[], Awaitable[Sequence[ResourceText]]]
"""Asks the server for all that it offers; blocks. Raises `CarrelError`."""


class ResourceMirror(TextMirror):
    """The texts of one server's resources."""

    def __init__(self, directory: Path, fetch: Fetch, now: Callable[[], float] = time.time) -> None:
        super().__init__(directory)
        self._fetch = fetch
        self._now = now
        self._next = 0.0
        self._failed: dict[str, str] = {}

    def original(self, path: str) -> str:
        """Return the name of the resource that a text stands for."""
        return resource_name(path)

    @property
    def failed(self) -> dict[str, str]:
        """Name what could not be read, and why."""
        return self._failed

    def expire(self) -> None:
        """Have the server asked the next time, however young what is kept is."""
        self._next = 0.0
        self._state_file.unlink(missing_ok=True)

    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = lambda: None) -> int:
        """Ask the server if that is due; return how many texts changed. Raises `StoreError` where they can't be written.

        Files are read and written by `native`; no thread waits for the server. `compared` is called before it is asked.
        """
        now = self._now()
        due = await native(partial(self._is_due, now))
        compared()
        if not due:
            return 0
        try:
            resources = await self._fetch()
        except CarrelError as error:
            self._failed, self._next = {".": str(error)}, now + 60 * RETRY_MINUTES
            return 0
        return 0 if cancel.cancelled else await native(partial(self._keep, resources, now))

    def _is_due(self, now: float) -> bool:
        self.prepare()
        return now >= max(self._next, self._read_at() + 60 * MINUTES)

    def _keep(self, resources: Sequence[ResourceText], now: float) -> int:
        try:
            changed = self._write(resources)
            if any(resource.unread for resource in resources):
                self._next = now + 60 * RETRY_MINUTES
            else:
                replace_file(self._state_file, json.dumps({"at": now, "format": _FORMAT}).encode())
        except OSError as error:
            raise not_writable(self.texts, error) from None
        return changed

    def _read_at(self) -> float:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            state = json.loads(self._state_file.read_text("utf-8"))
            # A clock that was set back must not keep old texts for years.
            return min(float(state["at"]), self._now()) if state["format"] == _FORMAT else 0.0
        return 0.0

    def _write(self, resources: Sequence[ResourceText]) -> int:
        """Write what is new or changed and delete what is offered no more."""
        self._failed, changed, left, kept = {}, 0, MOST_CHARACTERS, set[str]()
        for resource in resources:
            if resource.problem:
                self._failed[resource.uri] = resource.problem
                if resource.unread:
                    kept.add(_file_name(resource.uri))
                continue
            text = whole_characters(resource.text[:LONGEST_TEXT])
            left -= len(text)
            if left < 0:
                self._failed[resource.uri] = f"the resources hold more than {MOST_CHARACTERS:,} characters"
                continue
            name = _file_name(resource.uri)
            kept.add(name)
            page, path = _page(resource, text).encode(), self.texts / name
            if not path.exists() or path.read_bytes() != page:
                replace_file(path, page)
                changed += 1
        if any(resource.unread and resource.uri == "." for resource in resources):
            return changed
        for path in self.texts.glob("*.md"):
            if path.name not in kept:
                path.unlink()
                changed += 1
        return changed


def _file_name(uri: str) -> str:
    """Return the name of a resource's text, one part of a path whatever the URI holds; `resource_name` reads it back."""
    escaped = quote(uri.partition("://")[2] or uri, safe="/ ", errors="replace").replace("/", "=")
    if len(escaped) > _LONGEST_NAME:
        cut = escaped[-_LONGEST_NAME:]
        escaped = cut.partition("=")[2] or cut.partition("%")[0] or "resource"
    digest = hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{'%2E' if escaped.startswith('.') else ''}{escaped.removeprefix('.')}-{digest}.md"


def resource_name(file_name: str) -> str:
    """Return the name of a resource as its server gives it, but for the scheme: `runbooks/restart.txt`."""
    return unquote(file_name.removesuffix(".md")[: -_DIGEST - 1].replace("=", "/"))


def _page(resource: ResourceText, text: str) -> str:
    title = " ".join(whole_characters(resource.title).split())[:200] or resource.uri[:200]
    head = front_matter({"title": title, "updated_at": resource.updated_at[:40], "resource": resource.uri[:1_000]})
    return f"{head}\n# {title}\n\n{text}\n"
