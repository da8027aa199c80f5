"""What a program writes, read piece by piece within a time, and cut into records of a bounded size."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PIECE = 1 << 16
_LAST_SECONDS = 1.0
"""For what a program that was stopped had written before, and again for a `take` that is still at work."""


class Enough(Exception):
    """What was read suffices: the program may end."""


def read_bounded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], take: Callable[[bytes], None], seconds: float
) -> int:
    """Run a program and hand on what it writes; return its exit code.

    Raises `OSError`, `subprocess.TimeoutExpired`, and what `take` does; the program is killed then. `take` is called on a thread
    of its own; one that is slower than the time goes on there, and is called no more.
    """
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    process = subprocess.Popen(  # noqa: S603 - fixed program and arguments, no shell
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )
    failed: list[Exception] = []
    lock, ended = threading.Lock(), False

    def hand_on(piece: bytes) -> None:
        with lock:
            if not ended:
                take(piece)

    def read() -> None:
        assert process.stdout is not None  # noqa: S101 - a pipe, see above
        with process.stdout:
            try:
                while piece := os.read(process.stdout.fileno(), _PIECE):
                    hand_on(piece)
            except Exception as error:
                failed.append(error)
                process.kill()

    # A thread of its own: what the program started may hold its output open after its end.
    reader = threading.Thread(target=read, name="carrel-git", daemon=True)
    reader.start()
    try:
        reader.join(seconds)
        if reader.is_alive():
            process.kill()
            reader.join(_LAST_SECONDS)
            ended = True
            if lock.acquire(timeout=_LAST_SECONDS):  # what is being taken is whole: the caller uses what it has
                lock.release()
            raise subprocess.TimeoutExpired(command, seconds)
        code = process.wait(seconds)
    finally:
        if process.poll() is None:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
    if failed:
        raise failed[0]
    return code


class Records:
    """Cuts a stream at a mark and hands on each record as soon as the next mark comes. Of each so many bytes are kept."""

    def __init__(self, mark: bytes, most: int, take: Callable[[bytes], None]) -> None:
        self._mark = mark
        self._most = most
        self._take = take
        self._now = bytearray()
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take a piece, however it was cut."""
        *whole, rest = (self._tail + piece).split(self._mark)
        for record in whole:
            self._keep(record)
            self._hand_on()
        held = len(self._mark) - 1  # of these bytes a mark may have begun
        self._tail = rest[-held:]
        self._keep(rest[:-held])

    def end(self) -> None:
        """Hand on the last record: all of it has come."""
        self._keep(self._tail)
        self._tail = b""
        self._hand_on()

    def _hand_on(self) -> None:
        record = bytes(self._now)
        self._now.clear()
        self._take(record)

    def _keep(self, part: bytes) -> None:
        self._now += part[: max(self._most - len(self._now), 0)]
