"""The text forms of a pack, and how code is kept inside its block.

Workspace text is data: in each form, whatever in the code looks like the form's own markup gets a backslash before it, so
that it can't close its block, open another or forge a header: a tag of `xml`, a line like `--- path (lines 1-2` of `tool`, a
line `---` or `Source: path:1-2` of `source`. What it looks like counts, not how it is spelled (`appearance`). Everything
else stays as it is; an `xml` block says that it was changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.patterns import lazy_pattern
from carrel.model.types import Chunk, ContextItem, Format, Hit
from carrel.pack.appearance import escape, folded, one_line, spelled

NOTHING_FOUND = "No relevant code found."
SEPARATOR = "\n\n---\n\n"
HEADER = "Source: {source}"

# Patterns for folded text: no blanks, small letters, line feeds alone.
_SEPARATOR_LINE = lazy_pattern(r"^(?=---$)", re.MULTILINE)
_TOOL_HEADER = lazy_pattern(r"^(?=---[^\n]*\([il][il]nes\d)", re.MULTILINE)
_SOURCE_HEADER = lazy_pattern(r"^(?=source:[^\n]*:\d+-\d+(?:\([^\n]*)?$)", re.MULTILINE)
_LINES_OF_HEADER = lazy_pattern(r"\((?=[il][il]nes\d)")


class Form(Protocol):
    """One text form: a block an item, put between a head and a tail."""

    @property
    def head(self) -> str:
        """What stands before the first item."""

    @property
    def tail(self) -> str:
        """What stands after the last item."""

    @property
    def joint(self) -> str:
        """What stands between two items."""

    @property
    def empty(self) -> str:
        """The text of a pack without items."""

    @property
    def by_place(self) -> bool:
        """Ordered by file and line for the reader; by score otherwise."""

    def block(self, item: ContextItem) -> str:
        """Give the text of one item, its code made harmless."""


class XmlForm(Struct, frozen=True):
    """Chunks within `<rag_context>`, as chat requests get them."""

    head: str = "<rag_context>\n"
    tail: str = "\n</rag_context>"
    joint: str = "\n"
    empty: str = ""
    by_place: bool = True

    def block(self, item: ContextItem) -> str:
        """Return `<code_context file lines symbol>`, the code, the end tag."""
        chunk = item.hit.chunk
        code, changed = escape(_tags("rag_context", "code_context"), item.text)
        note = f' note="{attribute(chunk.note)}"' if chunk.note else ""
        marks = note + (' elided="true"' if item.elided else "") + (' escaped="true"' if changed else "")
        symbol = f' symbol="{attribute(chunk.symbol)}"' if chunk.symbol else ""
        lines = f"{chunk.span.start_line}-{chunk.span.end_line}"
        return f'<code_context file="{attribute(chunk.path)}" lines="{lines}"{symbol}{marks}>\n{_body(code)}\n</code_context>'


class ToolForm(Struct, frozen=True):
    """The answer of the `search_code` tool."""

    head: str = ""
    tail: str = ""
    joint: str = "\n\n"
    empty: str = NOTHING_FOUND
    by_place: bool = False

    def block(self, item: ContextItem) -> str:
        """Return `--- path (lines a-b, relevance: 0.83) ---` and the code."""
        return f"{self.header(item.hit)}\n{_body(harmless_code(item.text))}"

    def header(self, hit: Hit) -> str:
        """Return the line that says where code is from."""
        path, _ = escape(_LINES_OF_HEADER, one_line(hit.chunk.path))
        span = hit.chunk.span
        note = f", {one_line(hit.chunk.note)}" if hit.chunk.note else ""
        return f"--- {path} (lines {span.start_line}-{span.end_line}, relevance: {hit.score:.2f}{note}) ---"


class PlacesForm(Struct, frozen=True):
    """Places alone, a line each: for whoever reads the files on their own."""

    head: str = ""
    tail: str = ""
    joint: str = "\n"
    empty: str = NOTHING_FOUND
    by_place: bool = False

    def block(self, item: ContextItem) -> str:
        """Return `path:a-b symbol`."""
        return place_line(item.hit.chunk)


def place_line(chunk: Chunk) -> str:
    """Return path, lines and symbol of a chunk in one line."""
    return one_line(f"{source_of(chunk)} {chunk.symbol}".rstrip())


def places_text(hits: Sequence[Hit]) -> str:
    """Return where hits are, a line each."""
    return "\n".join(place_line(hit.chunk) for hit in hits) or NOTHING_FOUND


def without_text(hit: Hit) -> Hit:
    """Return a hit that says only where it is."""
    return replace(hit, chunk=replace(hit.chunk, text="", masked=0))


def harmless_code(code: str) -> str:
    """Return code that can't forge a header of the tools' text form."""
    return escape(_TOOL_HEADER, code)[0]


def source_of(chunk: Chunk) -> str:
    """Return path and lines, which a model cites, and what must be known of the document."""
    note = f" ({chunk.note})" if chunk.note else ""
    return f"{chunk.path}:{chunk.span.start_line}-{chunk.span.end_line}{note}"


class SourceForm(Struct, frozen=True):
    """Documents, with the parts that a caller may replace."""

    separator: str = SEPARATOR
    header_fmt: str = HEADER
    include_metadata: bool = True
    make_source: Callable[[Chunk], str] = source_of
    head: str = ""
    tail: str = ""
    empty: str = ""
    by_place: bool = False

    @property
    def joint(self) -> str:
        """What stands between two items."""
        return self.separator

    def block(self, item: ContextItem) -> str:
        """Return the header, if it is asked for, and the code."""
        standard = self.header_fmt == HEADER and self.make_source is source_of and self.separator.strip()
        code = harmless(
            item.text,
            self.separator,
            self.header_fmt if self.include_metadata else None,
            header=_SOURCE_HEADER if standard else None,
        )
        if not self.include_metadata:
            return _body(code)
        source = one_line(self.make_source(item.hit.chunk))
        return f"{self.header_fmt.format(source=source)}\n{_body(code)}"


def harmless(text: str, separator: str, header_fmt: str | None, *, header: re.Pattern[str] | None = None) -> str:
    """Return a text with a backslash before whatever in it looks like a separator or, where items have one, a header.

    Headers are found by the pattern `header`; without one, a line that begins as `header_fmt` does is a header.
    """
    text, _ = escape(_SEPARATOR_LINE, text)
    if separator.strip() and separator != SEPARATOR:
        text = _without(separator, text)
    if header_fmt is None:
        return text
    if header is None:  # somebody's own header, or nothing but blank lines between items
        start = folded(header_fmt.partition("{")[0]).strip("\n")
        if not start:
            return text
        header = re.compile(rf"^(?={re.escape(start)})", re.MULTILINE)
    return escape(header, text)[0]


def _without(separator: str, code: str) -> str:
    """Return the code with a backslash in each separator that it holds, or would make with the line ends around it."""
    seen = folded(separator)
    mark = seen.lstrip("\n")
    before, after = len(seen) - len(mark), len(seen) - len(seen.rstrip("\n"))
    if not mark:
        return code
    padded = "\n" * before + code + "\n" * after
    harmless, _ = escape(re.compile("\n" * before + rf"(?={re.escape(mark)})"), padded)
    return harmless[before : len(harmless) - after]


def quoted(tag: str, text: str, *others: str) -> str:
    """Put somebody's words between tags of this name, which they can't close; nor can they open or close one of the others."""
    harmless, _ = escape(_tags(tag, *others), text)
    return f"<{tag}>\n{_body(harmless)}\n</{tag}>"


@lru_cache(maxsize=64)
def _tags(*names: str) -> re.Pattern[str]:
    return re.compile(rf"<(?=\n*/?\n*(?:{'|'.join(map(spelled, names))}))")


def form_of(name: Format) -> Form:
    """Return the form of that name with the spec's defaults."""
    forms: dict[Format, Callable[[], Form]] = {
        "xml": XmlForm,
        "tool": ToolForm,
        "source": SourceForm,
        "places": PlacesForm,
    }
    return forms[name]()


def _body(code: str) -> str:
    return code.rstrip("\r\n")


@lru_cache(maxsize=1024)
def attribute(value: str) -> str:
    """Return words as they may stand in a tag, or beside one; each is measured before it is shown."""
    value, _ = escape(_tags("rag_context", "code_context"), one_line(value))
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        value = value.replace(character, entity)
    return value
