"""Errors as they travel: a code, a sentence for a person, and the fields that a program reads.

Results that say what was sent where while they were made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec import UNSET, structs

from carrel.frontends.common.wire import Wire, camel_case
from carrel.frontends.lsp.convert import convert_questions as convert
from carrel.frontends.lsp.messages.question_messages import ErrorData
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.outbound import collect

C = TypeVar("C")
R = TypeVar("R", bound=Wire)
Handler = Callable[[C, Any], Coroutine[Any, Any, R]]


def with_receipt(handler: Handler[C, R]) -> Handler[C, R]:
    """Have the result of a handler say what was sent where."""

    @functools.wraps(handler)
    async def handle(commands: C, raw: Any) -> R:
        with collect() as receipt:
            result = await handler(commands, raw)
        return structs.replace(result, sent=convert.from_receipt(receipt))

    return handle


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
