"""The structure of a text that people paste: an issue, an error report, a task with its description."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import ascii_uppercase

from carrel.model.patterns import lazy_pattern
from carrel.model.types import both_ends
from carrel.question.pasted import is_printed, messages_of
from carrel.question.stack_frames import Frame, stack_frames

LEAST_LENGTH = 200
"""A shorter text is a question, unless it has a stack trace in it."""
LONGEST_READ = 200_000
"""Characters that are looked into: of a longer text, as pasted logs are, both ends."""
LONGEST_TITLE = 200
TITLE, OPENING, LEAD, NAMES, WHOLE = "title", "opening", "title and opening", "names", "whole text"
"""The parts by which an issue is searched for."""
_OPENING_CHARS, _LEAD_CHARS, _NAMES_CHARS = 300, 1_000, 2_000
"""Characters of the prose that open it, of title and prose together, and of all names together."""
MOST_NAMES = 200
_MOST_TOLD = 25
"""Words of a person in a text that is output for the rest: it asks where that comes from, not for a change."""
_MOST_MESSAGES = 2
_FIRST_LINES, _LAST_LINES = 100, 400
"""Lines in which messages are looked for: what went wrong stands at the end of a log."""

_COMMENT = lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = lazy_pattern(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = lazy_pattern(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_LOOSE_CODE = lazy_pattern(r"^(?: {4,}|\t)\S|^\s*(?:>>>|\.\.\.|In \[\d+\]|Out\[\d+\]|\$ )")
_TRACE_HEAD = lazy_pattern(
    r"(?:Traceback \(most recent call last\)|Stack trace|stack backtrace|goroutine \d+ [^\n]{0,100}):\s*", re.IGNORECASE
)
_TEMPLATE = lazy_pattern(
    r"(?:(?:bug|issue|problem|feature)s?\s+)?(?:report|description|summary|title|overview|background|context|details)"
    r"|(?:please\s+)?describe\s+.{1,60}|what\s+happened\??|expected\s+(?:behaviou?r|results?|output)"
    r"|(?:actual|current|observed)\s+(?:behaviou?r|results?|output)|(?:steps|how)\s+to\s+reproduce|reproduction(?:\s+steps)?"
    r"|(?:code\s+)?(?:sample|example)|environment|versions?|system\s+info(?:rmation)?|checklist|[=~*^\-_#+]{3,}",
    re.IGNORECASE,
)
"""Headings of issue templates, and lines under headings: they say where something stands, not what is wrong."""
_DOTTED = lazy_pattern(r"\b([A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99})*)\b(\s?\()?")
_PATH = lazy_pattern(r"(?<![\w/.-])(?:[\w.-]{1,100}/){0,20}[\w-]{1,100}\.[A-Za-z]\w{0,7}\b")


@dataclass(frozen=True, slots=True)
class IssueText:
    """A text taken apart. Names are without their qualifiers, as written, in the order of the text, each once."""

    title: str
    prose: str  # without code, traces and comments
    whole: str
    title_names: tuple[str, ...]
    prose_names: tuple[str, ...]  # inline code among them
    code_names: tuple[str, ...]
    frames: tuple[Frame, ...]
    paths: tuple[str, ...]  # that look like files, as written
    is_output: bool  # nearly all of it: a person tells no more than a few words
    messages: tuple[str, ...]  # that a program printed, in output alone: the gravest, the last first

    @property
    def opening(self) -> str:
        """Return the first words of the prose, or the title where there is none."""
        return self.prose[:_OPENING_CHARS] or self.title

    @property
    def lead(self) -> str:
        """Return the title with the beginning of the prose."""
        return f"{self.title}\n{self.prose[:_LEAD_CHARS]}"

    @property
    def names(self) -> str:
        """Return all names, the telling ones first, as a text to search for; the title where there is none."""
        unique = dict.fromkeys((*self.title_names, *self.prose_names, *self.code_names))
        return " ".join(unique)[:_NAMES_CHARS] or self.title

    def parts(self) -> dict[str, str]:
        """Return the texts that an issue is searched for by, each under its name."""
        return {TITLE: self.title, OPENING: self.opening, LEAD: self.lead, NAMES: self.names, WHOLE: self.whole}


def read(text: str) -> IssueText | None:
    """Decide whether a text is an issue, and take it apart; None for an ordinary question: a text of one line, or one of
    less than `LEAST_LENGTH` characters without the frames of a stack trace.
    """
    text = both_ends(_trimmed(text.replace("\r\n", "\n")), LONGEST_READ)
    if "\n" not in text:
        return None
    clean = _trimmed(_COMMENT.sub("\n", text))
    frames = stack_frames(clean)
    if len(clean) < LEAST_LENGTH and not frames:
        return None
    in_trace = {line for frame in frames for line in frame.written.split("\n")}
    title, rest = _title(clean, in_trace)
    blocks = [match[2] for match in _FENCE.finditer(rest)]
    lines = _FENCE.sub("\n", rest).split("\n")
    loose = [line for line in lines if _LOOSE_CODE.match(line) or line in in_trace]
    taken = set(loose)
    prose = "\n".join(line for line in lines if line not in taken).strip()
    code = "\n".join((*blocks, *loose))
    inline = "\n".join(match[1] for match in _INLINE.finditer(f"{title}\n{prose}"))
    printed = _of_output(clean, in_trace)
    return IssueText(
        title=title,
        prose=prose,
        whole=text,
        title_names=_unique(_names(title)),
        prose_names=_unique((*_names(inline), *_single_names(inline), *_names(prose))),
        code_names=_unique(_names(code)),
        frames=tuple(frames),
        paths=_unique(match[0] for match in _PATH.finditer(clean)),
        is_output=printed is not None,
        messages=tuple(messages_of(printed or (), _MOST_MESSAGES)),
    )


def _of_output(text: str, in_trace: set[str]) -> list[str] | None:
    """Return the lines without frames, if programs printed nearly all of the text: an example in code says that a person tells
    more. Of many the first and the last.
    """
    lines = [line for line in text.split("\n") if line not in in_trace]
    lines = [*lines[:_FIRST_LINES], *lines[_FIRST_LINES:][-_LAST_LINES:]]
    said = (line for line in lines if not is_printed(line))
    return lines if sum(len(line.split()) for line in said) <= _MOST_TOLD else None


def _trimmed(text: str) -> str:
    """Return the text without blank lines around it; its first line keeps its indentation."""
    blank = text[: len(text) - len(text.lstrip())]
    return text[blank.rfind("\n") + 1 :].rstrip()


def _title(text: str, in_trace: set[str]) -> tuple[str, str]:
    """Return the first line that says something in words, without marks of a heading, and what is left."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        said = line.strip().lstrip("#").strip().strip("*").strip()
        if said.startswith(("```", "~~~")):
            break  # it begins with code: what stands before it was looked at
        if said and not _LOOSE_CODE.match(line) and not _says_nothing(line, said, in_trace):
            return said[:LONGEST_TITLE], "\n".join((said[LONGEST_TITLE:], *lines[:at], *lines[at + 1 :]))
    # Code or a trace alone: its last line says what went wrong.
    last = next((line.strip() for line in reversed(lines) if line.strip("`~ \t")), "")
    return last[:LONGEST_TITLE], text


def _says_nothing(line: str, said: str, in_trace: set[str]) -> bool:
    """Tell the heading of a template, or a line of a trace that names a place only, from what says what is wrong.

    The head of an error is unindented and says it.
    """
    names_a_place = _TRACE_HEAD.fullmatch(line.strip()) or (line in in_trace and line[:1] in (" ", "\t", "#"))
    return bool(names_a_place or _TEMPLATE.fullmatch(said.rstrip(": ")))


def _names(text: str) -> Iterator[str]:
    for match in _DOTTED.finditer(text):
        *qualifiers, name = match[1].split(".")
        if qualifiers or match[2] or _is_compound(name):
            yield from (*qualifiers[-1:], name)


def _is_compound(name: str) -> bool:
    """Tell names in camelCase, PascalCase and snake_case from words."""
    tail = name.lstrip(ascii_uppercase)
    return tail != tail.lower() or "_" in name[1:-1]


def _single_names(inline: str) -> Iterator[str]:
    """Find whole pieces of inline code that are one word: backticks make a name of any."""
    return filter(str.isidentifier, inline.split("\n"))


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if len(name) > 1))[:MOST_NAMES]
