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
from types import FrameType
from typing import TypeVar

from carrel.frontends.common import parent_process
from carrel.frontends.common.transport import frame
from carrel.frontends.copilot import turns
from carrel.frontends.copilot.frames import Frame, FrameReader, enlarge_pipe, write_all
from carrel.frontends.copilot.interceptor import Interceptor
from carrel.frontends.copilot.turns import TURNS
from carrel.model.errors import place_of
from carrel.system import leftovers

log = logging.getLogger(__name__)

T = TypeVar("T")

NOT_FOUND = 127
_REMEDY = "Give the Copilot Language Server's path, or install it: npm install -g @github/copilot-language-server"
END_SECONDS = 6.0
"""Seconds that the server may take to end by itself when its client has gone, or a signal to end was passed on."""
KILL_SECONDS = 2.0
"""Seconds that it may take after it was terminated, before it is killed."""
_STUCK_SECONDS = 0.5
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
        self._ended = threading.Event()

    def run(self, command: Sequence[str]) -> int:
        """Run the server until it ends; gives its exit code, negative for a signal."""
        program = shutil.which(command[0]) or command[0]
        try:
            server = subprocess.Popen(  # noqa: S603 - the user named it
                [program, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                process_group=None if sys.platform == "win32" else 0,
                preexec_fn=leftovers.killed_with_this(),  # noqa: PLW1509 - no other thread runs yet
            )
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
        if sys.platform != "win32":
            leftovers.add_group(server.pid)
        self._pass_signals_to(server)
        parent_process.on_death(lambda: self._client_ended(server))
        parent_process.end_with_parent()
        threading.Thread(target=self._serve_client, args=(server,), daemon=True, name="carrel-up").start()
        down = threading.Thread(target=self._downwards, daemon=True, name="carrel-down")
        down.start()
        code = server.wait()
        self._ended.set()
        leftovers.end_group(server.pid)  # what it left behind may hold the pipe open for ever
        down.join(5.0)  # its last words
        return code

    # --- client to server

    def _serve_client(self, server: subprocess.Popen[bytes]) -> None:
        self._upwards()
        self._end(server)

    def _upwards(self) -> None:
        with contextlib.suppress(OSError):
            for item in FrameReader(self._client_in):
                if isinstance(item, Frame):
                    self._up(item)
                else:
                    with self._to_server:
                        _pieces(self._server_in, item)
        self._close_input()

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
            self._send(frame(turns.registration()))
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
        if any(method in turns.METHODS for method in methods):
            request = turns.invocation(item.body)
            if request is None:
                return False
            self._interceptor.run_tool(request, self._answer)
            return True
        return turns.REGISTER_ID.encode() in item.raw[:512] and turns.is_registered(item.body)

    # --- the end

    def _pass_signals_to(self, server: subprocess.Popen[bytes]) -> None:
        """Pass signals on that aren't ignored. An interrupt may mean a request that runs, the others mean the end."""

        def pass_on(number: int, _: FrameType | None) -> None:
            server.send_signal(number)
            if number != signal.SIGINT:
                threading.Thread(target=self._end, args=(server,), daemon=True, name="carrel-end").start()

        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, pass_on)

    def _client_ended(self, server: subprocess.Popen[bytes]) -> None:
        """End the server of a client that has ended, though something may still hold its end of our input."""
        self._close_input()
        self._end(server)

    def _close_input(self) -> None:
        """Close the server's input, unless a message is stuck in it for long."""
        if self._to_server.acquire(timeout=_STUCK_SECONDS):
            try:
                if self._server_in >= 0:
                    os.close(self._server_in)
                    self._server_in = -1
            finally:
                self._to_server.release()

    def _end(self, server: subprocess.Popen[bytes]) -> None:
        """Wait until the server ends by itself; terminate one that doesn't, and kill it with what it started if it must be."""
        if self._ended.wait(END_SECONDS):
            return
        log.warning("The Copilot Language Server runs %g s after it should have ended, so it is terminated", END_SECONDS)
        server.terminate()
        if not self._ended.wait(KILL_SECONDS):
            server.kill()

    def _safely(self, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Exception as error:  # whatever it is, the message goes on as it came
            log.error("A message passed untouched: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - a trace could quote it
            return None


def _pieces(descriptor: int, pieces: Iterator[bytes]) -> None:
    for piece in pieces:
        write_all(descriptor, piece)


def leave(code: int) -> None:
    """End as the server ended: with its exit code, or by its signal. Threads that still read don't keep the process."""
    sys.stderr.flush()
    if code < 0 and os.name == "posix":
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
