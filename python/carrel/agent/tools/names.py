"""`find_definition` and `find_uses`: a name in, the places out that the index knows.

Definitions come from the index's table of names: what the syntax of a file defines. Uses are lines that hold the name as a whole
word, in the chunks that the word search finds: no types are resolved, comments and strings count, and of a name that very many
chunks hold not all are looked through. The answers say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from carrel.agent import search_tool
from carrel.agent.tools.scope import IndexTool, Refusal
from carrel.model.conversation import ToolSpec
from carrel.model.lines import lines_of
from carrel.model.local_index import SnapshotView
from carrel.model.native import CancelToken, CurrentChunk, Filter
from carrel.model.patterns import whole_word
from carrel.model.ports import ToolResult
from carrel.model.structs import schema
from carrel.model.types import Chunk, ContextItem, Hit, Signals, Span, masks_in
from carrel.pack.appearance import one_line
from carrel.question import query_words
from carrel.search.retriever import to_chunk

_SEPARATORS = ("::", "\\", "->", "#", "/")
"""Between the parts of a name, beside a point."""
_MOST_DEFINITIONS = 50
_MOST_SHOWN = 8
_MOST_CHUNKS = 250
"""Chunks that hold a name and are looked through for its uses."""
_MOST_LINES = 200
_LONGEST_LINE = 200


class NameArguments(Struct, kw_only=True, frozen=True):
    """Which name."""

    name: Annotated[
        str, Meta(min_length=1, max_length=300, description="An identifier: `verify_password`, `Session.close`, `MAX_SIZE`.")
    ]


class _Name(Struct, frozen=True):
    """A name, taken apart: its last part, and what stands before that."""

    last: str
    qualifiers: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> _Name:
        parts = [part for part in _parts(text.strip().strip("`").removesuffix("()")) if part]
        return cls(parts[-1] if parts else "", tuple(parts[:-1]))


class _NameTool(IndexTool):
    """What both tools share."""

    takes = NameArguments

    def _answer(self, request: NameArguments, max_tokens: int, view: SnapshotView, _: Refusal, cancel: CancelToken) -> ToolResult:
        """Look the name up, with a text of at most so many tokens."""
        name = _Name.read(request.name)
        if not re.search(r"\w", name.last):
            return ToolResult("Not run: name: is not an identifier", is_error=True)
        return self._look_up(name, max_tokens, view, cancel)

    def _look_up(self, name: _Name, max_tokens: int, view: SnapshotView, cancel: CancelToken) -> ToolResult:
        raise NotImplementedError

    def _allowed(self, entries: Sequence[CurrentChunk | str], view: SnapshotView, cancel: CancelToken) -> list[Chunk]:
        """Return the chunks that can be shown, each file's in order."""
        chunks = [to_chunk(entry) for entry in entries if not isinstance(entry, str)]
        hidden = {path for path in {chunk.path for chunk in chunks} if self._scope.hides(view, path, cancel)}
        shown = [
            chunk
            for chunk in chunks
            if chunk.path not in hidden and not self._scope.hides_lines(chunk.path, chunk.span.start_line, chunk.span.end_line)
        ]
        return sorted(shown, key=lambda chunk: (chunk.path, chunk.span.start_line))


class FindDefinition(_NameTool):
    """Looks a name up in the index's table of definitions."""

    spec = ToolSpec(
        "find_definition",
        "Show where the workspace defines a name: functions, methods, classes, types, constants, with their code. Exact, and "
        "complete for what is indexed, so use it rather than a search when you have the exact name. Names that libraries define "
        "are not there.",
        schema(NameArguments),
    )

    def _look_up(self, name: _Name, max_tokens: int, view: SnapshotView, cancel: CancelToken) -> ToolResult:
        [listed] = view.exact_definitions([name.last], _MOST_DEFINITIONS)
        chunks = self._allowed(view.read_current([doc for doc, _ in listed], cancel), view, cancel)
        # The smallest chunk that defines it: a class's own chunk may list its methods too.
        chunks.sort(key=lambda chunk: _parts(chunk.symbol)[-1] != name.last)
        fitting = [chunk for chunk in chunks if _fits(chunk, name)]
        head = ""
        if name.qualifiers and chunks and not fitting:
            head = f"No definition of {name.last} stands in {'.'.join(name.qualifiers)}; these are of the same name:\n"
        chosen = fitting or chunks
        if not chosen:
            text = (
                f"Nothing in the index defines {one_line(name.last)}. It may come from a library, be made at run time, or be "
                "spelled in another way; search_code finds code by meaning."
            )
            return ToolResult(text)
        hits = [Hit(chunk, 1.0, Signals()) for chunk in chosen]
        rest = [f"{one_line(chunk.path)}:{chunk.span.start_line}" for chunk in chosen[_MOST_SHOWN:]]
        more = f"\n\nAlso defined in {', '.join(rest)}" if rest else ""
        if len(listed) == _MOST_DEFINITIONS:
            more += " and maybe elsewhere"
        left = max_tokens - self._tokenizer.count(head + more) - 2
        page = search_tool.page(hits[:_MOST_SHOWN], max(left, 0), self._tokenizer)
        if not page.items:
            return ToolResult("There are definitions, but none is short enough to be shown:\n" + search_tool.places_of(hits))
        note = f"(Left out to make room; ask again to see it.)\n{search_tool.places_of(page.hits)}"
        return ToolResult(head + page.text + more, note=note, items=page.items)


