"""The folder of the texts that stand for what the core can't read; it belongs to the person alone.

Read a file below a folder that a person named, without following a link on the way.
"""

from __future__ import annotations

import os
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.model.errors import StoreError
from carrel.model.native import CancelToken

if TYPE_CHECKING:
    from carrel.index.indexer import RunNative

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


def read_below(root: Path, relative: str, most: int) -> bytes:
    """Return the bytes of a regular file. Raises `OSError` for a link, another kind of file, and more than `most` bytes."""
    handle = _open(root, relative)
    with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("is no regular file")
        if status.st_size > most:
            raise OSError(f"is larger than {most:,} bytes")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(f"is larger than {most:,} bytes")
    return data


if sys.platform == "win32":

    def _open(root: Path, relative: str) -> int:
        """Open where folders can't be held open: the path must lead where it says, before and after."""
        path = root.resolve().joinpath(*_parts(relative))
        handle = os.open(path, _FLAGS)
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
            os.close(handle)
            raise OSError("is a link, or lies behind one")
        return handle

else:

    def _open(root: Path, relative: str) -> int:
        """Open one folder after another, none of which may be a link."""
        *folders, name = _parts(relative)
        folder_flags = os.O_RDONLY | os.O_DIRECTORY
        folder = os.open(root, folder_flags)
        try:
            for part in folders:
                inner = os.open(part, folder_flags | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(name, _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)


def _parts(relative: str) -> list[str]:
    parts = relative.split("/")
    if any(part in ("", ".", "..") or os.sep in part or "\0" in part for part in parts):
        raise OSError("isn't a path below the folder")
    return parts


class TextMirror(ABC):
    """Texts that stand for something that the core can't read. All but `update` blocks."""

    def __init__(self, directory: Path, root: Path | None = None) -> None:
        self.texts = directory / "texts"
        self.root = root or self.texts
        self._directory = directory
        self._state_file = directory / "state.json"

    def prepare(self) -> None:
        """Make the folder of the texts, which belongs to the person alone. Raises `StoreError`."""
        try:
            self.texts.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(
                f"{self.texts} can't be made ({error.strerror})", "Set `cacheFolder` to a folder that can be written."
            ) from None

    @abstractmethod
    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = lambda: None) -> int:
        """Bring the texts up to date, native work by `native`; `compared` is called when it is known what there is to do."""

    @abstractmethod
    def original(self, path: str) -> str:
        """Return the path of what a text stands for."""

    def refused(self, path: str) -> bool:  # noqa: ARG002 - commits and what a server offers have no access rules
        """Tell whether a text may not be given any more."""
        return False

    @property
    @abstractmethod
    def failed(self) -> dict[str, str]:
        """Name what has no text, and why."""


def not_readable(path: Path, fault: OSError | str) -> StoreError:
    """Return what is to be raised where the machine failed over a path, which says nothing of what is there."""
    reason = fault if isinstance(fault, str) else fault.strerror
    return StoreError(f"{path} can't be read ({reason})", "Mend that, then index again: what was read before is kept.")


def not_writable(folder: Path, error: OSError) -> StoreError:
    """Return what is to be raised where a text can't be written."""
    return StoreError(f"{folder} can't be written ({error.strerror})", "Free some space, or set `cacheFolder`.")
