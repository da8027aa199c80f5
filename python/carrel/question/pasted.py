"""Lines that a program printed, in a text that is nothing else: which they are, and what stands before their messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from carrel.model.native import split_names
from carrel.model.patterns import lazy_pattern

_MONTHS = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?"
    r"|Dec(?:ember)?)\b"
)
_LEVELS = "(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC)"
_KEYS = "caller|level|logger|lvl|module|name|pid|severity|source|thread|time|timestamp|ts"
# One part of what stands before a message.
_BEFORE = lazy_pattern(
    rf"""\s*(?:
        \[[^\[\]\n]{{1,80}}\] | \([^()\n]{{1,40}}\)                                                  # [worker-3], (main)
      | \d{{4}}[-/]\d\d[-/]\d\d(?:[T\s]\s?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?)?   # 2026-03-02 12:01:22,345
      | (?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?|{_MONTHS}),?\s{{1,2}}(?=\d|{_MONTHS})
          [\w\s:.,+]{{0,30}}\d\d:\d\d(?::\d\d)?(?:\s[\w.-]{{1,60}}\s[\w./-]{{1,60}}(?:\[\d{{1,9}}\])?:)?   # Mar 2 12:01 a b:
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
_LONGEST = 2000
_LEAST_WORDS = 3
_WITHIN_QUOTES = lazy_pattern(r'(?:[^"\\]|\\.)*')
_GRAVE = lazy_pattern(
    r"\b(?:ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC|Caused\s+by|Uncaught|Unhandled|panicked|error|fatal|panic)\b|^E\s"
    r"|\w(?:Error|Exception|Failure|Fault)\b"
)


def is_printed(line: str) -> bool:
    """Tell whether a line begins as those of logs, tracebacks and compilers do, not with marks alone."""
    return any(map(str.isalnum, line[: _head(line[:_LONGEST])]))


def messages_of(lines: Iterable[str], most: int) -> list[str]:
    """Return the gravest messages of printed lines, such as errors before warnings: the last `most`, last first, each once."""
    weights: dict[str, tuple[int, int]] = {}
    for place, whole in enumerate(lines):
        line = whole[:_LONGEST]
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
