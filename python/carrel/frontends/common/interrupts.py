"""Ctrl-C in Carrel's programs: never an exception at a random place.

Python's own handler raises `KeyboardInterrupt` wherever the main thread happens to be, and not everything survives that. An
import inside the initialisation of a compiled module may fail unnoticed (msgspec's, of `datetime`): the interrupt is lost, and
a null pointer ends the process later with signal 11. So a program calls `leave_at_once` before it loads anything else, and
work that has something to keep or to tidy up is told by `told_of_interrupts`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

CANCELLED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of SIGINT."""

_SHOW_CURSOR = b"\x1b[?25h"


def leave_at_once(*others: str) -> None:
    """Have Ctrl-C end the process from now on without a word, unless it is ignored (a shell's background job).

    So do signals with the names `others`, where this system has them: with 128 and the signal's number, as shells have it.
    """
    for number in _heeded("SIGINT", *others):
        signal.signal(number, _leave)


@contextmanager
def told_of_interrupts(ask: Callable[[], object], *others: str) -> Iterator[list[int]]:
    """Have the first Ctrl-C call `ask` in the main thread, and a second one end the process at once.

    `others` are names of signals that count as Ctrl-C; those that this system lacks or this process ignores don't. The list holds
    the signal that came.
    """
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if came:
            _leave(came[0], frame)
        came.append(number)
        ask()

    before = {number: signal.signal(number, interrupt) for number in _heeded("SIGINT", *others)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave(code: int) -> None:
    """End the process at once, with what it started and its temporary folders."""
    if leftovers := sys.modules.get("carrel.system.leftovers"):  # an import would take time, and may be under way
        leftovers.leave(code)
    else:
        os._exit(code)


def _heeded(*names: str) -> list[signal.Signals]:
    """Return the signals that this system has and this process doesn't ignore."""
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def _leave(number: int, _frame: FrameType | None) -> None:
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)  # a progress bar hides it
    leave(128 + number)
