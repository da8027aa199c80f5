"""The proxy's processes and threads: one blocking thread a direction, because that adds a fifth of what an event loop would."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from carrel.core.errors import place_of
from carrel.frontends.common.transport import frame
from carrel.frontends.copilot import search_tools
from carrel.frontends.copilot.frames import Frame, FrameReader, enlarge_pipe, write_all
from carrel.frontends.copilot.interceptor import Interceptor
from carrel.frontends.copilot.turns import TURNS

log = logging.getLogger(__name__)

T = TypeVar("T")

NOT_FOUND = 127
_REMEDY = "Give the Copilot Language Server's path, or install it: npm install -g @github/copilot-language-server"
_PROGRESS = "$/progress"
_NOTICED = ("textDocument/did", "workspace/didChangeWorkspaceFolders")


class Proxy:
    """Stands between a client on stdin and stdout and the server that it starts."""

    def __init__(self, interceptor: Interceptor, client_in: int, client_out: int) -> None:
        self._interceptor = interceptor
        self._client_in = client_in
        self._client_out = client_out
        self._to_server = threading.Lock()  # whole messages only: three threads may write
        self._server_in = self._server_out = -1

    def run(self, command: Sequence[str]) -> int:
        """Run the server until it ends; gives its exit code, negative for a signal."""
        program = shutil.which(command[0]) or command[0]
        try:
            server = subprocess.Popen([program, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # noqa: S603 - the user named it
        except OSError as error:
            sys.stderr.write(f"carrel copilot-proxy: {command[0]} can't be started: {error.strerror}. {_REMEDY}\n")
            return NOT_FOUND
        if server.stdin is None or server.stdout is None:
            return NOT_FOUND
        self._server_in, self._server_out = os.dup(server.stdin.fileno()), os.dup(server.stdout.fileno())
        server.stdin.close()
        server.stdout.close()
        for descriptor in (self._client_in, self._client_out, self._server_in, self._server_out):
            enlarge_pipe(descriptor)
        _pass_signals_to(server)
        threading.Thread(target=self._upwards, daemon=True, name="carrel-up").start()
        down = threading.Thread(target=self._downwards, daemon=True, name="carrel-down")
        down.start()
        code = server.wait()
        down.join(5.0)  # its last words; a process that it left behind may hold the pipe open for ever
        return code

    # --- client to server

    def _upwards(self) -> None:
        with contextlib.suppress(OSError):
            for item in FrameReader(self._client_in):
                if isinstance(item, Frame):
                    self._up(item)
                else:
                    with self._to_server:
                        _pieces(self._server_in, item)
        with self._to_server:
            os.close(self._server_in)
            self._server_in = -1

    def _up(self, item: Frame) -> None:
        methods = item.methods()
        body = None
        if any(method in TURNS for method in methods):
            body = self._safely(lambda: self._interceptor.rewrite(item))
        self._send(item.raw if body is None else item.with_body(body))
        if not methods:
            return
        method = methods[0]
        if method == "initialize":
            self._safely(lambda: self._interceptor.initialize(item))
        elif method == "initialized" and self._safely(lambda: self._interceptor.offers_tools):
            self._send(frame(search_tools.registration()))
        elif len(methods) == 1 and method.startswith(_NOTICED):
            self._safely(lambda: self._interceptor.notice(item, method))

    def _send(self, data: bytes | bytearray) -> None:
        with self._to_server:
            write_all(self._server_in, data)

    def _answer(self, body: bytes) -> None:
        with contextlib.suppress(OSError):  # the server has ended
            self._send(frame(body))

    # --- server to client

    def _downwards(self) -> None:
        try:
            for item in FrameReader(self._server_out):
                if not isinstance(item, Frame):
                    _pieces(self._client_out, item)
                    continue
                methods = item.methods()
                if self._safely(partial(self._is_ours, item, methods)):
                    continue
                if _PROGRESS in methods and (more := self._safely(partial(self._interceptor.before_progress, item))):
                    write_all(self._client_out, frame(more))
                write_all(self._client_out, item.raw)
        except OSError:
            # The client is gone. The server learns it as it would without a proxy: by both of its pipes.
            os.close(self._server_out)
        with contextlib.suppress(OSError):
            os.close(self._client_out)

    def _is_ours(self, item: Frame, methods: Sequence[str]) -> bool:
        """Take what answers or addresses the proxy; everything else is the client's."""
        if any(method in search_tools.METHODS for method in methods):
            request = search_tools.invocation(item.body)
            if request is None:
                return False
            self._interceptor.run_tool(request, self._answer)
            return True
        return search_tools.REGISTER_ID.encode() in item.raw[:512] and search_tools.is_registered(item.body)

    def _safely(self, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Exception as error:  # whatever it is, the message goes on as it came
            log.error("A message passed untouched: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - a trace could quote it
            return None


def _pieces(descriptor: int, pieces: Iterator[bytes]) -> None:
    for piece in pieces:
        write_all(descriptor, piece)


def _pass_signals_to(server: subprocess.Popen[bytes]) -> None:
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, lambda received, _: server.send_signal(received))


def leave(code: int) -> None:
    """End as the server ended: with its exit code, or by its signal. Threads that still read don't keep the process."""
    sys.stderr.flush()
    if code < 0 and os.name == "posix":
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
