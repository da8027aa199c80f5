"""The one error tree. Front ends map kinds and read fields; nobody matches or cuts the sentences, which are for a person.

CarrelError           `reason`, `remedy` and `retryable` of whatever went wrong
├── Cancelled         the caller's token was cancelled
├── InvalidInput      a parameter that can't be used: `field` names it, `value` may quote it
│   └── WindowTooSmall  prompts and history leave a model no room for an answer
├── SettingsError     a settings file that can't be read, so that nobody knows what it leaves out
├── NotPermitted      the person's setting `allow` gives the caller no right to this
├── NotReady          no index yet, or the deadline came first
├── StoreError        disk or database; the reason names the file
│   ├── NewerFormat   written by a newer Carrel
│   └── NotWriter     another process is the writer
└── ProviderError     a model or remote service
    ├── NotAllowed    nobody said that text may be sent there: `provider` and `host`
    ├── UnusableAnswer  it answered with something that can't be used
    └── TextRefused   an embedding model gives this text no vector, though it gives others theirs
"""

from __future__ import annotations

import traceback
from pathlib import Path


class CarrelError(Exception):
    """Base of every error that Carrel raises on purpose; `str` of it is a sentence for a person."""

    retryable: bool = False
    """Whether the same request may succeed later, though nobody mends anything."""

    def __init__(self, reason: str = "", remedy: str = "", *, retryable: bool | None = None) -> None:
        """Say what happened and why, and by which command, setting or act a person mends it, where that is known."""
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy
        if retryable is not None:
            self.retryable = retryable

    def __str__(self) -> str:
        return _joined(self.reason, self.remedy)


class Cancelled(CarrelError):
    """The caller's token was cancelled."""


class InvalidInput(CarrelError):
    """A parameter that can't be used. The reason says it of `value` where there is one, else of the field."""

    def __init__(self, field: str, reason: str, remedy: str = "", *, value: str | None = None) -> None:
        super().__init__(reason, remedy)
        self.args = (field, reason, remedy)
        self.field = field
        self.value = value

    def __str__(self) -> str:
        return f"{self.field}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """Value, reason and remedy as a sentence, for who names the field in another way."""
        return _joined(self.reason if self.value is None else f'"{self.value}" {self.reason}', self.remedy)

    def renamed(self, field: str, remedy: str | None = None) -> InvalidInput:
        """Return the same error under the name that the caller knows the field by, with a remedy where one is known here."""
        return InvalidInput(field, self.reason, self.remedy if remedy is None else remedy, value=self.value)


class WindowTooSmall(InvalidInput):
    """Prompts and history fill a model's window so far that the least answer doesn't fit."""


class SettingsError(CarrelError):
    """A settings file is there and can't be read: nothing is read or answered, since it may leave out what is secret."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"{path} can't be read: {cause}", "Correct or remove it; it may leave files out, so none is read until then."
        )
        self.args = (path, cause)
        self.path = path


class NotPermitted(CarrelError):
    """The person's setting `allow` gives the caller no right to this."""


class NotReady(CarrelError):
    """There is no index to answer from yet."""


class StoreError(CarrelError):
    """The index on disk can't be read or written."""


class NewerFormat(StoreError):
    """The index was written by a newer Carrel."""


class NotWriter(StoreError):
    """Another process is the writer of this index. It may take up what waits, or end."""

    retryable = True


class ProviderError(CarrelError):
    """A model or remote service failed; `retryable` says whether waiting helps, `retry_after` for how many seconds it asked.

    `status` is the HTTP status that it answered with, where it did.
    """

    def __init__(
        self,
        reason: str = "",
        remedy: str = "",
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(reason, remedy, retryable=retryable)
        self.retry_after = retry_after
        self.status = status


class NotAllowed(ProviderError):
    """Nobody said yet that text may be sent to this provider."""

    def __init__(self, provider: str, host: str) -> None:
        super().__init__(
            f"Nothing was sent to {provider} at {host}: nobody allowed it yet",
            f"Allow it in the editor's dialog, or run `carrel confirm {provider} {host}`.",
        )
        self.args = (provider, host)
        self.provider = provider
        self.host = host


class UnusableAnswer(ProviderError):
    """A model or service answered with something that isn't what was asked for, such as a vector of zeros."""


class TextRefused(ProviderError):
    """An embedding model gives a text no vector, though it gives others theirs. `str` of it is kept as a file's reason."""

    _BEGINNING = "the embedding model refused a text of it, and is asked again when the text, the model or its settings change: "

    def __init__(self, reason: str) -> None:
        super().__init__(f"{self._BEGINNING}{reason}")

    @classmethod
    def is_reason(cls, reason: str) -> bool:
        """Tell whether a reason that was kept is that of a refused text."""
        return reason.startswith(cls._BEGINNING)


def _joined(reason: str, remedy: str) -> str:
    if not remedy:
        return reason
    return f"{reason}: {remedy}" if remedy[0].islower() else f"{reason.removesuffix('.')}. {remedy}"


def place_of(error: BaseException) -> str:
    """Return where an error was raised, by files and lines: unlike its message, they quote nothing that was worked on."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
