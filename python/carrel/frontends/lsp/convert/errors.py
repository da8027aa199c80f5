"""Errors as they travel: a code, a sentence for a person, and the fields that a program reads."""

from __future__ import annotations

from typing import TypeVar

from msgspec import UNSET

from carrel.frontends.common.wire import camel_case
from carrel.frontends.lsp.messages.question_messages import ErrorData
from carrel.model.errors import CarrelError, InvalidInput

E = TypeVar("E", bound=CarrelError)


def on_wire(error: E) -> E | InvalidInput:
    """Return the error under the field's name on the wire; what lies further in knows its own names only."""
    return error.renamed(camel_case(error.field)) if isinstance(error, InvalidInput) else error


def error_data(error: CarrelError) -> ErrorData:
    """Return what programs may read of an error."""
    wrong = error if isinstance(error, InvalidInput) else None
    return ErrorData(
        kind=type(error).__name__,
        reason=error.reason,
        remedy=error.remedy,
        retryable=error.retryable,
        field=wrong.field if wrong else UNSET,
        value=wrong.value if wrong and wrong.value is not None else UNSET,
    )
