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


def read_bounded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], take: Callable[[bytes], None], seconds: float
) -> int:
    """Run a program and hand on what it writes; return its exit code.

    Raises `OSError`, `subprocess.TimeoutExpired`, and what `take` does; the program is killed then.
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

    def read() -> None:
        assert process.stdout is not None  # noqa: S101 - a pipe, see above
        with process.stdout:
            try:
                while piece := os.read(process.stdout.fileno(), _PIECE):
                    take(piece)
            except Exception as error:
                failed.append(error)
                process.kill()

    # A thread of its own: what the program started may hold its output open after its end.
    reader = threading.Thread(target=read, name="carrel-git", daemon=True)
    reader.start()
    try:
        reader.join(seconds)
        if reader.is_alive():
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
    """Cuts a stream at a mark. Of each record so many bytes are kept."""

    def __init__(self, mark: bytes, most: int) -> None:
        self._mark = mark
        self._most = most
        self._records: list[bytes] = []
        self._now = bytearray()
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take a piece, however it was cut."""
        *whole, rest = (self._tail + piece).split(self._mark)
        for record in whole:
            self._keep(record)
            self._records.append(bytes(self._now))
            self._now.clear()
        held = len(self._mark) - 1  # of these bytes a mark may have begun
        self._tail = rest[-held:]
        self._keep(rest[:-held])

    def ended(self) -> list[bytes]:
        """Return all records, with what stands before the first mark as the first one."""
        self._keep(self._tail)
        self._tail = b""
        return [*self._records, bytes(self._now)]

    def _keep(self, part: bytes) -> None:
        self._now += part[: max(self._most - len(self._now), 0)]
