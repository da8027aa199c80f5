"""Notice the death of the process that started the server, without polling where the system can tell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable

POLL_SECONDS = 0.5
_SYNCHRONIZE, _INFINITE = 0x00100000, 0xFFFFFFFF


def watch(pid: int, on_death: Callable[[], None]) -> None:
    """Call `on_death` on the running loop within a second of the end of process `pid`.

    A process that isn't there to begin with lives elsewhere (another container, another machine): then only the end
    of input tells.
    """
    if sys.platform != "win32" and not alive(pid):
        return
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        _watch_windows(pid, lambda: loop.call_soon_threadsafe(on_death))
    elif sys.platform == "linux" and (descriptor := _pidfd(pid)) is not None:

        def died() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            on_death()

        loop.add_reader(descriptor, died)
    else:
        _poll(loop, pid, on_death)


def alive(pid: int) -> bool:
    """Return true while a process of this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _pidfd(pid: int) -> int | None:
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None


def _poll(loop: asyncio.AbstractEventLoop, pid: int, on_death: Callable[[], None]) -> None:
    if alive(pid):
        loop.call_later(POLL_SECONDS, _poll, loop, pid, on_death)
    else:
        on_death()


def _watch_windows(pid: int, on_death: Callable[[], object]) -> None:
    if sys.platform != "win32":
        return
    import ctypes  # noqa: PLC0415 - Windows only

    kernel = ctypes.windll.kernel32
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
    if not handle:
        return

    def wait() -> None:
        kernel.WaitForSingleObject(handle, _INFINITE)
        kernel.CloseHandle(handle)
        on_death()

    threading.Thread(target=wait, name="carrel-parent", daemon=True).start()
