"""The tools of pipelines that work on a text: Carrel's own code, no program and no file."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
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


class _Text(Struct, kw_only=True, frozen=True):
    """The text that all work on."""

    input: Annotated[str, Meta(description="The text, line by line.")]


class _Grep(_Text, kw_only=True, frozen=True):
    pattern: Annotated[str, Meta(min_length=1, max_length=500, description="A regular expression: lines that it fits are kept.")]
    ignore_case: bool = False


class _Sort(_Text, kw_only=True, frozen=True):
    reverse: bool = False


class _Lines(_Text, kw_only=True, frozen=True):
    lines: Annotated[int, Meta(ge=0, le=100_000, description="How many.")] = 10


class _Cut(_Text, kw_only=True, frozen=True):
    fields: Annotated[tuple[Annotated[int, Meta(ge=1, le=1_000)], ...], Meta(min_length=1, max_length=20, description="From 1.")]
    delimiter: Annotated[str, Meta(max_length=10, description="What stands between fields; empty for any white space.")] = ""


class _Json(_Text, kw_only=True, frozen=True):
    path: Annotated[
        str, Meta(max_length=500, description="Names and numbers joined by dots, * for each: `items.*.name`, `rows.0`.")
    ] = ""


class TextTool:
    """One of them. It runs on a thread: a pattern may take its time."""

    def __init__(self, name: str, description: str, arguments: type[_Text], work: Callable[[Any, str], str]) -> None:
        """Take what it does with its arguments and the text."""
        self.spec = ToolSpec(name, description, schema(arguments))
        self._arguments, self._work = arguments, work

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Work on the text."""
        try:
            values = decode_call(self._arguments, {**arguments, "input": ""})
            return ToolResult(await asyncio.to_thread(self._work, values, str(arguments.get("input", ""))))
        except InvalidInput as error:
            return ToolResult(str(error), is_error=True)


def text_tools() -> list[TextTool]:
    """Return all of them."""
    return [
        TextTool("grep", "Keep the lines of a text that fit a pattern: filter a log, find errors.", _Grep, _grep),
        TextTool("sort", "Sort the lines of a text.", _Sort, _sort),
        TextTool("head", "Keep the first lines of a text.", _Lines, lambda values, text: "".join(rows_of(text)[: values.lines])),
        TextTool("tail", "Keep the last lines of a text.", _Lines, _tail),
        TextTool("uniq", "Keep one of equal lines of a text that follow each other.", _Text, _uniq),
        TextTool("cut", "Keep some fields of each line of a text, as columns of a table.", _Cut, _cut),
        TextTool("wc", "Count the lines, words and characters of a text; gives JSON.", _Text, _wc),
        TextTool("json", "Read values out of a text that is JSON, each on a line.", _Json, _json),
        TextTool("count", "Count how often each line of a text occurs, the most frequent first.", _Text, _count),
    ]


def _grep(arguments: _Grep, text: str) -> str:
    try:
        pattern = regex.compile(arguments.pattern, regex.IGNORECASE if arguments.ignore_case else 0)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput("pattern", f"is not a regular expression: {error}") from None
    ends = time.process_time() + _SECONDS
    kept = []
    try:
        for line in rows_of(text):
            left = max(ends - time.process_time(), 0.001)
            if pattern.search(line.rstrip("\r\n"), timeout=left, concurrent=True):  # the GIL is free meanwhile
                kept.append(line)
    except TimeoutError:
        raise InvalidInput("pattern", f"took longer than {_SECONDS:g} s of processor time; use a simpler one") from None
    return "".join(kept)


def _sort(arguments: _Sort, text: str) -> str:
    lines = text.split("\n")
    end = "\n" if lines and not lines[-1] else ""
    return "\n".join(sorted(lines[:-1] if end else lines, reverse=arguments.reverse)) + end


def _tail(arguments: _Lines, text: str) -> str:
    rows = rows_of(text)
    return "".join(rows[max(len(rows) - arguments.lines, 0) :])


def _uniq(_: _Text, text: str) -> str:
    return "".join(next(equal) for _, equal in groupby(rows_of(text), lambda row: row.rstrip("\r\n")))


def _cut(arguments: _Cut, text: str) -> str:
    kept = []
    for row in rows_of(text):
        line = row.rstrip("\r\n")
        parts = line.split(arguments.delimiter or None)
        fields = [parts[number - 1] for number in arguments.fields if number <= len(parts)]
        kept.append((arguments.delimiter or " ").join(fields) + row[len(line) :])
    return "".join(kept)


def _wc(_: _Text, text: str) -> str:
    return json.dumps({"lines": len(rows_of(text)), "words": len(text.split()), "characters": len(text)})


def _count(_: _Text, text: str) -> str:
    often = Counter(row.rstrip("\r\n") for row in rows_of(text))
    return "".join(f"{number} {line}\n" for line, number in often.most_common())


def _json(arguments: _Json, text: str) -> str:
    try:
        value = json.loads(text)
        values = [value] if not arguments.path else list(_values(value, arguments.path.split("."), ""))
        return "".join(f"{item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}\n" for item in values)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("input", f"is not JSON that can be read: {str(error)[:200]}") from None


def _values(value: Any, path: list[str], before: str) -> Iterator[Any]:
    """Give what a path leads to. Raises `InvalidInput` that names what there is instead."""
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    here = f"{before}.{step}".removeprefix(".")
    if step == "*" and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item, rest, here)
    elif isinstance(value, dict) and step in value:
        yield from _values(value[step], rest, here)
    elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
        yield from _values(value[int(step)], rest, here)
    else:
        there = (
            f"the names {', '.join(list(value)[:20])}"
            if isinstance(value, dict)
            else f"{len(value)} items"
            if isinstance(value, list)
            else "a value"
        )
        raise InvalidInput("path", f"{here} leads to nothing; there is {there}")
