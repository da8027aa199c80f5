"""The message within a pasted line: without what a logger, a traceback or a question puts around it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MONTHS = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?"
    r"|Dec(?:ember)?)\b"
)
_LEVELS = "(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC)"
_KEYS = "caller|level|logger|lvl|module|name|pid|severity|source|thread|time|timestamp|ts"
# One part of what stands before a message.
_BEFORE = re.compile(
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
_SPEECH = (
    "a|an|am|and|are|at|bug|by|came|can|cause[ds]?|come[s]?|could|debug|did|do|does|emit(?:s|ted)?|error|errors|exception|explain"
    "|fail(?:s|ed)?|find|fix|for|from|get[s]?|getting|got|had|have|help|how|i|in|is|it|its|keep[s]?|line|locate|log|logged|logs|mean|means"
    "|message|my|of|on|our|output|print(?:s|ed)?|raise[ds]?|run|said|saw|say[s]?|see|seeing|show[ns]?|so|text|that|the|there|this"
    "|throw[ns]?|to|warning|was|we|what|when|where|which|who|why|with|write[s]?|written|you|app|it|program|server|test|tests"
)
# A message that is quoted in words of speech.
_QUOTED = re.compile(
    rf"""^(?:(?:{_SPEECH})\b[:,]?\s+){{1,12}}
        (?:(["'`])(.{{12,}})\1 | \u201c(.{{12,}})\u201d | \u2018(.{{12,}})\u2019)
        [^"'`\n]{{0,60}}$""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# `I see`, `why do I keep getting the error` before one.
_TOLD = re.compile(
    r"(?:(?:why\s+(?:do|did|am|are)|sometimes|now|then|today|currently|hi|hello|hey)[,\s]\s*)?"
    r"(?:I|we)(?:['\u2019](?:m|re)|\s+(?:am|are|do|keep|always|sometimes|just|still))*\s+"
    r"(?:get|got|getting|hit|receive|received|saw|see|seeing)(?:\s+(?:this|an?|the|following|error|exception|message|warning))*:?\s+",
    re.IGNORECASE,
)
# `what is this error:`, `find the line that logs` before one.
_ASKED = re.compile(
    rf"(?:(?:{_SPEECH})\s+){{0,10}}(?:{_SPEECH})\s?:\s+"
    rf"|(?:(?:{_SPEECH})\s+){{1,10}}?(?:log|print|raise|throw|say|write|emit|report)s?\s*:?\s+",
    re.IGNORECASE,
)
# `- what does that mean?`, `when I start it` behind one.
_ASIDE = re.compile(
    r"\s[-\u2013\u2014]{1,3}\s{1,3}(?:any|can|do|help|how|is|please|what|where|why)\b[^\"'`\n]{0,80}$"
    r"|[.?!,;]?\s{1,3}(?:after|as\ssoon\sas|every\stime|if|since|when|whenever|while)\s(?:I|we|you|it|my|the|our)\b[^\"'`\n]{0,80}$"
    r"|[.?!,;]\s{1,3}(?:any\sidea|can\syou|help|how\s|please\s(?:advise|debug|explain|fix|help|tell)\b|what\s|where\s|why\b|who\s)[^\"'`\n]{0,80}$",
    re.IGNORECASE,
)
_LEAST_WORDS = 3
_WITHIN_QUOTES = re.compile(r'(?:[^"\\]|\\.)*')
_WORD_OR_NUMBER = re.compile(r"\w")
_WORD = re.compile(r"[^\W\d_]{2,}")
# What values leave in a message, and questions seldom have.
_VALUES = re.compile(r"\d|[\"'`\u201c\u201d()\[\]{}<>=/\\@|_]|:\s|[a-z][A-Z]")
# A statement: it begins with a capital, and asks nothing …
_STATES = re.compile(r"[A-Z][^?]{0,2000}")
# … but no request, which begins with what shall be done.
_BIDS = re.compile(
    r"(?:add|build|change|check|compare|convert|create|debug|describe|document|draw|explain|extend|fix|generate|give|help|implement|improve"
    r"|investigate|let|look|make|migrate|move|optimi[sz]e|please|port|refactor|remove|rename|replace|review|rewrite|run|search|simplify"
    r"|speed|summari[sz]e|support|trace|translate|update|use|walk|write)\b",
    re.IGNORECASE,
)
_GRAVE = re.compile(
    r"\b(?:ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC|Caused\s+by|Uncaught|Unhandled|panicked|error|fatal|panic)\b|^E\s"
    r"|\w(?:Error|Exception|Failure|Fault)\b"
)
_WARNING = re.compile(r"\bWARN(?:ING)?\b|Warning:|\bwarning\b")
_ASKS = re.compile(
    r"(?:are|can(?!['\u2019]t)|could(?!\s+not|n['\u2019]t)|do(?!\s+not|n['\u2019]t)|does(?!\s+not|n['\u2019]t)|find|how|is|list|show|should"
    r"|tell|what|when|where|which|who|why)\b",
    re.IGNORECASE,
)


def message_in(text: str) -> str:
    """Return the part of a text that a program may have printed, with values in it.

    Timestamps, levels, names of exceptions and the like before it are left out, and words of speech around it. Empty where the
    text reads like a question or is too short.
    """
    text = text[:_LONGEST]
    quoted = _quotation(text)
    told = None if quoted else _TOLD.match(text) or _ASKED.match(text)
    message = quoted or text[told.end() if told else 0 :]
    place = _head(message)
    aside = None if quoted else _ASIDE.search(message, place)
    message = message[place : aside.start() if aside else None].strip()
    if len(_WORD.findall(message)) < _LEAST_WORDS:
        return ""
    if quoted or place:
        return message
    states = _STATES.fullmatch(message) and not _BIDS.match(message)
    looks_printed = _VALUES.search(message) or states
    return message if looks_printed and (told or not _ASKS.match(message)) else ""


def is_printed(line: str) -> bool:
    """Tell whether a line begins as those of logs, tracebacks and compilers do, not with marks alone."""
    return bool(_WORD_OR_NUMBER.search(line, 0, _head(line[:_LONGEST])))


def messages_of(lines: Iterable[str], most: int) -> list[str]:
    """Return the gravest messages of printed lines, such as errors before warnings: the last `most`, last first, each once."""
    found: dict[str, tuple[int, int]] = {}
    for place, whole in enumerate(lines):
        line = whole[:_LONGEST]
        head = _head(line)
        quoted = _WITHIN_QUOTES.match(line, head) if line[:head].endswith('"') else None
        message = (quoted[0] if quoted else line[head:]).strip()
        if _WORD_OR_NUMBER.search(line, 0, head) and len(_WORD.findall(message)) >= _LEAST_WORDS:
            gravity = 2 if _GRAVE.search(line, 0, head) else 1 if _WARNING.search(line, 0, head) else 0
            found[message] = max((gravity, place), found.get(message, (0, 0)))
    gravest = max((gravity for gravity, _ in found.values()), default=0)
    of_it = [message for message, (gravity, _) in found.items() if gravity == gravest]
    return sorted(of_it, key=lambda message: found[message], reverse=True)[:most]


def _head(text: str) -> int:
    """Return how many characters stand before the message."""
    place = 0
    for _ in range(_MOST_PARTS):
        part = _BEFORE.match(text, place)
        if part is None or part.end() == place:
            break
        place = part.end()
    return place


def _quotation(text: str) -> str:
    """Return what a text of speech quotes as a whole; empty where it quotes nothing, or single words."""
    match = _QUOTED.match(text)
    if match is None:
        return ""
    mark, quoted = match[1], next(filter(None, match.groups()[1:]))
    inner = re.search(rf"(?<!\w){mark}|{mark}(?!\w)", quoted) if mark else None
    ends = inner is not None and inner.start() > 0 and not quoted[inner.start() - 1].isspace()
    return "" if ends or len(quoted.split()) < _LEAST_WORDS else quoted
