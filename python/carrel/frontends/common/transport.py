"""Frames on stdin and stdout, each on a thread of its own, so that neither a slow reader nor a slow writer blocks the loop."""

from __future__ import annotations

import logging
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from carrel.model.patterns import lazy_pattern

log = logging.getLogger(__name__)

MAX_FRAME = 256 * 1024 * 1024


_LENGTH = lazy_pattern(rb"(?<!-)content-length[ \t]*:[ \t]*(\d{1,15})[\x00-\x20]*\n\Z", re.IGNORECASE)
_FIELD = lazy_pattern(rb"(?!content-length)[\w-]+[ \t]*:", re.IGNORECASE)
_BLANK = bytes(range(0x21))
_LONGEST_LINE = 8192


class BadFrame(Exception):
    """The input ended inside a message."""


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout for the protocol; whoever prints from now on, in Python or below, prints on stderr."""
    sys.stdout.flush()
    stdin = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
    stdout = os.fdopen(os.dup(1), "wb", buffering=0)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - Windows only

        msvcrt.setmode(stdin.fileno(), os.O_BINARY)
        msvcrt.setmode(stdout.fileno(), os.O_BINARY)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # children must not read the editor's messages
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stdin, stdout


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next message's body; None at the end of input. Raises `BadFrame` if that comes inside a message.

    Bytes that belong to no message are skipped, up to the next line that ends in a Content-Length: a client that wrote one
    message wrongly still has its others answered.
    """
    length, skipped, rest = None, 0, b""
    while piece := stream.readline(_LONGEST_LINE):
        line = rest + piece
        rest = b""
        if not line.endswith(b"\n"):
            rest = line[-_LONGEST_LINE:]  # its end may be a header's beginning
            skipped += len(line) - len(rest)
        elif match := _LENGTH.search(line):
            size = int(match[1])
            length = size if size <= MAX_FRAME else None
            skipped += match.start() if length is not None else len(line)
        elif line.strip(_BLANK):
            skipped += 0 if _FIELD.match(line) else len(line)
        elif length is not None:
            _tell_skipped(skipped)
            body = stream.read(length)
            if len(body) < length:
                raise BadFrame(f"the input ended after {len(body)} of a message's {length} bytes")
            return body
    _tell_skipped(skipped + len(rest))
    if length is not None:
        raise BadFrame("the input ended inside a message's header")
    return None


def _tell_skipped(count: int) -> None:
    if count:
        log.warning("%d bytes of the input were skipped: they belong to no message with a Content-Length", count)


def frame(body: bytes) -> bytes:
    """Return a message with its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def start_reader(stream: BinaryIO, take: Callable[[bytes | None], None]) -> None:
    """Read frames on a thread; `take` gets each body, and None at the end."""

    def run() -> None:
        try:
            while (body := read_frame(stream)) is not None:
                take(body)
        except (BadFrame, OSError, ValueError) as error:
            log.error("Nothing more can be read, so the server ends: %s", error)  # noqa: TRY400 - the words say it all
        take(None)

    threading.Thread(target=run, name="carrel-read", daemon=True).start()


class Writer:
    """Writes frames in order on a thread; pygls's writer interface."""

    def __init__(self, stream: BinaryIO, on_broken: Callable[[], None]) -> None:
        self._stream = stream
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._on_broken = on_broken
        self._thread = threading.Thread(target=self._run, name="carrel-write", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queue bytes."""
        self._queue.put(data)

    def close(self, seconds: float = 0.5) -> None:
        """Write what is queued, for so long at most."""
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while (data := self._queue.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[self._stream.write(view) :]
        except (OSError, ValueError):
            self._on_broken()
