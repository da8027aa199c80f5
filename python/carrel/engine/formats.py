"""The three text forms of a pack (spec A5, B5, E5), and how code is kept inside its block.

Workspace text is data: in each form, whatever in the code looks like the form's own markup gets a backslash before it, so
that it can't close its block, open another or forge a header: a tag of `xml`, a line like `--- path (lines 1-2` of `tool`, a
line `---` or `Source: path:1-2` of `source`. Everything else stays as it is; an `xml` block says that it was changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from carrel.core.types import Chunk, ContextItem, Format, Hit

NOTHING_FOUND = "No relevant code found."
SEPARATOR = "\n\n---\n\n"
HEADER = "Source: {source}"

# Invisible characters don't keep a reader from seeing a tag; every kind of line end begins a line for somebody.
_INVISIBLE = r"\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_BLANK = rf"[\s{_INVISIBLE}]*"
_ENDS = r"\r\n\v\f\x1c-\x1e\u0085\u2028\u2029"
_LINE_START = rf"(?:^|(?<=[{_ENDS}]))"
_LINE_END = rf"(?:[{_ENDS}]|\Z)"
_GAP = rf"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000{_INVISIBLE}]*"  # blank, but on the same line


def _word(word: str) -> str:
    return rf"[{_INVISIBLE}]*".join(re.escape(letter) for letter in word)


_TAG = re.compile(
    rf"<(?={_BLANK}/?{_BLANK}(?:{_word('rag')}|{_word('code')}){_BLANK}_{_BLANK}{_word('context')}\b)", re.IGNORECASE
)
_SEPARATOR_LINE = re.compile(rf"{_LINE_START}(?={_GAP}{_word('---')}{_GAP}{_LINE_END})")
_TOOL_HEADER = re.compile(rf"{_LINE_START}(?={_GAP}{_word('---')}[^{_ENDS}]*?\({_GAP}{_word('lines')}{_GAP}\d)", re.IGNORECASE)
_SOURCE_HEADER = re.compile(rf"{_LINE_START}(?={_GAP}{_word('Source')}{_GAP}:[^{_ENDS}]*:\d+-\d+{_GAP}{_LINE_END})")
_LINE_ENDS = re.compile(rf"[{_ENDS}]+")


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


@dataclass(frozen=True, slots=True)
class XmlForm:
    """`<rag_context>` of spec B5."""

    head: str = "<rag_context>\n"
    tail: str = "\n</rag_context>"
    joint: str = "\n"
    empty: str = ""
    by_place: bool = True

    def block(self, item: ContextItem) -> str:
        """`<code_context file lines symbol>`, the code, the end tag."""
        chunk = item.hit.chunk
        code, changed = _defuse(_TAG, item.text)
        marks = (' elided="true"' if item.elided else "") + (' escaped="true"' if changed else "")
        symbol = f' symbol="{_attribute(chunk.symbol)}"' if chunk.symbol else ""
        lines = f"{chunk.span.start_line}-{chunk.span.end_line}"
        return f'<code_context file="{_attribute(chunk.path)}" lines="{lines}"{symbol}{marks}>\n{_body(code)}\n</code_context>'


@dataclass(frozen=True, slots=True)
class ToolForm:
    """The answer of the `search_code` tool, spec A5."""

    head: str = ""
    tail: str = ""
    joint: str = "\n\n"
    empty: str = NOTHING_FOUND
    by_place: bool = False

    def block(self, item: ContextItem) -> str:
        """`--- path (lines a-b, relevance: 0.83) ---` and the code."""
        code, _ = _defuse(_TOOL_HEADER, item.text)
        return f"{self.header(item.hit)}\n{_body(code)}"

    def header(self, hit: Hit) -> str:
        """The line that says where code is from."""
        path, span = _LINE_ENDS.sub(" ", hit.chunk.path), hit.chunk.span
        return f"--- {path} (lines {span.start_line}-{span.end_line}, relevance: {hit.score:.2f}) ---"


def source_of(chunk: Chunk) -> str:
    """Path and lines: what a model cites."""
    return f"{chunk.path}:{chunk.span.start_line}-{chunk.span.end_line}"


@dataclass(frozen=True, slots=True)
class SourceForm:
    """The context of spec E5, with the parts that a caller may replace."""

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
        """The header, if it is asked for, and the code."""
        code = self._harmless(item.text)
        if not self.include_metadata:
            return _body(code)
        source = _LINE_ENDS.sub(" ", self.make_source(item.hit.chunk))
        return f"{self.header_fmt.format(source=source)}\n{_body(code)}"

    def _harmless(self, code: str) -> str:
        code, _ = _defuse(_SEPARATOR_LINE, code)
        if self.separator.strip() and self.separator != SEPARATOR:
            code = _without(self.separator, code)
        if not self.include_metadata:
            return code
        if self.header_fmt == HEADER and self.make_source is source_of and self.separator.strip():
            return _defuse(_SOURCE_HEADER, code)[0]
        # Somebody's own header, or nothing but blank lines between items: a line that begins like a header is one.
        start = self.header_fmt.partition("{")[0].strip()
        return _defuse(re.compile(rf"{_LINE_START}(?={_GAP}{re.escape(start)})"), code)[0] if start else code


def _without(separator: str, code: str) -> str:
    """The code with a backslash in each separator that it holds, or would make with the line ends around it."""
    before, after = len(separator) - len(separator.lstrip("\n")), len(separator) - len(separator.rstrip("\n"))
    padded = "\n" * before + code + "\n" * after
    mark = len(separator) - len(separator.lstrip())
    found = re.compile(rf"{re.escape(separator[:mark])}(?={re.escape(separator[mark:])})")
    harmless, _ = _defuse(found, padded)
    return harmless[before : len(harmless) - after]


def quoted(tag: str, text: str) -> str:
    """Somebody's words between tags of this name, which they can't close."""
    harmless, _ = _defuse(re.compile(rf"<(?={_BLANK}/?{_BLANK}{_word(tag)}\b)", re.IGNORECASE), text)
    return f"<{tag}>\n{_body(harmless)}\n</{tag}>"


def form_of(name: Format) -> Form:
    """The form of that name with the spec's defaults."""
    forms: dict[Format, Callable[[], Form]] = {"xml": XmlForm, "tool": ToolForm, "source": SourceForm}
    return forms[name]()


def _body(code: str) -> str:
    return code.rstrip("\r\n")


def _defuse(pattern: re.Pattern[str], code: str) -> tuple[str, bool]:
    def replace(match: re.Match[str]) -> str:
        return match.group() + "\\"

    changed, count = pattern.subn(replace, code)
    return changed, count > 0


def _attribute(value: str) -> str:
    value = _LINE_ENDS.sub(" ", value)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        value = value.replace(character, entity)
    return value
