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

_TYPES = frozenset("class type struct interface enum trait impl object record protocol extension module".split())  # noqa: SIM905
_STATEMENTS = frozenset(
    """
    assert await case catch do elif else except for foreach guard if match raise return switch throw try unless until
    using when while with yield
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_FUNCTIONS = ("(", "async", "fn", "func", "lambda")
"""How a value begins that is a function, if not by an arrow behind its parameter."""
_NAME = lazy_pattern(r"([^\W\d]\w*[?!]?)(\s*(?:<[^<>]*>|\[[^\]]*\])?\s*\()?")


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
        if name and (not type_meant or _names_type(code)):
            return name
        depth = depth - 1 if line is lines[at] else indented if _opens_block(code) else depth
    return None


def _indented(line: str) -> int:
    return len(line) - len(line.lstrip())


def _names_type(code: str) -> bool:
    return not _TYPES.isdisjoint(code.split())


def _opens_block(code: str) -> bool:
    """Tell whether a line opens a block of its own: braces, comments, attributes and labels don't."""
    return code[0] not in "{}()[]#/*@" and not (code.endswith(":") and code[:-1].isidentifier())


def _defined(code: str, names: set[str]) -> str | None:
    """Return the name that a line defines; its uses don't count."""
    before = code.lstrip("} ").partition("(")[0].split()
    is_call = "(" in code and len(before) < 2 and not code.endswith("{")
    head, _, value = code.replace(":=", "=").partition(" = ")
    is_value = value and "(" not in head and "=>" not in value and not value.startswith(_FUNCTIONS) and not _names_type(head)
    if is_call or is_value or (before and before[0].rstrip(":{") in _STATEMENTS):
        return None
    named = [match for match in _NAME.finditer(head) if match[1] in names]
    return next((match[1] for match in named if match[2]), named[0][1] if named else None)
