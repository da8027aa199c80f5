"""A small LSP client on asyncio, which `carrel demo` and the tests drive the real server with."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from carrel.frontends.common.uris import path_to_uri

Answer = Callable[[Any], Any]
"""What the client answers to a request of the server, at once or by and by; an `LspError` that it raises is sent as such."""

USUAL = {"window": {"workDoneProgress": True}, "experimental": {"carrel": {"ownSettings": True}}}
"""Capabilities of whoever names none. Options come from the program that starts the server, never from a project."""
SERVER = (sys.executable, "-m", "carrel.frontends.lsp.serve")


class LspError(Exception):
    """An error that the server answered with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class LspClient:
    """One server process and the conversation with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.answers: dict[str, Answer] = {
            "window/workDoneProgress/create": lambda _: None,
            "client/registerCapability": lambda _: None,
            "workspace/configuration": lambda params: [None] * len(params["items"]),
        }
        self.on_notification: Callable[[str, Any], None] = lambda *_: None
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str] = SERVER,
        *,
        env: Mapping[str, str] | None = None,
        stderr: int | None = None,
        cwd: Path | None = None,
    ) -> Self:
        """Start a server process; nothing is said to it yet."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            limit=1 << 28,
        )
        return cls(process)

    async def initialize(
        self, *folders: Path, options: Mapping[str, Any] | None = None, capabilities: Mapping[str, Any] | None = None
    ) -> Any:
        """Do the handshake; gives the server's answer."""
        result = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": path_to_uri(str(folders[0])) if folders else None,
                "capabilities": USUAL if capabilities is None else dict(capabilities),
                "initializationOptions": dict(options or {}),
                "workspaceFolders": [{"uri": path_to_uri(str(folder)), "name": folder.name} for folder in folders],
            },
        )
        self.notify("initialized", {})
        return result

    def send(self, method: str, params: Any) -> tuple[int, asyncio.Future[Any]]:
        """Send a request; gives its id and the future of its result."""
        identity = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._waiting[identity] = future
        self.write({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return identity, future

    async def request(self, method: str, params: Any = None, *, timeout: float = 60) -> Any:  # noqa: ASYNC109 - the caller's limit
        """Send a request and await its result; raises `LspError`. A cancelled wait is a cancelled request."""
        identity, future = self.send(method, params)
        try:
            return await asyncio.wait_for(future, timeout)
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": identity})
            raise

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, message: Any) -> None:
        """Send any JSON value as a frame."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        if self.process.stdin is None:
            return
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def stop(self) -> int:
        """Shut the server down as the protocol says; gives its exit code."""
        await self.request("shutdown", timeout=30)
        self.notify("exit", None)
        return await asyncio.wait_for(self.process.wait(), 30)

    async def kill(self) -> None:
        """End the process if it still runs."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()
        for task in (self._reader, *self._answering):
            task.cancel()
        await asyncio.gather(self._reader, *self._answering, return_exceptions=True)

    async def _read(self) -> None:
        stdout = self.process.stdout
        try:
            while stdout:
                header = await stdout.readuntil(b"\r\n\r\n")
                fields = dict(line.split(b": ", 1) for line in header.strip().split(b"\r\n"))
                self._take(json.loads(await stdout.readexactly(int(fields[b"Content-Length"]))))
        except (asyncio.IncompleteReadError, ConnectionError):
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionError("the server ended"))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            future = self._waiting.pop(message["id"], None) if message.get("id") is not None else None
            if future and not future.done():
                if error := message.get("error"):
                    future.set_exception(LspError(error["code"], error["message"], error.get("data")))
                else:
                    future.set_result(message["result"])
        elif "id" in message:
            # An answer may take its time: what comes meanwhile, such as a cancel of this very request, is read.
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            self.on_notification(message["method"], message.get("params"))

    async def _answer(self, message: dict[str, Any]) -> None:
        answer = self.answers.get(message["method"], _unknown)
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = answer(message.get("params"))
            reply["result"] = await result if isinstance(result, Awaitable) else result
        except LspError as error:
            reply["error"] = {"code": error.code, "message": error.message}
        self.write(reply)


def _unknown(_: Any) -> Any:
    raise LspError(-32601, "unknown")
