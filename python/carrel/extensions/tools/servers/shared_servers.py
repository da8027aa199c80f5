"""Servers of tools that several runs share: starting one can take longer than all that it is asked."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from carrel.model.errors import ProviderError
from carrel.settings.tool_settings import ToolServer

if TYPE_CHECKING:
    from carrel.extensions.tools.servers.mcp_tools import McpConnection


Connect = Callable[[str, ToolServer], AbstractAsyncContextManager["McpConnection"]]

_REUSE_SECONDS = 5.0
"""One that ran before lists its tools so soon, or hangs."""


class SharedServers:
    """Connections to servers, opened when a run needs them and closed when nobody uses any. Lives on one event loop."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._stack = AsyncExitStack()
        self._connections: dict[tuple[str, ToolServer], McpConnection] = {}
        self._starting: defaultdict[tuple[str, ToolServer], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._users = 0
        self._waiting: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def in_use(self, *, linger_seconds: float = 0.0) -> AsyncIterator[None]:
        """Keep what is opened until the end of this; so much longer where a caller may come again who says no more than that."""
        self._users += 1
        self._stop_waiting()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._stop_waiting()
                if linger_seconds:
                    self._waiting = asyncio.get_running_loop().call_later(linger_seconds, self._begin_to_close)
                else:
                    await self._close()

    async def open(self, name: str, server: ToolServer) -> tuple[McpConnection, list[dict[str, Any]]]:
        """Return a server with its tools as it lists them now. One that has ended or hangs is started anew.

        Raises `ProviderError`.
        """
        key = name, server
        async with self._starting[key]:
            if connection := self._connections.get(key):
                with suppress(ProviderError, TimeoutError):
                    return connection, await asyncio.wait_for(connection.list_tools(), _REUSE_SECONDS)
            connection = self._connections[key] = await self._stack.enter_async_context(self._connect(name, server))
            return connection, await connection.list_tools()

    async def close(self) -> None:
        """Close what lingers. They can be opened again."""
        self._stop_waiting()
        await self._close_unused()
        if self._closing is not None:
            await self._closing

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _begin_to_close(self) -> None:
        self._waiting, self._closing = None, asyncio.get_running_loop().create_task(self._close_unused())

    async def _close_unused(self) -> None:
        if not self._users:
            await self._close()

    async def _close(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        self._connections.clear()
        self._starting.clear()  # the next users may be of another event loop
        await stack.aclose()
