"""`grep`, `sort` and `head` for pipelines: Carrel's own code on a text, no program and no file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any

import regex
from msgspec import Meta, Struct

from carrel.model.conversation import ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.lines import rows_of
from carrel.model.ports import ToolResult
from carrel.model.structs import decode_call, schema

_SECONDS = 1.0
"""Of processor time, in which a pattern must have found its lines: some need for ever."""
Input = Annotated[str, Meta(description="The text, line by line.")]


class GrepArguments(Struct, kw_only=True, frozen=True):
    """What to keep."""

    pattern: Annotated[str, Meta(min_length=1, max_length=500, description="A regular expression: lines that it fits are kept.")]
    input: Input
    ignore_case: bool = False


class SortArguments(Struct, kw_only=True, frozen=True):
    """What to sort."""

    input: Input
    reverse: bool = False


class HeadArguments(Struct, kw_only=True, frozen=True):
    """How many lines to keep."""

    input: Input
    lines: Annotated[int, Meta(ge=0, le=100_000, description="How many.")] = 10


class _TextTool:
    """What the three share. They run on a thread: a pattern may take its time."""

    spec: ToolSpec

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Work on the text."""
        try:
            return await asyncio.to_thread(self._work, arguments)
        except InvalidInput as error:
            return ToolResult(str(error), is_error=True)

    def _work(self, arguments: Mapping[str, Any]) -> ToolResult:
        raise NotImplementedError


class Grep(_TextTool):
    """Keeps the lines that a pattern fits."""

    spec = ToolSpec("grep", "Keep the lines of a text that fit a pattern: filter a log, find errors.", schema(GrepArguments))

    def _work(self, arguments: Mapping[str, Any]) -> ToolResult:
        asked = decode_call(GrepArguments, {**arguments, "input": ""})
        try:
            pattern = regex.compile(asked.pattern, regex.IGNORECASE if asked.ignore_case else 0)
        except (regex.error, RecursionError, OverflowError) as error:
            raise InvalidInput("pattern", f"is not a regular expression: {error}") from None
        ends = time.process_time() + _SECONDS
        kept = []
        try:
            for line in rows_of(str(arguments.get("input", ""))):
                left = max(ends - time.process_time(), 0.001)
                if pattern.search(line.rstrip("\r\n"), timeout=left, concurrent=True):  # the GIL is free meanwhile
                    kept.append(line)
        except TimeoutError:
            raise InvalidInput("pattern", f"took longer than {_SECONDS:g} s of processor time; use a simpler one") from None
        return ToolResult("".join(kept))


class Sort(_TextTool):
    """Sorts lines."""

    spec = ToolSpec("sort", "Sort the lines of a text.", schema(SortArguments))

    def _work(self, arguments: Mapping[str, Any]) -> ToolResult:
        asked = decode_call(SortArguments, {**arguments, "input": ""})
        lines = str(arguments.get("input", "")).split("\n")
        end = "\n" if lines and not lines[-1] else ""
        return ToolResult("\n".join(sorted(lines[:-1] if end else lines, reverse=asked.reverse)) + end)


class Head(_TextTool):
    """Keeps the first lines."""

    spec = ToolSpec("head", "Keep the first lines of a text.", schema(HeadArguments))

    def _work(self, arguments: Mapping[str, Any]) -> ToolResult:
        asked = decode_call(HeadArguments, {**arguments, "input": ""})
        return ToolResult("".join(rows_of(str(arguments.get("input", "")))[: asked.lines]))
