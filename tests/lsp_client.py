"""The LSP client of `carrel demo`, with what tests need beside it: the notifications that came, and an imagined editor.

async with LspClient.started(folder) as client:
    await client.request("carrel/index", {})
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Self

from carrel.frontends.common.lsp_client import SERVER, LspError
from carrel.frontends.common.lsp_client import LspClient as PlainClient
from carrel.frontends.common.uris import path_to_uri

__all__ = ["SERVER", "LspClient", "LspError"]


class LspClient(PlainClient):
    """One server process and the conversation with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__(process)
        self.notifications: list[tuple[str, Any]] = []
        self._arrived = asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def started(
        cls,
        *folders: Path,
        options: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        **spawn: Any,
    ) -> AsyncIterator[Self]:
        """Start a server, initialize it with these folders, and shut it down at the end."""
        client = await cls.spawn(**spawn)
        try:
            await client.initialize(*folders, options=options, capabilities=capabilities)
            yield client
            await client.stop()
        finally:
            await client.kill()

    def cancel(self, identity: int) -> None:
        """Take a request back; it is answered nevertheless, by an error as a rule."""
        self.notify("$/cancelRequest", {"id": identity})

    async def wait_for(self, method: str, accept: Callable[[Any], bool] = lambda _: True, *, seconds: float = 20) -> Any:
        """Await a notification that came or will come; gives its parameters."""

        def matches() -> list[Any]:
            return [params for name, params in self.notifications if name == method and accept(params)]

        async with asyncio.timeout(seconds):
            while not matches():
                self._arrived.clear()
                await self._arrived.wait()
        return matches()[0]

    def open(self, path: Path, text: str, language: str = "") -> None:
        """Open a document in the client's imagined editor."""
        item = {"uri": path_to_uri(str(path)), "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, path: Path, text: str, version: int = 2) -> None:
        """Replace a document's whole text."""
        document = {"uri": path_to_uri(str(path)), "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def save(self, path: Path) -> None:
        """Say that a document was saved."""
        self.notify("textDocument/didSave", {"textDocument": {"uri": path_to_uri(str(path))}})

    def close(self, path: Path) -> None:
        """Close a document."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": path_to_uri(str(path))}})

    def files_changed(self, *changes: tuple[Path, int]) -> None:
        """Report changes on disk: 1 created, 2 changed, 3 deleted."""
        events = [{"uri": path_to_uri(str(path)), "type": kind} for path, kind in changes]
        self.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def _take(self, message: dict[str, Any]) -> None:
        super()._take(message)
        if "method" in message:
            self.notifications.append((message["method"], message.get("params")))
        elif message.get("id") is None:
            self.notifications.append(("error", message.get("error")))
        self._arrived.set()
