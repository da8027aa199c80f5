"""Sealed values in a folder that a team shares: a file each, named by its key.

A file is written beside and then renamed, so that nobody reads half of one. It isn't waited until the disk has it: a file that
a power cut damaged doesn't unseal, and is made again.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from carrel.model.errors import StoreError

MOST_BYTES = 100_000
"""Of one value: a vector of 16,384 numbers takes 33 KB."""


class FolderValues:
    """The folder. It is made where it is missing, what it lies in isn't: that may be a mount that is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values that are there."""
        return await asyncio.to_thread(self._read, keys)

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values."""
        await asyncio.to_thread(self._write, values)

    async def aclose(self) -> None:
        """Have nothing to close."""

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        values = {}
        try:
            if not self._folder.is_dir() and not self._folder.parent.is_dir():
                raise FileNotFoundError(2, "No such folder")
            for key in keys:
                with contextlib.suppress(FileNotFoundError), self._path(key).open("rb") as file:
                    values[key] = file.read(MOST_BYTES)
        except OSError as error:
            raise self._fault(error, "read") from None
        return values

    def _write(self, values: Mapping[bytes, bytes]) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
            for key, value in values.items():
                path = self._path(key)
                path.parent.mkdir(exist_ok=True)
                with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
                    file.write(value)
                Path(file.name).replace(path)
        except OSError as error:
            raise self._fault(error, "written") from None

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self._folder / name[:2] / name[2:]

    def _fault(self, error: OSError, done: str) -> StoreError:
        return StoreError(
            f"The team's folder {self._folder} can't be {done} ({error.strerror or type(error).__name__})",
            "Mount it, or make it writable.",
        )
