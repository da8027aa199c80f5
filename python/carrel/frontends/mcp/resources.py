"""Give files and runs of lines as MCP resources: what is in the index, and may be read at this moment.

`carrel://code/FOLDER/PATH` names a file, with `?lines=A-B` some lines of it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel.model.errors import CarrelError, InvalidInput

if TYPE_CHECKING:
    from carrel.frontends.mcp.folders import Folders
    from carrel.frontends.mcp.index_readiness import IndexReadiness, Report
    from carrel.index.open_index import OpenIndex
    from carrel.model.native import CancelToken


PREFIX = "carrel://code/"
FILE_TEMPLATE = PREFIX + "{folder}/{+path}"
LINES_TEMPLATE = FILE_TEMPLATE + "?lines={start}-{end}"


class ResourceRef(Struct, frozen=True):
    """What a resource's URI names. `lines` are 1-based and inclusive; None is the whole file."""

    folder: str
    path: str
    lines: tuple[int, int] | None = None


def build(folder: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Return the URI of a file or of some lines of it."""
    name = quote(folder.encode("utf-8", "surrogateescape"), safe="-._~")
    rest = quote(path.encode("utf-8", "surrogateescape"), safe="/-._~")
    return f"{PREFIX}{name}/{rest}" + (f"?lines={lines[0]}-{lines[1]}" if lines else "")


def parse(uri: str) -> ResourceRef:
    """Read a resource's URI; raises `InvalidInput`. Whether its path may be read is the gate's to say."""
    if not uri.startswith(PREFIX):
        raise InvalidInput("uri", "is not one of this server's", f"They begin with {PREFIX}")
    rest, _, query = uri[len(PREFIX) :].partition("?")
    folder, _, path = rest.partition("/")
    folder, path = (unquote(part, errors="surrogateescape") for part in (folder, path))
    if not folder or not path or path.startswith("/"):
        raise InvalidInput("uri", "names no file", f"The form is {FILE_TEMPLATE}")
    if not query:
        return ResourceRef(folder, path)
    first, _, last = query.removeprefix("lines=").partition("-")
    lines = (int(first), int(last)) if query.startswith("lines=") and is_count(first) and is_count(last) else (0, 0)
    if not 1 <= lines[0] <= lines[1]:
        raise InvalidInput("uri", "names no lines", "The form is lines=10-20", value=query)
    return ResourceRef(folder, path, lines)


PAGE = 500


class ResourcePage(Struct, frozen=True):
    """Some files as (URI, path), and where the next page begins."""

    files: tuple[tuple[str, str], ...]
    cursor: str | None


class Resources:
    """Lists and reads what a client may show or attach."""

    def __init__(self, folders: Folders, readiness: IndexReadiness) -> None:
        self._folders = folders
        self._readiness = readiness

    async def page(self, cursor: str | None) -> ResourcePage:
        """Return the files of every index that exists, a page at a time. Listing makes no index and waits for none."""
        at, offset = _position(cursor)
        folders = self._folders.all()
        while at < len(folders):
            name, workspace = folders[at]
            workspace.require("search")
            await workspace.status()  # opens an index that exists
            paths: list[str] = []
            if index := workspace.index:
                paths = await workspace.run_interactive(partial(_readable, index, offset))
            more = len(paths) > PAGE
            following = f"{at}:{offset + PAGE}" if more else f"{at + 1}:0" if at + 1 < len(folders) else None
            if paths or following is None:
                allowed = [path for path in paths[:PAGE] if path]
                return ResourcePage(tuple((build(name, path), path) for path in allowed), following)
            at, offset = at + 1, 0
        return ResourcePage((), None)

    async def read(self, uri: str, report: Report) -> str:
        """Return the text of a file or of some of its lines, as it stands now. Raises `CarrelError`."""
        ref = parse(uri)
        name, workspace, path = self._folders.place(ref.folder, ref.path)
        await self._readiness.ready(workspace, name, report)
        index = await workspace.open()

        def work(_: CancelToken) -> str:
            if reason := index.store.refusal(path):
                raise CarrelError(f"{path} may not be read: {reason}")
            view = index.store.snapshot()
            text = view.lines(path, *ref.lines) if ref.lines else view.text(path)
            if text is None:
                raise CarrelError(f"{path} has no such lines, or is not in the index")
            return text

        return await workspace.run_interactive(work)


def _readable(index: OpenIndex, offset: int, _: CancelToken) -> list[str]:
    """Return a page of paths and one more if there is one; an empty string stands where a file may no longer be read."""
    paths = index.store.snapshot().paths()[offset : offset + PAGE + 1]
    return [path if index.store.refusal(path) is None else "" for path in paths]


def is_count(text: str) -> bool:
    """Tell whether a text is a number from 0 on, of at most nine digits."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _position(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    at, colon, offset = cursor.partition(":")
    if not colon or not is_count(at) or not is_count(offset):
        raise InvalidInput("cursor", "was not given by this server")
    return int(at), int(offset)
