"""Follow what the editor says about files and folders: open buffers, saves, changes on disk, folders, settings.

The text of an open document is changed exactly as the editor changes it: pygls cuts lines with `str.splitlines`, and reads
columns in the first encoding that the client offers, whatever the server chose.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from itertools import count
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument

from carrel.frontends.common.uris import path_to_uri, uri_to_path
from carrel.frontends.lsp.messages.methods import own_settings
from carrel.frontends.lsp.rpc import CarrelServer
from carrel.model.editor_languages import extension_of, language_of
from carrel.model.lines import rows_of
from carrel.model.patterns import lazy_pattern
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.settings.settings import Options

_FOLDER = "untitled:"
_UNUSABLE = lazy_pattern(r'[\x00-\x1f\x7f<>:"|?*]+')
_LONGEST = 100


def is_untitled(uri: str) -> bool:
    """Return true for a document that was never saved."""
    return uri[: len(_FOLDER)].lower() == _FOLDER


def path_for(uri: str, language: str, taken: Callable[[str], bool]) -> str:
    """Return a path for an untitled document that isn't taken; its extension tells the language where the name doesn't.

    The path lies in a folder that nobody has, and only the last part of the document's name goes into it: it can neither lead out
    of the workspace nor stand for a file. Ignore rules and the names of secrets count for it as for any other path.
    """
    from carrel.model.native import detect_language  # noqa: PLC0415 - a server starts without the core

    last = re.split(r"[/\\]", unquote(uri[len(_FOLDER) :]))[-1]
    name = _UNUSABLE.sub("_", last).strip()[-_LONGEST:]
    if not name.strip("."):
        name = "Untitled"
    if detect_language(name) is None:
        name += f".{extension_of(language)}" if language_of(language) else ".txt"
    plain = PurePosixPath(name)
    numbered = (f"{_FOLDER}/{plain.stem}{f' ({number})' if number > 1 else ''}{plain.suffix}" for number in count(1))
    return next(path for path in numbered if not taken(path))


class OpenDocument(TextDocument):
    """A document that the client opened. pygls hands it the client's changes.

    It is kept as lines, so that a change costs no more than the lines that it touches.
    """

    def __init__(self, item: types.TextDocumentItem) -> None:
        super().__init__(item.uri, version=item.version, language_id=item.language_id)
        self._rows = rows_of(item.text)

    @property
    def source(self) -> str:
        """Return the whole text."""
        return "".join(self._rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines with their ends."""
        return tuple(self._rows)

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Replace the whole text, or a range of it."""
        if not isinstance(change, types.TextDocumentContentChangePartial):
            self._rows = rows_of(change.text)
            return
        rows = self._rows
        (first, begin), (last, finish) = sorted(map(self._place, (change.range.start, change.range.end)))
        before = max(first - 1, 0)  # it counts, too: its carriage return may meet a line feed
        head, tail = (row[:begin] for row in rows[first : first + 1]), [row[finish:] for row in rows[last : last + 1]]
        new = list[str]()
        for part in (*rows[before:first], *head, *rows_of(change.text), *tail):
            if new and (new[-1][-1] not in "\r\n" or (new[-1][-1] == "\r" and part[:1] == "\n")):
                new[-1] += part
            elif part:
                new.append(part)
        rows[before : last + 1] = new

    def _place(self, position: types.Position) -> tuple[int, int]:
        """Return the line and the character of a position, whose column is in UTF-16.

        What lies beyond a line is its end; what lies beyond the text is the beginning of a line after the last.
        """
        if position.line >= len(self._rows):
            return len(self._rows), 0
        row = self._rows[position.line]
        end = len(row.rstrip("\r\n"))
        if row.isascii():
            return position.line, min(position.character, end)
        # Half of a surrogate pair is dropped: a position in one is the character's beginning.
        units = row[: min(position.character, end)].encode("utf-16-le", "surrogatepass")
        return position.line, len(units[: 2 * position.character].decode("utf-16-le", "ignore"))


log = logging.getLogger(__name__)


class Documents:
    """Turns the editor's notifications into calls of the session."""

    def __init__(self, server: CarrelServer, session: Session) -> None:
        self._server = server
        self._session = session
        self._pull_settings = False
        self._first_options: Options = {}  # those of `initialize`: what is pulled lies over them
        for method, handler in (
            (types.TEXT_DOCUMENT_DID_OPEN, self.did_open),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.did_change),
            (types.TEXT_DOCUMENT_DID_SAVE, self.did_save),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.did_close),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self.did_change_watched_files),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self.did_change_folders),
            (types.WORKSPACE_DID_CHANGE_CONFIGURATION, self.did_change_configuration),
        ):
            server.listen(method, handler)

    # --- the start

    def add_first_folders(self, params: types.InitializeParams) -> None:
        """Add the folders named in `initialize`: the list, else the older root."""
        folders = [(folder.uri, uri_to_path(folder.uri)) for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [(params.root_uri, uri_to_path(params.root_uri))]
        if not folders and params.root_path:
            folders = [(path_to_uri(params.root_path), params.root_path)]
        for uri, path in folders:
            self._add(uri, path)

    async def begin(self, capabilities: types.ClientCapabilities) -> None:
        """Ask for settings and for news of files after `initialized`, then let the folders start."""
        workspace = capabilities.workspace
        self._pull_settings = bool(workspace and workspace.configuration)
        self._first_options = self._session.options
        await self._register(workspace)
        if self._pull_settings:
            await self._fetch_settings()
        for folder in self._session.folders.values():
            self._session.start(folder)

    async def _register(self, workspace: types.WorkspaceClientCapabilities | None) -> None:
        registrations: list[dict[str, Any]] = []
        watch = workspace and workspace.did_change_watched_files
        if watch and watch.dynamic_registration:
            options = {"watchers": [{"globPattern": "**/*"}]}
            registrations.append(
                {"id": "carrel-files", "method": types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "registerOptions": options}
            )
        configuration = workspace and workspace.did_change_configuration
        if configuration and configuration.dynamic_registration:
            options_ = {"section": "carrel"}
            registrations.append(
                {"id": "carrel-settings", "method": types.WORKSPACE_DID_CHANGE_CONFIGURATION, "registerOptions": options_}
            )
        if not registrations:
            return
        try:
            request = self._server.protocol.ask_client("client/registerCapability", {"registrations": registrations})
            await asyncio.wait_for(request, 5)
        except Exception as error:
            log.warning("The editor doesn't report changes on disk (%s)", type(error).__name__)
            return
        if watch and watch.dynamic_registration:
            self._session.watch()

    async def _fetch_settings(self) -> None:
        """Ask for the settings in general, and for each folder's: what an editor excludes may differ between folders."""
        folders = tuple(self._session.folders.values())
        scoped = ({"scopeUri": folder.uri, "section": "carrel"} for folder in folders)
        try:
            request = self._server.protocol.ask_client("workspace/configuration", {"items": [{"section": "carrel"}, *scoped]})
            answer = await asyncio.wait_for(request, 5)
        except Exception as error:
            log.warning("The editor gave no settings (%s)", type(error).__name__)
            return
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            general, *scoped_options = (
                {**self._first_options, **(options if isinstance(options, dict) else answer[0])} for options in answer
            )
            # A client may answer the first item only; the general settings count for the folders then.
            self._session.configure(
                general, {folder.root_key: options for folder, options in zip(folders, scoped_options, strict=False)}
            )

    # --- notifications

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Read a document from the editor's buffer from now on."""
        item = params.text_document
        self._server.workspace.text_documents[unquote(item.uri)] = OpenDocument(item)  # instead of the one that pygls put there
        self._open(item.uri, item.language_id)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Note that a buffer changed; pygls changed its text already."""
        if place := self._locate(params.text_document.uri):
            place[0].buffers.changed(place[1])

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """Note that the file on disk is new."""
        if place := self._locate(params.text_document.uri):
            place[0].changed_on_disk([place[1]])

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Read a document from disk again."""
        if place := self._locate(params.text_document.uri):
            place[0].buffers.closed(place[1])

    def did_change_watched_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Note that files were created, changed or deleted by anyone."""
        by_workspace: dict[Workspace, list[str]] = {}
        for change in params.changes:
            if place := self._locate(change.uri):
                by_workspace.setdefault(place[0], []).append(place[1])
        for workspace, paths in by_workspace.items():
            workspace.changed_on_disk(paths)

    async def did_change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Add folders that joined the window, drop those that left. A new one starts when its own settings are known."""
        for folder in params.event.removed:
            if path := uri_to_path(folder.uri):
                self._session.remove_folder(path)
        added = [self._add(folder.uri, uri_to_path(folder.uri)) for folder in params.event.added]
        self._adopt_open_documents()
        if self._pull_settings and any(added):
            await self._fetch_settings()
        for workspace in added:
            if workspace:
                self._session.start(workspace)
        self._session.tell_names()

    async def did_change_configuration(self, params: types.DidChangeConfigurationParams) -> None:
        """Take other settings; some clients send them, others wait to be asked."""
        if self._pull_settings:
            await self._fetch_settings()
            return
        section = own_settings(params.settings)
        if section is not None:
            self._session.configure(section)

    # --- helpers

    def _add(self, uri: str, path: str | None) -> Workspace | None:
        if path is None:
            log.info("A folder that isn't on this machine's disk was left out")
            return None
        return self._session.add_folder(path, uri)

    def _open(self, uri: str, language: str) -> None:
        if place := self._locate(uri):
            workspace, path = place
            workspace.buffers.opened(path, lambda: self._text(uri), language=language)
        elif is_untitled(uri) and self._session.folders:
            workspace = self._session.workspace(None)
            path = path_for(uri, language, workspace.buffers.is_taken)
            workspace.buffers.opened(path, lambda: self._text(uri), uri)

    def _locate(self, uri: str) -> tuple[Workspace, str] | None:
        if is_untitled(uri):
            return self._session.unsaved(uri)
        path = uri_to_path(uri)
        place = self._session.locate(path) if path else None
        return place if place and place[1] else None

    def _adopt_open_documents(self) -> None:
        """Find the folder of each open document anew."""
        for document in list(self._server.workspace.text_documents.values()):
            place = self._locate(document.uri)
            if place is None or place[0].buffers.text(place[1]) is None:
                self._open(document.uri, document.language_id or "")

    def _text(self, uri: str) -> str:
        document = self._server.workspace.text_documents.get(unquote(uri))
        return document.source if document else ""
