"""The structure of a text that people paste: an issue, an error report, a task with its description."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from string import ascii_uppercase

from msgspec import Struct

from carrel.model.native import split_names
from carrel.model.patterns import lazy_pattern
from carrel.model.types import both_ends
from carrel.question.query_words import is_question, is_sentence, telling_words
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
_LEAST_TOLD = 2
"""Telling words of a question that stands for what a text is about: "any ideas?" has one."""
_MOST_MESSAGES = 2
_FIRST_LINES, _LAST_LINES = 100, 400
"""Lines in which messages are looked for: what went wrong stands at the end of a log."""

_COMMENT = lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = lazy_pattern(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*\n(.*?)(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
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
_LEVELS = "(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC)"
_KEYS = "caller|level|logger|lvl|module|name|pid|severity|source|thread|time|timestamp|ts"
# One part of what stands before a message.
_BEFORE = lazy_pattern(
    rf"""\s*(?:
        \[[^\[\]\n]{{1,80}}\] | \([^()\n]{{1,40}}\)                                                  # [worker-3], (main)
      | \d{{4}}[-/]\d\d[-/]\d\d(?:[T\s]\s?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?)?   # 2026-03-02 12:01:22,345
      | [A-Z][a-z]{{2,8}},?(?:\s{{1,2}}(?:[A-Z][a-z]{{2,8}}|\d{{1,2}}|\d{{4}}),?){{1,4}}\s\d\d:\d\d(?::\d\d)?(?:\s\d{{4}})?
          (?:\s[\w.-]{{1,60}}\s[\w./-]{{1,60}}(?:\[\d{{1,9}}\])?:)?                                    # Mar 2 12:01 a b:
      | \d\d:\d\d:\d\d(?:[.,]\d+)?
      | (?:(?:Traceback|Uncaught|Caused\s+by|Unhandled\s+\w+|panic|goroutine\s+\d+)\b
          |Exception\s+in\s+thread\s+"[^"\n]{{0,80}}"|thread\s+'[^'\n]{{0,80}}'\s+panicked\s+at):?
      | {_LEVELS}:[\w.]{{1,60}}: | (?:[\w.]{{1,60}}\s?[:-]\s?)?{_LEVELS}\b[:\s|-]{{0,3}}
      | [\w.]{{1,60}}\s{{1,3}}{_LEVELS}\s?[:|-]\s?
      | [IWEF]\d{{4}}\s\d\d:\d\d:\d\d\.\d+\s+\d+\s[\w.]{{1,80}}:\d+\] | PHP\s\w{{1,20}}(?:\s\w{{1,20}})?:\s
      | (?:error|warning|fatal|fatal\s+error|panic|note|info|debug)(?:\[\w{{1,12}}\])?:
      | (?:\w{{1,60}}\.){{1,8}}[A-Z]\w{{1,80}}: | E\s{{2,8}}
      | [\w.$:\\]{{0,120}}(?:Error|Exception|Warning|Failure|Fault|Exit|Interrupt|Abort)(?:\s\[?\w{{1,20}}\]?)?:
      | [\w./\\-]{{1,120}}:\d+(?::\d+)?:?                                                          # src/main.rs:10:5:
      | [|:>=-]{{1,3}}(?=\s)
      | (?:{_KEYS})=(?:"[^"\n]{{0,80}}"|[^\s"]{{1,80}}) | msg="?                                          # level=error msg="
      | [{{,]\s?"(?:{_KEYS})"\s?:\s?(?:"[^"\n]{{0,80}}"|[\d.]{{1,30}}) | [{{,]\s?"(?:msg|message)"\s?:\s?"
    )""",
    re.VERBOSE,
)
_MOST_PARTS = 12
# In characters: what is longer is looked for by its parts.
_LONGEST_LINE = 2_000
_LEAST_WORDS = 3
_WITHIN_QUOTES = lazy_pattern(r'(?:[^"\\]|\\.)*')
_GRAVE = lazy_pattern(
    r"\b(?:ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC|Caused\s+by|Uncaught|Unhandled|panicked|error|fatal|panic)\b|^E\s"
    r"|\w(?:Error|Exception|Failure|Fault)\b"
)


class IssueText(Struct, frozen=True):
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
    is_beside_output: bool  # which a person says a little about: the title and the prose
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
    title, rest = _closing_question(clean) or _title(clean, in_trace)
    blocks = [match[2] for match in _FENCE.finditer(rest)]
    lines = _FENCE.sub("\n", rest).split("\n")
    loose = [line for line in lines if _LOOSE_CODE.match(line) or line in in_trace]
    taken = set(loose)
    prose = "\n".join(line for line in lines if line not in taken).strip()
    printed = _of_output(clean, in_trace)
    outside = _FENCE.sub("\n", clean).split("\n") if printed else []
    of_person = [line for line in outside if not (line in taken or _is_printed(line))]
    is_beside_output = bool(telling_words("\n".join(of_person)))
    if is_beside_output:  # which would drown what a person says
        title, prose = _title("\n".join(of_person), in_trace)
        loose += [line for line in lines if line not in taken]
    code = "\n".join((*blocks, *loose))
    inline = "\n".join(match[1] for match in _INLINE.finditer(f"{title}\n{prose}"))
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
        is_beside_output=is_beside_output,
        messages=tuple(_messages_of(printed or (), _MOST_MESSAGES)),
    )


def _of_output(text: str, in_trace: set[str]) -> list[str] | None:
    """Return the lines without frames, if programs printed nearly all of the text: an example in code says that a person tells
    more. Of many the first and the last.
    """
    lines = [line for line in text.split("\n") if line not in in_trace]
    lines = [*lines[:_FIRST_LINES], *lines[_FIRST_LINES:][-_LAST_LINES:]]
    said = (line for line in lines if not _is_printed(line))
    return lines if sum(len(line.split()) for line in said) <= _MOST_TOLD else None


def _trimmed(text: str) -> str:
    """Return the text without blank lines around it; its first line keeps its indentation."""
    blank = text[: len(text) - len(text.lstrip())]
    return text[blank.rfind("\n") + 1 :].rstrip()


def _closing_question(text: str) -> tuple[str, str] | None:
    """Return the question that a text ends with, and what is left, if a program wrote what it begins with; None for others."""
    rest, _, last = text.rpartition("\n")
    asks = len(last) <= LONGEST_TITLE and is_question(last) and len(telling_words(last)) >= _LEAST_TOLD
    return (last.strip(), rest) if asks and not is_sentence(text.partition("\n")[0]) else None


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


def _is_printed(line: str) -> bool:
    """Tell whether a line begins as those of logs, tracebacks and compilers do, not with marks alone."""
    return any(map(str.isalnum, line[: _head(line[:_LONGEST_LINE])]))


def _messages_of(lines: Iterable[str], most: int) -> list[str]:
    """Return the gravest messages of printed lines, such as errors before warnings: the last `most`, last first, each once."""
    weights: dict[str, tuple[int, int]] = {}
    for place, whole in enumerate(lines):
        line = whole[:_LONGEST_LINE]
        head = _head(line)
        quoted = _WITHIN_QUOTES.match(line, head) if line[:head].endswith('"') else None
        message = (quoted[0] if quoted else line[head:]).strip()
        if any(map(str.isalnum, line[:head])) and len(split_names(message)) >= _LEAST_WORDS:
            gravity = 2 if _GRAVE.search(line, 0, head) else 1 if "warn" in line[:head].lower() else 0
            weights[message] = max((gravity, place), weights.get(message, (0, 0)))
    gravest = max((gravity for gravity, _ in weights.values()), default=0)
    of_it = [message for message, (gravity, _) in weights.items() if gravity == gravest]
    return sorted(of_it, key=lambda message: weights[message], reverse=True)[:most]


def _head(text: str) -> int:
    """Return how many characters stand before the message."""
    place = 0
    for _ in range(_MOST_PARTS):
        part = _BEFORE.match(text, place)
        if part is None or part.end() == place:
            break
        place = part.end()
    return place
