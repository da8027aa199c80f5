"""A command as it runs on a terminal."""

# ruff: noqa: PLC0415 - modules of POSIX
from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

CARREL = (sys.executable, "-m", "carrel")

posix_only = pytest.mark.skipif(os.name != "posix", reason="bytes, devices and signals as POSIX has them")


def on_terminal(*arguments: str, columns: int = 80, **env: str) -> bytes:
    """What a command writes to standard output where that is a terminal."""
    import fcntl
    import pty
    import termios

    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    environment = {**kept, "TERM": "xterm-256color", **env}
    with subprocess.Popen([*CARREL, *arguments], stdout=its, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(its)
        written = b""
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:  # Linux: the other end was closed
                break
            if not data:
                break
            written += data
    os.close(ours)
    assert process.returncode == 0
    return written
