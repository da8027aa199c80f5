"""Faults of the machine, as against those of a path: the twin of `system_fault.rs`."""

from __future__ import annotations

import errno

_OF_PATHS = frozenset(
    getattr(errno, name)
    for name in (
        *("ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "EMLINK", "ENAMETOOLONG", "EINVAL", "EILSEQ", "ENOSYS"),
        *("ENXIO", "EOVERFLOW", "EFBIG", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOKEY"),
    )
    if hasattr(errno, name)
)
_NETWORK_GONE = frozenset({53, 67})
"""Windows' numbers for a network drive that went away, which Python calls not found."""
_OF_WINDOWS_PATHS = frozenset({123, 161, 206, 225, 226, 448, 681, 1920, 1921})
"""Windows' numbers for names that can't be, files that a virus scanner refuses, and links that lead nowhere or aren't files.
Python gives them, as those of faults, the general `EINVAL`."""

_TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})
FULL_DISK = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})


def describe(error: OSError) -> tuple[str, str]:
    """Return cause and remedy of a fault."""
    cause = f"{error.filename}: {error.strerror}" if error.filename else f"The system failed: {error.strerror}"
    if error.errno in _TOO_MANY_FILES:
        return cause, "Close other programs or raise the limit of open files (`ulimit -n`), and try again."
    if error.errno == errno.ENOMEM:
        return cause, "Free some memory and try again."
    if error.errno in FULL_DISK:
        return cause, "Free some disk space and try again."
    return cause, "Check the disk or network drive, and try again."


def is_system_fault(error: OSError) -> bool:
    """Tell whether the machine failed: too many open files, no memory, a broken disk. Nothing may be forgotten for it.

    Else the path itself isn't there, isn't allowed or isn't what it should be.
    """
    windows: int | None = getattr(error, "winerror", None)
    if windows is not None and (windows in _NETWORK_GONE or error.errno == errno.EINVAL):
        return windows not in _OF_WINDOWS_PATHS
    return error.errno is not None and error.errno not in _OF_PATHS
