"""Frames between two pipes, kept byte for byte: header and body go on exactly as they came.

What can't be understood isn't an error here. The bytes go on as they are, because the two ends may know better.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator

from msgspec import Struct

from carrel.model.patterns import lazy_pattern

_CHUNK = 1 << 16
_EDGE = 1024
_PIPE_BYTES = 1 << 20
_LONGEST_HEADER = 8192
LONGEST_INSPECTED = 64 << 20
"""A longer body passes in pieces, unseen: no chat turn is that long."""


# Some clients write "/" as "\/".
_METHOD = lazy_pattern(rb'"method"\s*:\s*"([$\w]+(?:\\?/\w+)*)"')
_LENGTH = lazy_pattern(rb"((?:\A|(?<=\r\n))[^\S\n]*content-length[^\S\n]*:[^\S\n]*)(.*)(?=\r\n)", re.IGNORECASE)


class Frame(Struct, frozen=True):
    """One message. `raw` is all of it, `start` is where its body begins."""

    raw: bytes | bytearray
    start: int

    @property
    def body(self) -> bytes:
        """The message without its header."""
        return bytes(memoryview(self.raw)[self.start :])

    def with_body(self, body: bytes) -> bytes:
        """Return the frame with another body: only the length in its header changes, wherever it stands there."""
        header = _LENGTH.sub(lambda match: match[1] + b"%d" % len(body), bytes(self.raw[: self.start]))
        return header + body

    def methods(self) -> list[str]:
        """Return what may be the message's method, without parsing it: that costs milliseconds a megabyte.

        Beside `params` a message has only short fields, so the method stands near the beginning or the end, in whatever order
        a client writes them. Parameters may hold the word as well: whoever acts on this parses first.
        """
        raw = self.raw
        edges = raw if len(raw) <= 2 * _EDGE else raw[: self.start + _EDGE] + raw[-_EDGE:]
        return [name.replace(b"\\/", b"/").decode("ascii", "replace") for name in _METHOD.findall(edges)]


def enlarge_pipe(descriptor: int) -> None:
    """Let a pipe hold a whole large message, so that it passes with one change of process instead of sixteen."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on Windows

        with contextlib.suppress(OSError):  # no pipe, or the user's share is used up: it is only slower
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def write_all(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write everything; raises `OSError` when the other side is gone."""
    written = os.write(descriptor, data)
    if written < len(data):
        view = memoryview(data)[written:]
        while view:
            view = view[os.write(descriptor, view) :]


class FrameReader:
    """Cuts a byte stream into frames. Joined together, what it gives is exactly what was read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()

    def __iter__(self) -> Iterator[Frame | Iterator[bytes]]:
        """Yield frames; an iterator of pieces must pass unseen: an oversized message, or all the rest once this is no frame."""
        while (header := self._header()) is not None:
            end, length = header
            if length > LONGEST_INSPECTED:
                yield self._pieces(end + length)
            elif (frame := self._whole(end + length)) is not None:
                yield Frame(frame, end)
            else:
                break
        yield self._rest()

    def _header(self) -> tuple[int, int] | None:
        """Return where the body begins and its length; None at the end of input, or when this is no frame."""
        searched = 0
        while (end := self._buffer.find(b"\r\n\r\n", searched)) < 0:
            searched = max(len(self._buffer) - 3, 0)
            if len(self._buffer) > _LONGEST_HEADER or not self._more():
                return None
        lengths = {value.strip() for _, value in _LENGTH.findall(bytes(self._buffer[: end + 2]))}
        length = lengths.pop() if len(lengths) == 1 else b""  # of several the two ends may mean different ones
        return (end + 4, int(length)) if length.isdigit() and len(length) < 16 else None

    def _whole(self, size: int) -> bytes | bytearray | None:
        buffer = self._buffer
        if len(buffer) == size:
            self._buffer = bytearray()
            return buffer
        if len(buffer) > size:
            frame = bytes(memoryview(buffer)[:size])
            del buffer[:size]
            return frame
        return self._rest_of(size)

    def _rest_of(self, size: int) -> bytearray | None:
        have = len(self._buffer)
        frame = self._buffer
        self._buffer = bytearray()
        frame.extend(bytes(size - have))
        with memoryview(frame) as view:
            while have < size:
                count = os.readv(self._descriptor, [view[have:]]) if hasattr(os, "readv") else self._read_into(view[have:])
                if not count:
                    break
                have += count
        if have < size:
            self._buffer = frame[:have]
            return None
        return frame

    def _read_into(self, view: memoryview) -> int:
        data = os.read(self._descriptor, min(len(view), _PIPE_BYTES))
        view[: len(data)] = data
        return len(data)

    def _pieces(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._buffer and not self._more():
                return
            piece = bytes(memoryview(self._buffer)[:size])
            del self._buffer[: len(piece)]
            size -= len(piece)
            yield piece

    def _rest(self) -> Iterator[bytes]:
        while self._buffer or self._more():
            yield bytes(self._buffer)
            self._buffer.clear()

    def _more(self) -> bool:
        data = os.read(self._descriptor, _CHUNK)
        self._buffer += data
        return bool(data)
