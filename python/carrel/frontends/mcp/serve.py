"""`carrel mcp`: build the server, carry it over stdio or loopback HTTP, and leave nothing behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

from carrel.composition.composition import Composition
from carrel.frontends.common import logs
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import CANCELLED, leave_at_once
from carrel.frontends.common.uris import longest_match
from carrel.frontends.mcp.early_responder import EarlyResponder
from carrel.frontends.mcp.folders import Folders
from carrel.frontends.mcp.http import Loopback, serve_http
from carrel.frontends.mcp.index_readiness import IndexReadiness
from carrel.frontends.mcp.server import McpServer
from carrel.frontends.mcp.server_info import Offer
from carrel.model.caller import Caller
from carrel.model.errors import Cancelled
from carrel.policy.audit import AuditTrail
from carrel.policy.broad_folders import BroadFolder
from carrel.service.session import Session
from carrel.service.workspace import WorkspaceEvents
from carrel.settings.settings import Options

log = logging.getLogger(__name__)


def run(roots: tuple[Path, ...], way: EarlyResponder | Loopback, options: Options, broad: BroadFolder, offer: Offer) -> int:
    """Serve until the client leaves (stdio) or a signal comes; gives the exit code. `options` override the user's file.

    `broad` says who named roots that are no project.
    """
    logs.start()
    # Their records may quote what is sent, and uvicorn's tell with a trace that a Ctrl-C came while it was starting.
    for name in ("mcp", "uvicorn", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        opened = _opened(roots, options, broad, offer, ask_roots=isinstance(way, EarlyResponder))
        run_cancellable(_over_stdio(opened, way) if isinstance(way, EarlyResponder) else _over_http(opened, way))
    except Cancelled:
        return CANCELLED
    return 0


async def _over_stdio(opened: AbstractAsyncContextManager[McpServer], responder: EarlyResponder) -> None:
    async with opened as server:
        # The thread that reads standard input can't be interrupted, and every commit is whole.
        leave_at_once("SIGTERM", "SIGHUP")
        # The SDK wants files, but only iterates over the one, and writes to the other.
        async with stdio_server(cast("Any", responder.lines()), cast("Any", responder)) as (read, write):
            await server.sdk.run(
                read, write, server.sdk.create_initialization_options(NotificationOptions(resources_changed=True))
            )


async def _over_http(opened: AbstractAsyncContextManager[McpServer], loopback: Loopback) -> None:
    async with opened as server:
        await serve_http(server.sdk, loopback, lambda url: log.info("MCP server at %s", url))


@asynccontextmanager
async def _opened(
    roots: tuple[Path, ...], options: Options, broad: BroadFolder, offer: Offer, *, ask_roots: bool
) -> AsyncIterator[McpServer]:
    readiness = IndexReadiness()
    session = Session(
        Composition(audit=AuditTrail(Caller("mcp"))),
        longest_match,
        events=WorkspaceEvents(progressed=readiness.progressed),
        on_settings=lambda settings: logs.set_level(settings.log_level),
    )
    session.configure(options)
    try:
        yield McpServer(Folders(session, roots, fallback=Path.cwd(), broad=broad), readiness, offer, ask_roots=ask_roots)
    finally:
        await session.close()
