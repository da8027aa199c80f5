"""Tell network mounts from local disks, since SQLite's locks need a local one; replace a file in one step; lock across processes.

Whoever reads a file meanwhile, and a kill at any moment, leave it whole, old or new. The system lets go of a lock
when its holder ends, however that ends. Faults of the machine are told from those of a path as in `system_fault.rs`.
"""

# ruff: noqa: PLC0415 - each system has its own way to lock a file
from __future__ import annotations

import contextlib
import errno
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

OWNER_ONLY = 0o600


def replace_file(path: Path, content: bytes, *, mode: int = OWNER_ONLY, last_check: Callable[[], None] = lambda: None) -> None:
    """Write a file by way of a new one beside it, which is on the disk before it takes the name. Raises `OSError`.

    A link at `path` is replaced, not followed. What `last_check` raises keeps the new file from taking the name.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode != OWNER_ONLY:  # what it was made with
            Path(name).chmod(mode)
        last_check()
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def private_folder(folder: Path, *, close: bool = True) -> None:
    """Make a folder that its owner alone may look into and change, as are those above it that are missing. Raises `OSError`.

    One of the user's own that earlier versions left open to others is closed, but with `close` false, where a user chose it.
    """
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if close:
        _close_to_others(folder)


def private_file(path: Path) -> None:
    """Make an empty file that its owner alone may read and write, unless it is there; then others lose it. Raises `OSError`."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY))
    except FileExistsError:
        _close_to_others(path)


def _close_to_others(path: Path) -> None:
    if not hasattr(os, "getuid"):
        return
    state = path.stat()
    if state.st_uid == os.getuid() and state.st_mode & 0o077:
        with contextlib.suppress(OSError):  # a file system without rights
            path.chmod(stat.S_IMODE(state.st_mode) & 0o700)


_NETWORK = frozenset(
    {
        "9p",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "drvfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb2",
        "smb3",
        "smbfs",
        "webdav",
    }
)
_REMOTE = 4  # DRIVE_REMOTE of the Windows API


def is_network(path: Path) -> bool:
    """Tell whether `path` is surely on a network mount; false when it isn't or can't be told."""
    path = path.absolute()
    if sys.platform == "win32":
        return _windows_remote(str(path))
    try:
        if sys.platform == "darwin":
            listing = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=2, check=False).stdout
            kind = mount_type(path, darwin_mounts(listing))
        else:
            kind = mount_type(path, linux_mounts(Path("/proc/self/mountinfo").read_bytes().decode("utf-8", "replace")))
    except (OSError, subprocess.SubprocessError):
        return False
    return kind in _NETWORK or kind.startswith(("fuse.sshfs", "fuse.rclone", "fuse.s3", "fuse.gcs", "fuse.gvfs"))


def linux_mounts(mountinfo: str) -> list[tuple[str, str]]:
    """Return (mount point, type) of each line of `/proc/self/mountinfo`."""
    mounts = []
    for line in mountinfo.split("\n"):
        left, dash, right = line.partition(" - ")
        fields = left.split(" ")
        if dash and len(fields) > 4 and right:
            mounts.append((_unescape(fields[4]), right.split(" ", 1)[0]))
    return mounts


def darwin_mounts(listing: str) -> list[tuple[str, str]]:
    """Return (mount point, type) of each line that macOS's `mount` prints: `//me@host/x on /Volumes/x (smbfs, nodev)`."""
    mounts = []
    for line in listing.split("\n"):
        before, paren, options = line.rpartition(" (")
        _, on, point = before.partition(" on ")
        if paren and on:
            mounts.append((point, options.partition(",")[0].rstrip(")")))
    return mounts


def mount_type(path: Path, mounts: list[tuple[str, str]]) -> str:
    """Return the type of the innermost mount that holds `path`; of two on one point, the later one."""
    text = os.path.realpath(path)
    best = ("", "")
    for point, kind in mounts:
        inside = text == point or text.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _unescape(field: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def _windows_remote(path: str) -> bool:
    if path.startswith("\\\\"):
        return True
    if sys.platform != "win32":
        return False
    import ctypes

    return bool(ctypes.windll.kernel32.GetDriveTypeW(path[:3]) == _REMOTE)


@contextmanager
def locked(path: Path, seconds: float, pause: float = 0.1) -> Iterator[bool]:
    """Hold the lock on `path`, a file that only this is for; gives False where somebody else held it for so many seconds."""
    with path.open("a+b") as file:
        end = time.monotonic() + seconds
        while not (held := _lock(file)) and time.monotonic() < end:
            time.sleep(pause)
        yield held  # the system lets go of it when the file is closed


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