class FindUses(_NameTool):
    """Looks for lines that hold a name as a whole word."""

    spec = ToolSpec(
        "find_uses",
        "List lines of the workspace that hold a name as a whole word, by file: callers, imports, tests, settings, documents. It "
        "compares text: other things of the same name, comments and strings are among them. Use it to see what a change touches.",
        schema(NameArguments),
    )

    def _look_up(self, name: _Name, max_tokens: int, view: SnapshotView, cancel: CancelToken) -> ToolResult:
        parsed = query_words.read(name.last).parsed()
        hidden = Filter(exclude_globs=self._scope.exclude) if self._scope.exclude else None
        [(candidates, _)] = view.find(
            [parsed], pool=_MOST_CHUNKS, floor=2.0, filter=hidden, pinned=None, active_path=None, cancel=cancel
        )
        best = sorted(candidates, key=lambda candidate: (-candidate.lexical, candidate.path, candidate.start_line))[:_MOST_CHUNKS]
        chunks = self._allowed(view.read_current([candidate.doc for candidate in best], cancel), view, cancel)
        word = whole_word(name.last)
        lines = [line for chunk in chunks for line in _lines_with(word, chunk)]
        uses = {(item.hit.chunk.path, item.hit.chunk.span.start_line): item for item in lines}
        if not uses:
            return ToolResult(
                f"No line in the index holds {one_line(name.last)} as a whole word; search_code finds other spellings."
            )
        files = len({path for path, _ in uses})
        summary = f"{len(uses)} lines in {files} file{'s' if files > 1 else ''} hold {one_line(name.last)}"
        summary += ", and there may be more" if len(best) == _MOST_CHUNKS else ""
        left = max_tokens - self._tokenizer.count(summary + " (the first 10000 are shown)") - 4
        shown, items = [], []
        for item in list(uses.values())[:_MOST_LINES]:
            text = (
                f"{one_line(item.hit.chunk.path)}:{item.hit.chunk.span.start_line}: {one_line(item.text.strip())[:_LONGEST_LINE]}"
            )
            left -= self._tokenizer.count(text) + 1
            if left < 0:
                break
            shown.append(text)
            items.append(item)
        summary += f" (the first {len(shown)} are shown):" if len(shown) < len(uses) else ":"
        note = f"(Uses of {one_line(name.last)} were listed here; ask again to see them.)"
        return ToolResult("\n".join([summary, *shown]), note=note, items=tuple(items))


def _lines_with(word: re.Pattern[str], chunk: Chunk) -> list[ContextItem]:
    items = []
    for number, line in enumerate(lines_of(chunk.text), chunk.span.start_line):
        if word.search(line):
            row = Chunk(
                id=f"{chunk.path}:{number}",
                path=chunk.path,
                symbol=chunk.symbol,
                span=Span(number, number),
                text=line,
                masked=masks_in(line),
            )
            items.append(ContextItem(Hit(row, 1.0, Signals()), line))
    return items


def _parts(name: str) -> list[str]:
    for separator in _SEPARATORS:
        name = name.replace(separator, ".")
    return name.split(".")


def _fits(chunk: Chunk, name: _Name) -> bool:
    """Tell whether a definition stands where the name says."""
    around = {*_parts(chunk.symbol), *_parts(chunk.container), *chunk.path.replace("/", ".").split(".")}
    return set(name.qualifiers) <= around
