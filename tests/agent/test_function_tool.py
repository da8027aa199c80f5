"""Functions as tools of a conversation."""

from __future__ import annotations

import asyncio

from carrel.library_chat import FunctionTool


def stops() -> str:
    """Stop an iteration that has nothing."""
    return next(iter(()))


def loops() -> list[object]:
    """Return a list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


async def test_a_function_that_stops_an_iteration_or_gives_what_json_cannot_hold_is_an_error() -> None:
    for function in (stops, loops):
        async with asyncio.timeout(20):
            result = await FunctionTool(function).run({})
        assert result.is_error
        assert "failed" in result.text
