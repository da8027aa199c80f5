"""End with the process that started this one. The end of input isn't enough: another child of it may hold our input open.

The parent's id is read when this module is loaded, which is the first thing that a program does. A thread watches it, which needs
no event loop. `PR_SET_PDEATHSIG` of Linux isn't used: its signal comes when the parent's thread ends that started this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from carrel.frontends.common.interrupts import leave

STARTED_BY = os.getppid()
_POLL_SECONDS = 0.5
_LAST_SECONDS = 5.0
"""Seconds that the process may take to end by itself."""
_INIT = 1
_watched: set[int] = set()
_endings: list[Callable[[], None]] = []


def end_with_parent() -> None:
    """End this process when its parent does, with exit code 1, unless it was detached on purpose.

    A parent that ended before the first instruction can't be told from the process that took its place. One outside this
    process's container (`docker exec`) has the number 0 and can't be watched: then only the end of input tells.
    """
    if STARTED_BY <= _INIT or STARTED_BY in _watched or _detached():
        return
    _watched.add(STARTED_BY)
    if sys.platform == "win32":
        from carrel.frontends.common.windows_parent import wait_for_parent  # noqa: PLC0415 - Windows only

        _watch(lambda: wait_for_parent(STARTED_BY))
    else:
        _watch(lambda: _wait_for_end(STARTED_BY, lambda: os.getppid() != STARTED_BY))


def end_with(pid: int) -> None:
    """End this process when process `pid` does, too: what a client names itself may be an ancestor.

    A process that isn't there to begin with lives elsewhere (another container, another machine): then only the parent and the
    end of input tell.
    """
    if pid in _watched or pid <= _INIT:
        return
    if sys.platform == "win32":
        from carrel.frontends.common.windows_parent import wait_for_process  # noqa: PLC0415 - Windows only

        _watched.add(pid)
        _watch(lambda: wait_for_process(pid))
    elif alive(pid):
        _watched.add(pid)
        _watch(lambda: _wait_for_end(pid, lambda: not alive(pid)))


def on_death(end: Callable[[], None]) -> None:
    """Have `end` called on the watching thread instead of leaving at once; some seconds after it returns the process leaves."""
    _endings.append(end)


def alive(pid: int) -> bool:
    """Return true while a process of this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _detached() -> bool:
    """Tell whether this process leads a session of its own and ignores the end of a terminal: `nohup setsid carrel …`.

    Editors do the one or hand down the other, not both.
    """
    if sys.platform == "win32":
        return False
    return os.getsid(0) == os.getpid() and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def _watch(wait: Callable[[], bool]) -> None:
    def run() -> None:
        if wait():
            for end in tuple(_endings):
                end()
            if _endings:
                time.sleep(_LAST_SECONDS)
            leave(1)

    threading.Thread(target=run, name="carrel-parent", daemon=True).start()


def _wait_for_end(pid: int, gone: Callable[[], bool]) -> bool:
    """Return true when a process has ended. `gone` tells it, asked again once the system watches: the number may be another's."""
    if not _system_waits(pid, gone):
        while not gone():
            time.sleep(_POLL_SECONDS)
    return True


def _system_waits(pid: int, gone: Callable[[], bool]) -> bool:
    """Wait without polling; false where this system can't for this process."""
    import select  # noqa: PLC0415 - Windows has nothing to wait with in it

    try:
        if sys.platform == "linux":
            descriptor = os.pidfd_open(pid)
            try:
                if not gone():
                    ready = select.poll()
                    ready.register(descriptor, select.POLLIN)
                    ready.poll()
            finally:
                os.close(descriptor)
        elif sys.platform == "darwin":
            with contextlib.closing(select.kqueue()) as queue:
                exits = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT)
                queue.control([exits], 0)
                if not gone():
                    queue.control(None, 1)
        else:
            return False
    except (OSError, AttributeError):  # an old kernel, a process that mustn't be watched, one that has ended
        return False
    return True
