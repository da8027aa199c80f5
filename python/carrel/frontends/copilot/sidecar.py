"""A `carrel serve` of the proxy's own, asked from blocking threads.

A process of its own, because the chat must go on whatever happens in there, and because threads that work would make the
forwarding ones wait for the interpreter.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from carrel.frontends.common.transport import BadFrame, frame, read_frame
from carrel.model.caller import COPILOT_PROXY

log = logging.getLogger(__name__)

_RESTART_SECONDS = 10.0
SERVER = (sys.executable, "-m", "carrel.frontends.lsp.serve")
_WARM_UP = {
    "jsonrpc": "2.0",
    "id": -1,
    "method": "carrel/context",
    "params": {"query": "where does it start?", "model": "gpt-4o"},
}
"""A question whose answer nobody awaits: what the first one loads would cost the first turn its context."""


class Unavailable(Exception):
    """There is no answer: late, refused, or nobody there. The message is for the log."""


class Sidecar:
    """The server process and the requests under way. Every method may be called from any thread."""

    def __init__(self, options: Mapping[str, Any], command: tuple[str, ...] = SERVER) -> None:
        self._options = dict(options)
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: dict[int, queue.SimpleQueue[Any]] = {}
        self._ids = itertools.count(1)
        self._folders: list[str] = []
        self._started = -_RESTART_SECONDS
        self._closed = False

    def start(self, folders: tuple[str, ...]) -> None:
        """Start the server on folders given as URIs. Returns at once."""
        with self._lock:
            self._folders += [uri for uri in folders if uri not in self._folders]
            self._launch()

    def ensure_folder(self, uri: str) -> None:
        """Open one more folder."""
        with self._lock:
            if uri in self._folders:
                return
            self._folders.append(uri)
        event = {"added": [{"uri": uri, "name": uri.rsplit("/", 1)[-1]}], "removed": []}
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def notify(self, method: str, params: Any) -> None:
        """Send a notification, if there is a server."""
        self.forward(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def forward(self, body: bytes) -> None:
        """Pass on what the editor said about documents, as it said it. Never blocks."""
        if self._process:
            self._outgoing.put(frame(body))

    def ask(self, method: str, params: Mapping[str, Any], seconds: float, *, may_start: bool = True) -> Any:
        """Send a request and wait for its result; raises `Unavailable` when there is none in time.

        Without `may_start` a server that has ended stays so: starting a process takes longer than what waits may be held up.
        """
        if seconds <= 0:
            raise Unavailable("no time is left")
        with self._lock:
            if may_start:
                self._launch()
            if not self._alive():
                raise Unavailable("the server doesn't run")
            identity = next(self._ids)
            answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
            self._waiting[identity] = answer
            message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
            self._outgoing.put(frame(json.dumps(message).encode()))
        try:
            reply = answer.get(timeout=seconds)
        except queue.Empty:
            self.notify("$/cancelRequest", {"id": identity})
            raise Unavailable(f"no answer within {1000 * seconds:.0f} ms") from None
        finally:
            self._waiting.pop(identity, None)
        if reply is None:
            raise Unavailable("the server ended")
        if "error" in reply:
            raise Unavailable(f"error {reply['error'].get('code')}")
        return reply.get("result")

    def close(self) -> None:
        """End the server by the end of its input; it releases its index then."""
        self._closed = True
        with self._lock:
            process, self._process = self._process, None
            self._outgoing.put(None)
        if process:
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                process.kill()

    # --- parts

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _launch(self) -> None:
        """Start a process unless one runs, or one has just failed. The lock is held."""
        if self._closed or self._alive() or time.monotonic() - self._started < _RESTART_SECONDS:
            return
        self._started = time.monotonic()
        self._outgoing.put(None)
        self._outgoing = queue.SimpleQueue()
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own server
        except OSError as error:
            log.warning("Carrel's server can't be started: %s", error)
            return
        self._process = process
        folders = [{"uri": uri, "name": uri.rsplit("/", 1)[-1]} for uri in self._folders]
        initialize = {
            "processId": os.getpid(),
            "clientInfo": {"name": COPILOT_PROXY},
            "rootUri": None,
            "capabilities": {},
            "initializationOptions": self._options,
            "workspaceFolders": folders,
        }
        self._outgoing.put(frame(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize}).encode()))
        self._outgoing.put(frame(b'{"jsonrpc":"2.0","method":"initialized","params":{}}'))
        self._outgoing.put(frame(json.dumps(_WARM_UP).encode()))
        threading.Thread(target=_write, args=(process, self._outgoing), daemon=True, name="carrel-sidecar-in").start()
        threading.Thread(target=self._read, args=(process,), daemon=True, name="carrel-sidecar-out").start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        output = cast("BinaryIO", process.stdout)
        try:
            while (body := read_frame(output)) is not None:
                self._take(json.loads(body))
        except (BadFrame, OSError, ValueError):
            process.kill()
        code = process.wait()
        if not self._closed:
            log.warning("Carrel's server ended (%s); chat goes on without context", code)
        for answer in tuple(self._waiting.values()):
            answer.put(None)

    def _take(self, message: dict[str, Any]) -> None:
        identity = message.get("id")
        if "method" not in message:
            if answer := self._waiting.get(identity):  # type: ignore[arg-type]
                answer.put(message)
        elif identity is not None:
            self._outgoing.put(frame(json.dumps({"jsonrpc": "2.0", "id": identity, "result": None}).encode()))


def _write(process: subprocess.Popen[bytes], outgoing: queue.SimpleQueue[bytes | None]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        while (data := outgoing.get()) is not None:
            process.stdin.write(data)
            process.stdin.flush()
    except (OSError, ValueError):
        pass  # the reader notices as well, and says so
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
