"""Which function, method or class of the file in front is meant by "this function": the one around the selected lines.

Chunks say which names a file defines; small functions share one, so lines say which of them is meant. A definition holds the
lines below it that are indented deeper. That needs no parser and holds for unsaved text, in any language that is laid out so.
"""

from __future__ import annotations

from carrel.model.lines import lines_of
from carrel.model.local_index import SnapshotView
from carrel.model.patterns import lazy_pattern
from carrel.model.types import Query

MOST_LINES = 3_000
"""How far above the selection its definition is looked for."""
LONGEST_HEAD = 500
"""Characters of a line that are looked at: a definition names itself early, and the patterns take time by a line's square."""

_TYPE = lazy_pattern(r"\b(?:class|type|struct|interface|enum|trait|impl|object|record|protocol|extension|module)\b")
_STATEMENT = lazy_pattern(
    r"(?:\}\s*)?(?:if|elif|else|for|foreach|while|switch|case|match|with|try|catch|except|finally|do|return|await|yield|raise|throw"
    r"|assert|unless|until|when|using|lock|guard|defer|go|select|not|and|or|loop|unsafe|rescue|ensure|synchronized)\b"
)
_CALL = lazy_pattern(r"[\w.:>$-]+\((?!.*\{$)")
_ASSIGNED = lazy_pattern(r"[^(]*?[\w\])]\s*(?:[-+*/|&]?=|:=)(?![=>])\s*")
_FUNCTION_VALUE = lazy_pattern(r"async\b|function\b|func\b|fn\b|\(|lambda\b|\w+\s*=>")
_NOTHING = lazy_pattern(r"[{}()\[\]#/*@]|\w+:$")
"""A line that opens no block of its own: braces, comments, attributes, labels."""
_NAME = lazy_pattern(r"[^\W\d]\w*[?!]?")
_BEFORE_PARAMETERS = lazy_pattern(r"([^\W\d]\w*[?!]?)\s*(?:<[^<>]*>|\[[^\]]*\])?\s*\(")


def symbol_in_front(view: SnapshotView, query: Query, *, type_meant: bool = False) -> str | None:
    """Return the name of the innermost definition around what is selected in the file in front; None where none is known.

    `type_meant`: the question is about a class or the like, not about a function within it.
    """
    path, selection = query.active_path, query.selection
    if not path or selection is None or selection.path != path:
        return None
    names = {name for chunk in view.file_chunks(path) for name in chunk.definitions}
    first = max(1, selection.start_line - MOST_LINES)
    text = view.lines(path, first, selection.end_line) if names else None
    if not text:
        return None
    lines = [line[:LONGEST_HEAD].expandtabs(8) for line in lines_of(text)]
    return _around(lines, selection.start_line - first, names, type_meant=type_meant)


def _around(lines: list[str], selected: int, names: set[str], *, type_meant: bool) -> str | None:
    at = next((number for number in range(selected, len(lines)) if lines[number].strip()), None)
    if at is None:
        return None
    depth = _indented(lines[at]) + 1  # the first selected line may be the definition
    for line in reversed(lines[: at + 1]):
        indented, code = _indented(line), line.strip()
        if not code or indented >= depth:
            continue
        name = _defined(code, names)
        if name and (not type_meant or _TYPE.search(code)):
            return name
        depth = depth - 1 if line is lines[at] else depth if _NOTHING.match(code) else indented
    return None


def _indented(line: str) -> int:
    return len(line) - len(line.lstrip())


def _defined(code: str, names: set[str]) -> str | None:
    """Return the name that a line defines; its uses don't count."""
    assigned = _ASSIGNED.match(code)
    if _STATEMENT.match(code) or _CALL.match(code) or (assigned and not _FUNCTION_VALUE.match(code, assigned.end())):
        return None
    head = assigned[0] if assigned else code
    candidates = [match[1] for match in _BEFORE_PARAMETERS.finditer(head)] + [match[0] for match in _NAME.finditer(head)]
    return next((name for name in candidates if name in names), None)
