"""Places that stack traces, compilers and test runners name, in the forms that languages write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FILE = r"(?:[A-Za-z]:)?[^\s\"'()<>|:,;]{1,300}\.\w{1,8}"
_URL = r"(?:file://|webpack:///?)?"
_LINE = r"(?P<line>\d+)"

_FORMS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # Python
        rf'^[ \t>|]*File "(?P<path>[^"\n]{{1,400}})", line {_LINE}(?:, in (?P<function>[^\s(]{{1,200}}))?',
        # V8: with a name, without one (Rust's backtraces too)
        rf"^[ \t]*at (?:async )?(?:new )?(?P<function>[\w$.<>\[\] ]{{1,200}}?) \((?P<path>{_URL}{_FILE}):{_LINE}(?::\d+)?\)",
        rf"^[ \t]*at (?P<path>{_URL}{_FILE}):{_LINE}(?::\d+)?[ \t]*$",
        # JVM
        rf"^[ \t]*at (?P<function>[\w$.<>/]{{1,300}})\((?P<path>[\w$]{{1,100}}\.(?:java|kt|scala|groovy)):{_LINE}\)",
        # .NET
        rf"^[ \t]*at (?P<function>[\w`.<>\[\],]{{1,300}})\([^)\n]{{0,300}}\) in (?P<path>[^\n]{{1,300}}?):line {_LINE}",
        # Ruby
        rf"^[ \t]*(?:from )?(?P<path>{_FILE}):{_LINE}:in [`'](?P<function>[^'\n]{{1,200}})'",
        # PHP
        rf"^#\d+[ \t]+(?P<path>{_FILE})\({_LINE}\): (?P<function>[\w\\:>-]{{1,200}})",
        # Go, pytest, compilers
        rf"^[ \t]*(?P<path>{_FILE}):{_LINE}(?::\d+)?(?: \+0x[0-9a-f]+|:? (?:in (?P<function>\w{{1,200}}))?|:|$)",
    )
)
MOST_FRAMES = 100


@dataclass(frozen=True, slots=True)
class Frame:
    """A place that a trace names: its path as written with `/`, the line, and the function's own name or an empty string."""

    path: str
    line: int
    function: str
    written: str  # the whole line of the trace


def stack_frames(text: str) -> list[Frame]:
    """Return the frames of all traces in a text, in its order, at most `MOST_FRAMES`: the last ones."""
    found: dict[int, Frame] = {}
    for form in _FORMS:
        groups = form.groupindex
        for match in form.finditer(text):
            # The forms are ordered from the most telling: a later one only adds lines that no earlier one knew.
            at = text.rfind("\n", 0, match.start("path")) + 1
            function = (match["function"] or "") if "function" in groups else ""
            end = text.find("\n", at)
            written = text[at : end if end >= 0 else len(text)]
            found.setdefault(at, Frame(_path(match["path"]), int(match["line"][:9]), _own_name(function), written))
    return [found[at] for at in sorted(found)][-MOST_FRAMES:]


def _path(written: str) -> str:
    path = re.sub(r"^(?:file://|webpack:///?)", "", written.strip()).replace("\\", "/")
    return re.sub(r"^(?:\./)+", "", path)


def _own_name(function: str) -> str:
    """Return the last part of a qualified name; names that stand for no definition (`<module>`, `<anonymous>`) give nothing."""
    name = re.split(r"[.:>\\/]+", function.strip().rstrip("."))[-1] if not function.startswith("<") else ""
    return name if re.fullmatch(r"\w+[?!]?", name) else ""
