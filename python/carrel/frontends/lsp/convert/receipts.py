"""Results that say what was sent where while they were made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec import structs

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.convert import convert_questions as convert
from carrel.model.outbound import collect

C = TypeVar("C")
R = TypeVar("R", bound=Wire)
Handler = Callable[[C, Any], Coroutine[Any, Any, R]]


def with_receipt(handler: Handler[C, R]) -> Handler[C, R]:
    """Have the result of a handler say what was sent where."""

    @functools.wraps(handler)
    async def told(commands: C, raw: Any) -> R:
        with collect() as receipt:
            result = await handler(commands, raw)
        return structs.replace(result, sent=convert.from_receipt(receipt))

    return told
