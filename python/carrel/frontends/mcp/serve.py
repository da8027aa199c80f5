"""`carrel mcp`: build the server, carry it over stdio, and leave nothing behind."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp_types import jsonrpc_message_adapter

from carrel.composition.composition import Composition
from carrel.frontends.common import logs
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import CANCELLED, leave_at_once
from carrel.frontends.common.uris import longest_match
from carrel.frontends.mcp.early_responder import EarlyResponder
from carrel.frontends.mcp.folders import Folders
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


def run(roots: tuple[Path, ...], responder: EarlyResponder, options: Options, broad: BroadFolder, offer: Offer) -> int:
    """Serve until the client leaves or a signal comes; gives the exit code. `options` override the user's file.

    `broad` says who named roots that are no project.
    """
    logs.start()
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # its records may quote what is sent
    try:
        run_cancellable(_over_stdio(_opened(roots, options, broad, offer), responder))
    except Cancelled:
        return CANCELLED
    return 0


async def _over_stdio(opened: AbstractAsyncContextManager[McpServer], responder: EarlyResponder) -> None:
    async with opened as server:
        # The thread that reads standard input can't be interrupted, and every commit is whole.
        leave_at_once("SIGTERM", "SIGHUP")
        # The SDK wants files, but only iterates over the one, and writes to the other.
        lines = responder.lines(jsonrpc_message_adapter.validate_json)
        async with stdio_server(cast("Any", lines), cast("Any", responder)) as (read, write):
            await server.sdk.run(
                read, write, server.sdk.create_initialization_options(NotificationOptions(resources_changed=True))
            )


@asynccontextmanager
async def _opened(roots: tuple[Path, ...], options: Options, broad: BroadFolder, offer: Offer) -> AsyncIterator[McpServer]:
    readiness = IndexReadiness()
    session = Session(
        Composition(audit=AuditTrail(Caller("mcp"))),
        longest_match,
        events=WorkspaceEvents(progressed=readiness.progressed),
        on_settings=lambda settings: logs.set_level(settings.log_level),
    )
    session.configure(options)
    try:
        yield McpServer(Folders(session, roots, fallback=Path.cwd(), broad=broad), readiness, offer)
    finally:
        await session.close()
