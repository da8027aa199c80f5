"""The server's session inside the command's own process: one folder, the same requests, the same answers as an editor gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from carrel.core.errors import Cancelled, InvalidInput
from carrel.frontends.commands import Commands
from carrel.frontends.uris import longest_match, path_to_uri
from carrel.server.session import Session
from carrel.server.wiring import Wiring
from carrel.server.workspace import Workspace

T = TypeVar("T")


def folder(path: Path) -> Path:
    """An existing folder, absolute; raises `InvalidInput`."""
    absolute = path.absolute()
    if not absolute.is_dir():
        raise InvalidInput("path", f"{absolute} is not a folder")
    return absolute


def with_commands(path: Path, use: Callable[[Commands, Workspace], Coroutine[Any, Any, T]]) -> T:
    """Open `path` as a workspace, run `use`, and release everything. Ctrl-C cancels the native work and raises `Cancelled`."""

    async def work() -> T:
        session = Session(Wiring(), longest_match)
        session.configure({})
        try:
            workspace = session.add_folder(str(path), path_to_uri(str(path)))
            return await use(Commands(session, None), workspace)
        finally:
            await session.close()

    try:
        return asyncio.run(work())
    except KeyboardInterrupt:
        raise Cancelled from None
