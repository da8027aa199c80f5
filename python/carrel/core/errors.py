"""The one error tree; frontends map kinds, nobody matches on message texts.

CarrelError
├── Cancelled         the caller's token was cancelled
├── InvalidInput      a parameter that can't be used; `field` names it
├── SettingsError     a settings file that can't be read, so that nobody knows what it leaves out
├── NotReady          no index yet, or the deadline came first
├── StoreError        disk or database; the message names the file and the remedy
│   ├── NewerFormat   written by a newer Carrel
│   └── NotWriter     another process is the writer
└── ProviderError     a model or remote service; `retryable` says whether waiting helps
"""

from __future__ import annotations

import traceback
from pathlib import Path


class CarrelError(Exception):
    """Base of every error that Carrel raises on purpose. The message is for a person: cause, then remedy."""


class Cancelled(CarrelError):
    """The caller's token was cancelled."""


class InvalidInput(CarrelError):
    """A parameter that can't be used."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class SettingsError(CarrelError):
    """A settings file is there and can't be read: nothing is read or answered, since it may leave out what is secret."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"{path} can't be read: {cause}. Correct or remove it; it may leave files out, so none is read until then."
        )
        self.path = path


class NotReady(CarrelError):
    """There is no index to answer from yet."""


class StoreError(CarrelError):
    """The index on disk can't be read or written."""


class NewerFormat(StoreError):
    """The index was written by a newer Carrel."""


class NotWriter(StoreError):
    """Another process is the writer of this index."""


class ProviderError(CarrelError):
    """A model or remote service failed."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


def place_of(error: BaseException) -> str:
    """Return where an error was raised, by files and lines: unlike its message, they quote nothing that was worked on."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
