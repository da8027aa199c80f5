"""Places that stack traces, compilers and test runners name, in the forms that languages write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from carrel.model.patterns import lazy_pattern

_FILE = r"(?:[A-Za-z]:)?[^\s\"'()<>|:,;]{1,300}\.\w{1,8}"
_URL = r"(?:[a-z][a-z-]{1,20}://[^\s/()]{0,200}/(?:\([\w-]{1,50}\)/)?)"
_LINE = r"(?P<line>\d+)"
_AT = rf"(?P<path>{_URL}?{_FILE})(?:\?[^\s:()]{{0,200}})?:{_LINE}(?::\d+)?"


class _Form(Struct, frozen=True):
    pattern: re.Pattern[str]
    innermost_first: bool


def _forms(innermost_first: bool, *patterns: str) -> tuple[_Form, ...]:
    return tuple(_Form(lazy_pattern(pattern, re.MULTILINE), innermost_first) for pattern in patterns)


# Ordered from the most telling: a later form only adds lines that no earlier one knew.
_FORMS = (
    *_forms(
        False,
        # Python
        rf'^[ \t>|]*File "(?P<path>[^"<\n]{{1,400}})", line {_LINE}(?:, in (?P<function>[^\s(]{{1,200}}))?',
        # Ruby 2.5 to 2.7 on a terminal
        rf"^[ \t]+\d+: from (?P<path>{_FILE}):{_LINE}:in [`'](?P<function>[^'\n]{{1,200}})'",
    ),
    *_forms(
        True,
        # Rust: a backtrace, the head of a panic
        rf"^[ \t]*\d+: (?P<function>[^\n]{{1,300}})\n[ \t]+at (?P<path>{_FILE}):{_LINE}(?::\d+)?[ \t]*$",
        rf"^[^\n]{{0,300}}? panicked at (?:'[^\n]{{0,500}}', )?(?P<path>{_FILE}):{_LINE}:\d+:?[ \t]*$",
        # V8: with a name, without one
        rf"^[ \t]*at (?:async )?(?:new )?(?P<function>[\w$.<>\[\] ]{{1,200}}?) \({_AT}\)",
        rf"^[ \t]*at (?:async )?{_AT}[ \t]*$",
        # Firefox, Safari
        rf"^[ \t]*(?P<function>[^\s@]{{0,200}})@(?=/|{_URL}){_AT}[ \t]*$",
        # JVM
        rf"^[ \t]*at (?:[\w.@-]{{0,100}}/{{1,2}})?(?P<package>(?:\w{{1,100}}\.){{0,20}}?)"
        rf"(?P<function>[\w$]{{1,200}}\.[\w$<>]{{1,200}})\((?P<path>[\w$.-]{{1,100}}\.(?:java|kt|scala|groovy)):{_LINE}\)",
        # .NET
        rf"^[ \t]*at (?P<function>[\w`.<>\[\],]{{1,300}})\([^)\n]{{0,300}}\) in (?P<path>[^\n]{{1,300}}?):line {_LINE}",
        # Ruby
        rf"^[ \t]*(?:from )?(?P<path>{_FILE}):{_LINE}:in [`'](?P<function>[^'\n]{{1,200}})'",
        # PHP: a frame, the head of an error
        rf"^#\d+[ \t]+(?P<path>{_FILE})\({_LINE}\): (?P<function>[\w\\:>-]{{1,200}})",
        rf"(?<!thrown )\bin (?P<path>[^\s:()]{{1,300}}\.php)(?::| on line ){_LINE}",
        # Go
        rf"^(?:created by )?(?P<function>[\w./*()\[\]-]{{1,300}})(?:\([^\n()]{{0,500}}\)| in goroutine \d+)"
        rf"\n\t(?P<path>{_FILE}):{_LINE}",
        rf"^\t(?P<path>{_FILE}):{_LINE} \+0x[0-9a-f]+",
        # PowerShell: the head of an error, a frame; Windows PowerShell
        rf"^[\w.-]{{1,100}}: (?P<path>{_FILE}):{_LINE}[ \t]*$",
        rf"^at (?P<function>[^\s,]{{1,200}}), (?P<path>{_FILE}): line {_LINE}[ \t]*$",
        rf"^At (?P<path>{_FILE}):{_LINE} char:\d+[ \t]*$",
        # Lua, Zig
        rf"^\t(?P<path>{_FILE}):{_LINE}: in (?:(?:\w+ )?['<](?P<function>\w{{1,200}})|main chunk)",
        rf"^[ \t]*(?P<path>{_FILE}):{_LINE}:\d+: 0x[0-9a-f]+ in (?P<function>\w{{1,200}})",
    ),
    *_forms(
        False,
        # Nim, shells
        rf"^[ \t]*(?P<path>{_FILE})\({_LINE}\)[ \t]+(?P<function>\w{{1,200}})[ \t]*$",
        rf"^[ \t]*(?P<path>{_FILE}): line {_LINE}:",
        # pytest and compilers; rustc; those of Microsoft
        rf"^[ \t]*(?P<path>{_FILE}):{_LINE}(?::\d+)?(?::? (?:in (?P<function>\w{{1,200}}))?|:|$)",
        rf"^[ \t]*--> (?P<path>{_FILE}):{_LINE}:\d+",
        rf"^[ \t]*(?P<path>{_FILE})\({_LINE}(?:,\d+)?\)[ \t]?: (?:fatal )?(?:error|warning)\b",
    ),
)
MOST_FRAMES = 100
_ANY_FILE = r"(?:[a-z]:)?(?=[^\s:]{0,300}[a-z_])[^\s\"'()<>|:,;#]{1,300}"
_BEFORE_LINE = (
    r"(?::|#L|['\"`]?,? (?:on |at )?line:? (?!\d+ (?:of|in) )"
    r"|(?:: ?)?[(\[](?=\d+(?:, ?\d+)?[)\]])"  # Microsoft's compilers, Maven, Kotlin
    r"|\n[ \t]+(?=\d+:\d+[ \t]+(?:error|warning)\b))"  # ESLint
)
_NAMED_PLACE = lazy_pattern(
    rf"(?<![\w/.-])(?P<path>{_ANY_FILE}){_BEFORE_LINE}{_LINE}\b"
    rf"|\bline (?P<first>\d+) (?:of|in) (?:the )?(?P<file>{_ANY_FILE})",
    re.IGNORECASE,
)
"""A place that a person may name in a sentence: `shop/job.py:17`, "line 17 of the Makefile"; the index says whether it is one."""

# What compilers make of the function that somebody wrote.
_MADE_OF = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"<(\w+)>[a-z]__\w+(?:\.MoveNext)?$",  # .NET: a state machine, a lambda
        r"\blambda\$(\w+)\$\d+$",  # Java
        r"\$(\w+)\$\d+\.invoke(?:Suspend)?$",  # Kotlin
        r"(\w+)\.(?:<init>|\.ctor)$",  # a constructor is found by its class
    )
)
_SUFFIXES = lazy_pattern(r"(?: \[as [^\]]{0,200}\]|\[[^\[\]]{0,200}\]|`\d+|::\{\{closure\}\}|::h[0-9a-f]{16}|\.func\d+|\.\d+)+$")
_INSIDE = ("block", "ensure", "rescue")
"""What Ruby puts before the name of the method around: `block (2 levels) in total`."""
_QUALIFIERS = str.maketrans(":>#\\/", ".....")


class Frame(Struct, frozen=True):
    """A place that a trace names: its path as written with `/`, the line, and the function's own name or an empty string."""

    path: str
    line: int
    function: str
    written: str  # the lines of the trace that say so


