"""No image of this process's memory on disk when it crashes: keys, code and questions are in it.

What a system's own crash handler is given beside the limit (a Linux `core_pattern` that ignores it, a debugger, a minidump of
Windows, which has stacks but no heap then) is not covered; docs/security.md says so. `PR_SET_DUMPABLE` would also stop handlers
that ignore the limit, but takes debuggers and the process's own files in /proc from the person whose process it is, and the
next program that is started has it no more.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

_WINDOWS_QUIET = 0x0001 | 0x0002 | 0x8000
"""SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SEM_NOOPENFILEERRORBOX: no dialog that offers a dump."""
_WINDOWS_NO_HEAP = 1
"""WER_FAULT_REPORTING_FLAG_NOHEAP."""


def disable_core_dumps() -> None:
    """Have no core dump written of this process and of those that it starts. Does what the system allows."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - most starts don't need it

        _quiet(ctypes.windll)
    else:
        import resource  # noqa: PLC0415 - Windows has none

        with suppress(OSError, ValueError):
            _, hardest = resource.getrlimit(resource.RLIMIT_CORE)
            resource.setrlimit(resource.RLIMIT_CORE, (0, hardest))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _quiet(libraries: Any) -> None:
    """Ask Windows for no dialogs, and for reports without the heap."""
    with suppress(OSError, AttributeError):
        libraries.kernel32.SetErrorMode(libraries.kernel32.GetErrorMode() | _WINDOWS_QUIET)
    with suppress(OSError, AttributeError):
        libraries.wer.WerSetFlags(_WINDOWS_NO_HEAP)
