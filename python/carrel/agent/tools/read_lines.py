"""`read_lines`: a part of a file as it stands now, with the numbers of its lines."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from carrel.agent.tools.scope import IndexTool, Refusal
from carrel.model.bounds import Line
from carrel.model.conversation import ToolSpec
from carrel.model.lines import lines_of
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken
from carrel.model.ports import ToolResult
from carrel.model.structs import schema
from carrel.model.types import Chunk, ContextItem, Hit, Signals, Span, masks_in
from carrel.pack.appearance import one_line
from carrel.pack.formats import harmless_code

NAME = "read_lines"
DESCRIPTION = (
    "Read lines of a file of the workspace as they stand now, with their numbers. Use it when you know the file: to see what "
    "stands around a place that a search gave, or a definition whole. Ask for the part that you need, not for whole files; to "
    "find out where something is, search instead."
)
MOST_LINES = 400
_USUAL_LINES = 120
_MOST_ALIKE = 5
_GONE = "gone"
"""Why the index refuses what isn't there."""


class ReadArguments(Struct, kw_only=True, frozen=True):
    """Which lines."""

    path: Annotated[str, Meta(min_length=1, max_length=2_000, description="The file, as searches name it: relative, with /.")]
    start_line: Annotated[Line, Meta(description="The first line, counted from 1.")] = 1
    end_line: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description=f"The last line, included; 0 for {_USUAL_LINES} lines. No more than {MOST_LINES} are given at once.",
        ),
    ] = 0


class ReadLines(IndexTool):
    """Reads what the index holds: never an ignored, secret or outside file; secrets in a file are masked."""

    spec = ToolSpec(NAME, DESCRIPTION, schema(ReadArguments))
    takes = ReadArguments

    def _answer(
        self, request: ReadArguments, max_tokens: int, view: SnapshotView, refusal: Refusal, cancel: CancelToken
    ) -> ToolResult:
        path, first = as_path(request.path), request.start_line
        last = min(request.end_line or first + _USUAL_LINES - 1, first + MOST_LINES - 1)
        if last < first:
            return ToolResult("Not run: end_line: comes before start_line", is_error=True)
        text = None if refusal(path) or self._scope.hides(view, path, cancel) else view.text(path)
        if text is None:
            return ToolResult(self._not_there(path, view, refusal, cancel), is_error=True)
        lines = lines_of(text)
        if first > len(lines):
            return ToolResult(f"{one_line(path)} has only {len(lines)} lines.", is_error=True)
        last = min(last, len(lines))
        if self._scope.hides_lines(path, first, last):
            return ToolResult(f"Some of these lines of {one_line(path)} were left out by the user.", is_error=True)
        shown = self._fitting(path, lines, first, last, max_tokens)
        end = first + len(shown) - 1
        if not shown:
            return ToolResult(f"Line {first} of {one_line(path)} is too long to be shown.", is_error=True)
        body = "\n".join(lines[first - 1 : end])
        chunk = Chunk(
            id=f"{path}:{first}-{end}", path=path, span=Span(first, end), text=body, source="code", masked=masks_in(body)
        )
        note = f"(Lines {first}-{end} of {one_line(path)} stood here; read them again to see them.)"
        return ToolResult(
            "\n".join([self._header(path, first, end, len(lines)), *shown]),
            note=note,
            items=(ContextItem(Hit(chunk, 1.0, Signals()), body),),
        )

    def _fitting(self, path: str, lines: list[str], first: int, last: int, max_tokens: int) -> list[str]:
        """Return the numbered lines, from the first on, that go into so many tokens with their header."""
        left = max_tokens - self._tokenizer.count(self._header(path, first, last, len(lines))) - 1
        shown: list[str] = []
        for number in range(first, last + 1):
            line = f"{number}: {harmless_code(lines[number - 1])}"
            left -= self._tokenizer.count(line[: 16 * max_tokens]) + 1
            if left < 0 or len(line) > 16 * max_tokens:
                break
            shown.append(line)
        return shown

    def _not_there(self, path: str, view: SnapshotView, refusal: Refusal, cancel: CancelToken) -> str:
        """Say why there is nothing, and which files have the same name."""
        shown = one_line(path)[:200]
        if (reason := refusal(path)) and reason != _GONE:
            return f"{shown} may not be read: {reason}."
        name = path.rpartition("/")[2].lower()
        alike = [other for other in view.paths() if other != path and other.rpartition("/")[2].lower() == name]
        alike = [other for other in alike[:_MOST_ALIKE] if not self._scope.hides(view, other, cancel)]
        hint = f" There is {', '.join(map(one_line, alike))}." if alike else " Search for it with search_code."
        return f"{shown} is not in the index of the workspace.{hint}"

    @staticmethod
    def _header(path: str, first: int, last: int, total: int) -> str:
        return f"--- {one_line(path)} (lines {first}-{last} of {total}) ---"


def as_path(text: str) -> str:
    """Return a path as the index has it: relative, with slashes. What leads outside stays as it is and is refused."""
    path = text.strip().strip("`'\"").replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path
