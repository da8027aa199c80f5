"""Tools of MCP servers, by the official SDK: programs over standard input and output, and services over streamable HTTP.

A connection lasts as long as its `async with`; the program is stopped at its end. A server can ask nothing of Carrel: sampling,
elicitation and roots are not offered. What it says is bounded, and its standard error is dropped.
"""

# ruff: noqa: PLC0415 - the SDK takes long to import
from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from carrel.extensions.tools.servers.mcp_bounds import Bound, bounded_answers, service
from carrel.extensions.tools.servers.mcp_program import program
from carrel.model.catalogue_tool import ToolOutput
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Destination, Outbound, is_loopback
from carrel.settings.tool_settings import ToolServer
from carrel.system import leftovers

if TYPE_CHECKING:
    from mcp import Client

log = logging.getLogger(__name__)
T = TypeVar("T")

START_SECONDS = 60.0
"""How long a server may take to start and to list its tools: `npx` and `uvx` fetch packages the first time."""
STOP_SECONDS = 6.0
"""How long one may take to end; the SDK kills a program that doesn't within 2."""
_READ_SECONDS = 20.0
_MOST_ROWS = 5_000
"""Of the tools or resources that a server lists."""


class McpConnection:
    """A server that is connected. `holder` is the task that holds the connection: it ends with the server. `permit` raises where
    the person no longer allows to ask it."""

    def __init__(self, client: Client, name: str, holder: asyncio.Task[None], bound: Bound, permit: Callable[[], None]) -> None:
        self._client, self._permit = client, permit
        self._name = name
        self._holder = holder
        self._bound = bound

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return all tools in the protocol's own names. Raises `ProviderError`."""
        return await self._ask("didn't list its tools", self._pages(self._client.list_tools, "tools"), START_SECONDS)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Run a tool. Raises `ProviderError` where the server fails; what the tool itself says of its failure is an answer."""
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        # Not `call_tool`: it checks the answer against the server's own schema, whose patterns may hold up everything for hours.
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        result = await self._ask(f"failed to run {tool}", self._client.session.send_request(request, CallToolResult), None)
        return ToolOutput("\n".join(map(_text_of, result.content)), result.structured_content, bool(result.is_error))

    async def list_resources(self) -> list[dict[str, Any]]:
        """Return its resources in the protocol's own names; none where it offers none. Raises `ProviderError`."""
        if self._client.server_capabilities.resources is None:
            return []
        return await self._ask("didn't list its resources", self._pages(self._client.list_resources, "resources"), START_SECONDS)

    async def read_resource(self, uri: str) -> str:
        """Return the text of a resource; empty where it has none. Raises `ProviderError`."""
        result = await self._ask("didn't give a resource", self._client.read_resource(uri, cache_mode="bypass"), _READ_SECONDS)
        texts = (getattr(content, "text", None) for content in result.contents)
        return "\n\n".join(text for text in texts if isinstance(text, str))

    async def _pages(self, list_page: Callable[..., Awaitable[Any]], of_page: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        while cursor != "" and len(rows) <= _MOST_ROWS:
            page = await list_page(cursor=cursor, cache_mode="bypass")
            rows += [row.model_dump(mode="json", by_alias=True, exclude_none=True) for row in getattr(page, of_page)]
            cursor = page.next_cursor or ""
        return rows

    async def _ask(self, what: str, request: Coroutine[Any, Any, T], seconds: float | None) -> T:
        """Wait for an answer, as long as the server is there and may be asked."""
        try:
            self._permit()
        except BaseException:
            request.close()
            raise
        task = asyncio.ensure_future(request)
        waited: set[asyncio.Future[Any]] = {task, self._holder, self._bound.exceeded}
        failure: ProviderError | None = None
        try:
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not self._bound.exceeded.done():
                return task.result()
        except Exception as error:  # which may hold much of what the server sent: nothing must keep it
            failure = _failed(self._name, what, error)
        finally:
            task.cancel()
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            del task, waited
        if failure:
            raise failure
        if self._bound.exceeded.done():
            raise ProviderError(f"The MCP server {self._name} {what}: {self._bound.problem}", self._bound.remedy)
        why = "it ended" if self._holder.done() else f"not within {seconds:g} s"
        raise ProviderError(f"The MCP server {self._name} {what}: {why}")


@asynccontextmanager
async def connected(name: str, server: ToolServer, outbound: Outbound) -> AsyncIterator[McpConnection]:
    """Start or reach a server. Raises `ProviderError`; one elsewhere is asked only where the person allowed its host."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[Client] = loop.create_future()
    ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever is cancelled asks for nothing
    stop = asyncio.Event()
    bound = Bound()
    holder = loop.create_task(_hold(name, server, outbound, ready, stop, bound))
    try:
        waited: set[asyncio.Future[Any]] = {ready, bound.exceeded}
        await asyncio.wait(waited, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if bound.exceeded.done():
            raise ProviderError(f"The MCP server {name} could not be started: {bound.problem}", bound.remedy)
        if not ready.done():
            raise ProviderError(f"The MCP server {name} was not ready within {START_SECONDS:g} s")
        yield McpConnection(ready.result(), name, holder, bound, lambda: _permit(server, outbound))
    finally:
        stop.set()
        if not ready.done():
            holder.cancel()
        done, _ = await asyncio.wait({holder}, timeout=STOP_SECONDS)
        if not done:
            holder.cancel()
            await asyncio.wait({holder}, timeout=STOP_SECONDS)


async def _hold(
    name: str, server: ToolServer, outbound: Outbound, ready: asyncio.Future[Client], stop: asyncio.Event, bound: Bound
) -> None:
    """Keep a connection open until `stop`, in a task of its own: when a server dies, the SDK cancels the task that holds it."""
    try:
        from mcp import Client
    except ImportError:
        # For the Python that this is: an editor may run another than the one that `pip` belongs to.
        remedy = f"Install it for the Python that Carrel runs in, and restart Carrel: {how_to_install('mcp')}"
        ready.set_exception(ProviderError("MCP servers need the package `mcp`, which isn't installed", remedy))
        return
    for logger in ("mcp", "httpx2", "httpcore2"):  # their records quote what servers send
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    try:
        async with AsyncExitStack() as stack:
            transport = await _transport(name, server, outbound, stack, bound)
            client = await stack.enter_async_context(Client(transport, mode="legacy", cache=None))
            if not ready.done():
                ready.set_result(client)
            await stop.wait()
    except CarrelError as error:
        if not ready.done():
            ready.set_exception(error)
    except BaseException as error:
        failure = _failed(name, "could not be started" if server.command else "could not be reached", error)
        if not ready.done():
            ready.set_exception(failure)
        if not isinstance(error, Exception):
            raise


def _permit(server: ToolServer, outbound: Outbound) -> None:
    """Raise `ProviderError` where a server elsewhere may not be asked at this moment."""
    if server.url:
        outbound.permissions.check(Destination("mcp", urlsplit(server.url).netloc.lower()))


async def _transport(name: str, server: ToolServer, outbound: Outbound, stack: AsyncExitStack, bound: Bound) -> Any:
    if server.command:
        env = {variable: os.environ[variable] for variable in server.env if variable in os.environ}
        # Never where Carrel itself was started: `python -m` and `npx` run what a folder holds, and that may be somebody's clone.
        folder = server.cwd or leftovers.new_folder("carrel-mcp-")
        if not server.cwd:
            stack.push_async_callback(asyncio.to_thread, leftovers.drop_folder, folder)  # it may hold any number of files
        # A file, not a pipe that nobody empties: what a server logs is no concern of ours.
        errors = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: ASYNC230, PTH123, SIM115
        return program(server.command, server.args, env, folder, errors, bound)
    import httpx2

    parts = urlsplit(server.url)
    host = parts.netloc.lower()
    if parts.scheme != "https" and not is_loopback(host):
        raise ProviderError(f"The MCP server {name} is asked only over an encrypted connection", "Use https://.")
    _permit(server, outbound)
    headers = {"Accept-Encoding": "identity"}
    if server.key and server.key != "none":
        key = await asyncio.to_thread(outbound.keys.find, f"tools-{name}", server.key)
        if key is None:
            raise ProviderError(f"There is no key for the MCP server {name} where its setting `key` says")
        headers["Authorization"] = f"Bearer {key.reveal()}"
    client = await stack.enter_async_context(
        httpx2.AsyncClient(
            headers=headers,
            follow_redirects=False,
            timeout=httpx2.Timeout(30.0, read=300.0),
            event_hooks=bounded_answers(bound),
        )
    )
    return service(server.url, client, bound)


def _text_of(block: Any) -> str:
    """Return what a block of content says; of what is no text, its kind alone."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and isinstance(text := getattr(block.resource, "text", None), str):
        return text
    return f"[{block.type}]"


def _failed(name: str, what: str, error: BaseException) -> ProviderError:
    """Return a failure; of the server's own words only the kinds of errors are told, which quote nothing."""
    log.info("The MCP server %s %s: %s", name, what, ", ".join(_kinds(error)))
    remedy = "Start it by hand to see what it says." if what.startswith("could not") else ""
    return ProviderError(f"The MCP server {name} {what} ({', '.join(dict.fromkeys(_kinds(error)))})", remedy)


def _kinds(error: BaseException) -> Sequence[str]:
    if isinstance(error, BaseExceptionGroup):
        return [kind for inner in error.exceptions for kind in _kinds(inner)]
    return [type(error).__name__]