class _Place(Struct, frozen=True):
    frame: Frame
    innermost_first: bool
    start: int
    end: int


def stack_frames(text: str) -> list[Frame]:
    """Return the frames of all traces in a text, at most `MOST_FRAMES`: the last ones.

    Traces come in the order of the text, the frames of each with the innermost last, however its language writes them.
    """
    places: dict[int, _Place] = {}
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            at = text.rfind("\n", 0, match.start("path")) + 1
            if at not in places:
                places[at] = _frame(form, match, text)
    frames = [frame for trace in _traces([places[at] for at in sorted(places)], text) for frame in trace]
    return frames[-MOST_FRAMES:]


def named_places(text: str) -> tuple[Frame, ...]:
    """Return the places that a sentence names by file and line, the last one first, as `stack_frames` has the innermost last."""
    named = list(islice(_NAMED_PLACE.finditer(text), MOST_FRAMES))
    files = [(match["path"] or match["file"]).strip("`*_.") for match in named]
    lines = [int((match["line"] or match["first"])[:9]) for match in named]
    return tuple(Frame(_path(file), line, "", match[0]) for file, line, match in zip(files, lines, named, strict=True))[::-1]


def _frame(form: _Form, match: re.Match[str], text: str) -> _Place:
    groups = match.groupdict()
    start = text.rfind("\n", 0, match.start()) + 1 if match.start() else 0
    end = text.find("\n", match.end())
    end = len(text) if end < 0 else end
    path = (groups.get("package") or "").replace(".", "/") + _path(match["path"])
    frame = Frame(path, int(match["line"][:9]), _own_name(groups.get("function") or ""), text[start:end])
    return _Place(frame, form.innermost_first, start, end)


def _traces(places: list[_Place], text: str) -> Iterator[list[Frame]]:
    """Return the frames of each trace, the innermost last."""
    trace: list[Frame] = []
    last: _Place | None = None
    for here in places:
        if last and not (here.innermost_first and last.innermost_first and not _parts_traces(text[last.end : here.start])):
            yield trace[::-1]
            trace = []
        trace.append(here.frame)
        last = here
    yield trace[::-1]


def _parts_traces(between: str) -> bool:
    """Tell whether a line between two frames says that they belong to two traces."""
    return any(
        "cause" in line.lower() or (line and not line[0].isspace() and line != "Stack trace:") for line in between.split("\n")
    )


def _path(written: str) -> str:
    path = re.sub(rf"^{_URL}", "", written.strip()).replace("\\", "/")
    return re.sub(r"^(?:\./)+", "", path)


def _own_name(function: str) -> str:
    """Return the last part of a qualified name; names that stand for no definition (`<module>`, `<anonymous>`) give nothing."""
    name = function.strip()
    if name.startswith(_INSIDE):
        name = name.rpartition(" in ")[2]
    if made_of := next(filter(None, (pattern.search(name) for pattern in _MADE_OF)), None):
        return made_of[1]
    last = _SUFFIXES.sub("", name).rstrip(".").translate(_QUALIFIERS).rpartition(".")[2]
    return last if last.rstrip("?!").replace("-", "_").isidentifier() else ""
