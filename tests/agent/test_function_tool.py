"""Functions as tools of a conversation."""

from __future__ import annotations

import asyncio
import sys

from carrel.library_chat import FunctionTool


def stops() -> str:
    """Stop an iteration that has nothing."""
    return next(iter(()))


def loops() -> list[object]:
    """Return a list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


def leaves() -> None:
    """End the program."""
    sys.exit(3)


async def leaves_later() -> None:
    """End the program from the event loop."""
    sys.exit(3)


async def test_a_function_that_stops_an_iteration_ends_the_program_or_gives_what_json_cannot_hold_is_an_error() -> None:
    for function in (stops, loops, leaves, leaves_later):
        async with asyncio.timeout(20):
            result = await FunctionTool(function).run({})
        assert result.is_error
        assert "failed" in result.text
