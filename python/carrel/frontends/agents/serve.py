"""The server behind agents' hooks: one a user, started by the first prompt, gone when none came for a while.

A client sends `carrel-hook/1 VERSION AGENT LENGTH`, a line feed and the hook's JSON; it gets `ok LENGTH`, a line feed and what
the hook prints, or `other` where the server is of another version, which ends then: the client starts its own.

Read what a hook's JSON asks for, and answer in its agent's form.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from carrel.composition.composition import Composition
from carrel.frontends.agents.meeting_place import LOCK, LONGEST_PATH, SOCKET, STARTING, make_private, runtime_folder
from carrel.frontends.common import logs
from carrel.frontends.common.agent_hooks import AGENT_HOOKS
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.transcripts import read_transcript
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.model.caller import Caller, called_by
from carrel.model.errors import Cancelled, CarrelError, place_of
from carrel.model.native import __version__
from carrel.model.plain_data import as_text
from carrel.policy.audit import AuditTrail
from carrel.policy.broad_folders import breadth
from carrel.service.prompt_context import NOTHING, Addition, Prompt, PromptContexts
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.system.filesystem import locked

MOST_FOLDERS = 8
"""Folders that are open at a time: each is watched."""


class Answering:
    """The folders of all hooks, and what their sessions were given. Lives on one event loop."""

    def __init__(self) -> None:
        self._switch = ContextSwitch()
        self._session = Session(Composition(audit=AuditTrail(Caller("agent hook"))), longest_match)
        self._session.configure(self._switch.options)
        self._contexts = PromptContexts()
        self._used: OrderedDict[str, None] = OrderedDict()

    async def answer(self, agent: str, raw: bytes) -> tuple[dict[str, Any], Addition]:
        """Return what the hook prints, and what that adds; an empty object where there is nothing to add or to understand."""
        hook = AGENT_HOOKS.get(agent)
        try:
            request = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return {}, NOTHING
        if hook is None or not isinstance(request, dict) or not self._is_on():
            return {}, NOTHING
        text, folder = as_text(request.get("prompt")), project_of(as_text(request.get("cwd")))
        if folder is None:
            return {}, NOTHING
        session = as_text(request.get("session_id")) or as_text(request.get("sessionId"))
        said = await asyncio.to_thread(read_transcript, as_text(request.get("transcript_path")), text)
        prompt = Prompt(text, f"{agent} {session}" if session else "", said.turns, said.compacted, hook.form, hook.most_bytes)
        with called_by(Caller("agent hook", f"{agent} {session[:8]}".strip())):
            addition = await self._contexts.addition(self._workspace(folder), prompt)
        return hook.answer(addition), addition

    async def close(self) -> None:
        """Release the indexes."""
        await self._session.close()

    def _is_on(self) -> bool:
        on = self._switch.on
        if self._switch.changed():
            self._session.configure(self._switch.options)
        return on

    def _workspace(self, folder: Path) -> Workspace:
        """Return the open folder, the ones that were used longest ago closed."""
        key = str(folder)
        is_open = key in self._session.folders
        workspace = self._session.add_folder(key, path_to_uri(key), broad="refused")
        if not is_open:
            self._session.start(workspace)
        self._used[key] = None
        self._used.move_to_end(key)
        while len(self._used) > MOST_FOLDERS:
            self._session.remove_folder(self._used.popitem(last=False)[0])
        return workspace


def project_of(folder: str) -> Path | None:
    """Return the repository that a folder lies in, else the folder; None for what is no project, such as a home folder.

    Nothing is started for it: git would take longer than the search.
    """
    path = Path(folder)
    is_there = path.is_absolute() and os.path.isdir(path)  # noqa: PTH112 - `Path` raises for a name that is too long
    if "\0" in folder or ".." in path.parts or not is_there or breadth(path):
        return None
    top = next((place for place in (path, *path.parents) if os.path.exists(place / ".git")), path)  # noqa: PTH110 - the same
    return path if top != path and breadth(top) else top


log = logging.getLogger(__name__)

IDLE_SECONDS = 30 * 60.0
LOOK_SECONDS = 5.0
"""Between two looks whether anybody still comes, and whether clients can still find the socket."""
LONGEST = 4 * 1024 * 1024
_PROTOCOL = "carrel-hook/1"
_READ_SECONDS, _LOCK_SECONDS = 5.0, 10.0


def serve(idle_seconds: float = IDLE_SECONDS) -> int:
    """Serve until nobody came for so long. Returns at once where another server does already. Raises `CarrelError`."""
    folder = runtime_folder()
    make_private(folder)
    logs.start()
    logs.set_level("warning")
    try:
        with locked(folder / LOCK, _LOCK_SECONDS) as alone:
            if alone:
                run_cancellable(HookServer(folder, idle_seconds).run())
    except OSError as error:
        raise CarrelError(f"{folder} can't be used: {error.strerror}", "Make it writable.") from None
    except Cancelled:
        pass
    return 0


def _inode(path: Path) -> int | None:
    """Return the number of a file in its file system; None where it is gone."""
    with contextlib.suppress(OSError):
        return path.stat().st_ino
    return None


class HookServer:
    """Answers the clients of one user."""

    def __init__(self, folder: Path, idle_seconds: float) -> None:
        self._folder, self._idle_seconds = folder, idle_seconds
        self._answering = Answering()
        self._last_request = time.monotonic()
        self._under_way = 0
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Answer until nobody came for a while, or a client of another version did."""
        try:
            async with self._listening() as is_found:
                (self._folder / STARTING).unlink(missing_ok=True)
                while not self._ended.is_set() and is_found() and self._is_used():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._ended.wait(), min(LOOK_SECONDS, self._idle_seconds))
            async with asyncio.timeout(_READ_SECONDS):
                while self._under_way:  # noqa: ASYNC110 - the last clients get their answers
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pass
        finally:
            await self._answering.close()

    def _is_used(self) -> bool:
        return bool(self._under_way) or time.monotonic() - self._last_request < self._idle_seconds

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[Callable[[], bool]]:
        if sys.platform == "win32":
            from carrel.frontends.agents.windows_pipe import listening  # noqa: PLC0415 - Windows only

            async with listening(self._folder, self._connected) as is_found:
                yield is_found
        else:
            path = self._folder / SOCKET
            if len(os.fsencode(path)) > LONGEST_PATH:
                raise CarrelError(f"{path} is too long a path for a socket", "Set XDG_RUNTIME_DIR to a shorter one.")
            path.unlink(missing_ok=True)  # of a server that was killed: the lock is ours
            before = os.umask(0o177)
            try:
                server = await asyncio.start_unix_server(self._connected, path)
            finally:
                os.umask(before)
            made = _inode(path)

            def is_found() -> bool:
                return made is not None and _inode(path) == made

            try:
                yield is_found
            finally:
                server.close()
                if is_found():
                    path.unlink(missing_ok=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._exchange(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError):
            writer.close()  # the client was killed, or is none

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client. Raises what reading and writing do."""
        self._under_way += 1
        try:
            async with asyncio.timeout(_READ_SECONDS):
                protocol, version, agent, length = (await reader.readuntil(b"\n")).decode("ascii").split()
                if (protocol, version) != (_PROTOCOL, __version__):
                    writer.write(b"other\n")
                    self._ended.set()
                    return
                if not 0 <= int(length) <= LONGEST:
                    return
                request = await reader.readexactly(int(length))
            printed, addition = await self._answer(agent, request)
            answer = json.dumps(printed).encode()
            try:
                writer.write(b"ok %d\n%s" % (len(answer), answer))
                await writer.drain()
            except OSError:  # the client was killed, or waited long enough
                addition.lost()
                raise
        finally:
            self._under_way -= 1
            self._last_request = time.monotonic()

    async def _answer(self, agent: str, request: bytes) -> tuple[dict[str, Any], Addition]:
        try:
            return await self._answering.answer(agent, request)
        except Exception as error:
            log.error("No context for a prompt: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - it may quote
            return {}, NOTHING
