"""The standard streams of `carrel mcp`, and the first answers over them, before the official SDK is loaded.

Loading takes most of a second of processor time, and a client waits with its chat until every server has told its tools. What
clients ask first has the same answer each time, so a thread gives it at once. The rest is loaded for the first message that only
the SDK can answer: many sessions have none. The SDK gets `initialize` as well; its own answer to that is kept back. Which
resources there are isn't known yet: the list is empty, the SDK is loaded, and the client is told then that the list changed.

In versions without `initialize` each request stands alone, so the SDK sees none that was answered here. It lists resources, since
no client of them is told of changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from carrel.frontends.mcp import server_info
from carrel.frontends.mcp.client_messages import NoMessage, as_line, messages_of, unreadable
from carrel.model.lines import single_line

if TYPE_CHECKING:
    import asyncio

_WAIT_SECONDS = 1.0 if sys.platform == "win32" else None
"""Ctrl-C of Windows ends no wait without a limit."""
_RESOURCES = "resources/list"
_STATED = "io.modelcontextprotocol/"
_CAPABILITIES = f"{_STATED}clientCapabilities"
_RESOURCES_CHANGED = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}


class EarlyResponder:
    """Lines from a client and to it. A thread reads `incoming` and closes it; until `lines` is used it answers what it can."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, tools: list[dict[str, Any]], *, ask_roots: bool = False) -> None:
        """Take over both streams. `ask_roots`: the client is asked which folders it works in, if it can say."""
        self._ask_roots = ask_roots
        self._incoming = incoming
        self._outgoing = outgoing
        self._replies: dict[str, dict[str, Any]] = {
            "ping": {"result": {}},
            "tools/list": {"result": {"tools": tools}},
            "prompts/list": {"error": {"code": -32601, "message": "Method not found", "data": "prompts/list"}},
            _RESOURCES: {"result": {"resources": []}},
        }
        self._stateless: dict[str, dict[str, Any]] = {
            "server/discover": {"result": server_info.discovered()},
            "tools/list": {"result": server_info.stateless({"tools": tools})},
            "prompts/list": self._replies["prompts/list"],
            _RESOURCES: {"result": server_info.stateless({"resources": []})},
        }
        self._resources_listed = False
        self._greeted: int | str | None = None  # the id under which the client was greeted
        self._has_hook = False
        self._kept_back = False
        self._lock = threading.Lock()
        self._wanted = threading.Event()  # the SDK is needed, or the client left
        self._sdk_needed = False
        self._unanswered: deque[dict[str, Any] | None] = deque()  # None is the end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._more: asyncio.Event | None = None
        threading.Thread(target=self._read, name="mcp-input", daemon=True).start()

    @classmethod
    def on_standard_streams(cls, tools: list[dict[str, Any]], *, ask_roots: bool) -> EarlyResponder:
        """Take standard input and output for the protocol alone: from now on nothing else can read or write them."""
        streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.stdout.flush()
        os.dup2(2, 1)
        return cls(*streams, tools, ask_roots=ask_roots)

    def wait(self) -> bool:
        """Wait until the SDK is needed; false when the client left without needing it."""
        while not self._wanted.wait(_WAIT_SECONDS):
            pass
        return self._sdk_needed

    async def lines(self, read: Callable[[str], object] = str) -> AsyncIterator[str]:
        """Yield everything that wasn't answered here, until the client leaves; what `read` raises for gets an error."""
        import asyncio  # noqa: PLC0415 - it takes longer to load than all that is answered early

        more = asyncio.Event()
        with self._lock:
            self._loop, self._more = asyncio.get_running_loop(), more
        if self._resources_listed:
            await asyncio.to_thread(self._write, _RESOURCES_CHANGED)
        while True:
            more.clear()
            while self._unanswered:
                message = self._unanswered.popleft()
                if message is None:
                    return
                try:
                    read(line := as_line(message))
                except (ValueError, RecursionError):
                    if error := unreadable(message):
                        await asyncio.to_thread(self._write, error.answer)
                    continue
                yield line
            await more.wait()

    async def write(self, line: str) -> None:
        """Send one message of the SDK's."""
        if self._greeted is not None and not self._kept_back:
            message = json.loads(line)
            if message.get("id") == self._greeted and "method" not in message:
                self._kept_back = True
                return
        import asyncio  # noqa: PLC0415 - as above

        await asyncio.to_thread(self._send, line.encode())

    async def flush(self) -> None:
        """Do nothing: each line goes out as it is written."""

    def _read(self) -> None:
        with contextlib.suppress(OSError), self._incoming:  # an error: the client has gone
            for message in messages_of(self._incoming):
                if isinstance(message, NoMessage):
                    self._write(message.answer)
                    continue
                with self._lock:
                    if self._loop or not self._answered(message):
                        self._pass(message)
                    if self._sdk_needed:
                        self._wanted.set()
        with self._lock:
            self._pass(None)
            self._wanted.set()

    def _pass(self, message: dict[str, Any] | None) -> None:
        self._unanswered.append(message)
        if self._loop and self._more and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._more.set)

    def _answered(self, message: dict[str, Any]) -> bool:
        """Answer if that is possible, else note whether the SDK is needed now; whether the SDK needn't see the message."""
        method = message.get("method")
        if "id" not in message or method is None:
            self._sdk_needed |= "id" in message  # it is no notification
            return False
        if method == "initialize" and self._greeted is None and (version := _version(message.get("params"))):
            self._greeted = message["id"]
            client, able = message["params"]["clientInfo"], message["params"]["capabilities"]
            self._has_hook = client["name"] in server_info.HOOKED_CLIENTS
            self._answer(message["id"], {"result": server_info.initialized(version)})
            # The SDK would refuse all that follows for anything else that is odd in it.
            message["params"] = {
                "protocolVersion": version,
                "capabilities": {"roots": {}} if isinstance(able.get("roots"), dict) else {},
                "clientInfo": {"name": client["name"], "version": client["version"]},
            }
            return False
        params = message.get("params") or {}
        replies = self._replies_to(params)
        can_answer = method != _RESOURCES or self._greeted is not None or self._asks_folders(params)
        if params.get("cursor") is not None or method not in replies or not can_answer:
            self._sdk_needed = True
            return False
        self._answer(message["id"], replies[method])
        if method == _RESOURCES:
            self._resources_listed = self._greeted is not None
        if method == _RESOURCES or (method == "tools/list" and self._has_hook):
            self._sdk_needed = True
        return True

    def _replies_to(self, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the answers to requests with such parameters. A connection speaks versions of the kind that came first."""
        stated = params.get("_meta", {})
        if not isinstance(stated, dict) or type(stated.get("progressToken", 0)) not in (int, str):
            return {}
        if self._greeted is not None:
            return {} if f"{_STATED}protocolVersion" in stated else self._replies
        return self._stateless if not self._unanswered and _names_its_version(params) else {}

    def _asks_folders(self, params: Any) -> bool:
        """Tell whether a client of the versions without `initialize` will be asked for its folders by its first call."""
        return self._ask_roots and _names_its_version(params) and isinstance(params["_meta"][_CAPABILITIES].get("roots"), dict)

    def _answer(self, request: int | str, answer: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "id": request, **answer})

    def _write(self, message: dict[str, Any]) -> None:
        # Half a character of an id can't be written as it is.
        self._send(json.dumps(message).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        self._outgoing.write(single_line(data))
        self._outgoing.flush()


def _version(params: Any) -> str | None:
    """Return the version that a well-formed `initialize` offers, if the handshake is all there is to it."""
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        return None
    version = params.get("protocolVersion")
    is_supported = isinstance(version, str) and version in server_info.HANDSHAKE_VERSIONS
    return version if is_supported and _is_implementation(params.get("clientInfo")) else None


def _names_its_version(params: Any) -> bool:
    """Tell whether a request stands alone, as in versions without `initialize`, and is well formed."""
    stated = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(stated, dict):
        return False
    version, client = stated.get(f"{_STATED}protocolVersion"), stated.get(f"{_STATED}clientInfo")
    capabilities = stated.get(_CAPABILITIES)
    return version in server_info.STATELESS_VERSIONS and _is_implementation(client) and isinstance(capabilities, dict)


def _is_implementation(client: Any) -> bool:
    return isinstance(client, dict) and isinstance(client.get("name"), str) and isinstance(client.get("version"), str)
