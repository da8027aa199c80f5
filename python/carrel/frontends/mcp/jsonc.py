"""Edits of JSON that people write: comments, trailing commas and layout stay as they are, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from carrel.model.errors import CarrelError

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_BLANKS = " \t\r\n"
_LINE_END = re.compile(r"\r\n|\n|\r")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_DEEPEST = 100


class BadJson(CarrelError):
    """The text isn't JSON, not even with comments."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands. `members` are an object's: (where the key begins, its name, its value)."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[int, str, Node], ...] | None = None


def parse(text: str) -> Node:
    """Read a whole text; raises `BadJson` with line and column."""
    start = _skip(text, 0)
    node = _value(text, start, 0)
    if _skip(text, node.end) != len(text):
        raise _bad(text, _skip(text, node.end), "nothing more")
    return node


def put(text: str, path: tuple[str, str], value: object) -> str:
    """Set `path[0].path[1]`; adds the outer object where there is none."""
    root = _object(parse(text), "the file")
    outer = _member(root, path[0])
    if outer is None:
        return _insert(text, root, path[0], {path[1]: value})
    inner = _object(outer, f'"{path[0]}"')
    if old := _member(inner, path[1]):
        return (
            text if old.value == value else text[: old.start] + _dump(text, value, _indent_of(text, old.start)) + text[old.end :]
        )
    return _insert(text, inner, path[1], value)


def value_at(text: str, path: tuple[str, str]) -> Any:
    """Return `path[0].path[1]`; None where it isn't there. Raises `BadJson`."""
    outer = _member(_object(parse(text), "the file"), path[0])
    found = outer and outer.members is not None and _member(outer, path[1])
    return found.value if found else None


def holds(text: str, key: str) -> bool:
    """Return true if the object has that member. Raises `BadJson`."""
    return _member(_object(parse(text), "the file"), key) is not None


def drop(text: str, path: tuple[str, str], *, keep_outer: bool = False) -> str:
    """Remove `path[0].path[1]`, and the outer object when nothing is left in it; the text itself where it isn't there."""
    outer = _member(_object(parse(text), "the file"), path[0])
    if outer is None or outer.members is None or _member(outer, path[1]) is None:
        return text
    text = _remove(text, outer, path[1])
    root = parse(text)
    left = _member(root, path[0])
    empty = not keep_outer and left is not None and not left.members and not text[left.start + 1 : left.end - 1].strip()
    return _remove(text, root, path[0]) if empty else text


def _insert(text: str, node: Node, key: str, value: object) -> str:
    assert node.members is not None  # noqa: S101 - callers looked
    close = node.end - 1
    last = node.members[-1][2].end if node.members else None
    content = _content_end(text, node.start + 1 if last is None else last, close)
    trailing = last is not None and text[_skip(text, last)] == ","
    one_line = last is not None and not _LINE_END.search(text, node.start, node.end)
    if one_line and last is not None:
        body = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        return text[:content] + ("" if trailing else ",") + body + ("," if trailing else "") + text[content:]
    newline = _newline(text)
    own = _indent_of(text, node.start)
    indent = _indent_of(text, node.members[0][0]) if node.members else own + _unit(text)
    member = f"{newline}{indent}{json.dumps(key)}: {_dump(text, value, indent)}" + ("," if trailing else "")
    tail = text[content:] if _LINE_END.search(text, content, close) else newline + own + text[close:]
    if last is None or trailing:
        return text[:content] + member + tail
    return text[:last] + "," + text[last:content] + member + tail


def _remove(text: str, node: Node, key: str) -> str:
    members = node.members or ()
    at = next(number for number, member in enumerate(members) if member[1] == key)
    start, _, value = members[at]
    before = members[at - 1][2].end if at else node.start + 1
    begin = _content_end(text, before, start)
    after = _skip(text, value.end)
    rest = text[after + 1 if text[after] == "," else value.end :]
    if _ends_in_line_comment(text[before:begin]) and not re.match(r"[ \t]*[\r\n]", rest):
        rest = _newline(text) + rest  # what follows must not become part of the comment
    last = text[after] != ","
    text = text[:begin] + rest
    if last and at:  # the comma before it has nothing to part any more
        comma = _skip(text, before)
        text = text[:comma] + text[comma + 1 :]
    if len(members) == 1:
        end = node.start + 1
        close = _skip(text, end)
        if not text[end:close].strip():
            text = text[:end] + text[close:]
    return text


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _bad(text, at, "fewer levels")
    head = text[at : at + 1]
    if head == "{":
        return _members(text, at, depth)
    if head == "[":
        return _items(text, at, depth)
    if match := (_STRING if head == '"' else _PLAIN).match(text, at):
        try:
            return Node(at, match.end(), json.loads(match[0]))
        except ValueError:
            raise _bad(text, at, "a value") from None
    raise _bad(text, at, "a value")


def _members(text: str, start: int, depth: int) -> Node:
    members: list[tuple[int, str, Node]] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        colon = _skip(text, key.end()) if key else at
        if key is None or text[colon : colon + 1] != ":":
            raise _bad(text, colon, "a name and a colon")
        name = _value(text, at, depth)  # a string may hold an escape that is none
        value = _value(text, _skip(text, colon + 1), depth + 1)
        members.append((at, name.value, value))
        at = _part(text, value.end, "}")
    return Node(start, at + 1, {name: value.value for _, name, value in members}, tuple(members))


def _items(text: str, start: int, depth: int) -> Node:
    items = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item = _value(text, at, depth + 1)
        items.append(item.value)
        at = _part(text, item.end, "]")
    return Node(start, at + 1, items)


def _part(text: str, at: int, close: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != close:
        raise _bad(text, at, f"a comma or {close}")
    return at


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _content_end(text: str, start: int, end: int) -> int:
    """Return the end of what isn't blank between two places: of a comma or a comment, else `start`."""
    return start + len(text[start:end].rstrip(_BLANKS))


def _object(node: Node, what: str) -> Node:
    if node.members is None:
        raise BadJson(f"{what} must hold an object")
    return node


def _member(node: Node, key: str) -> Node | None:
    found = [value for _, name, value in node.members or () if name == key]
    if len(found) > 1:
        raise BadJson(f'"{key}" stands there twice')
    return found[0] if found else None


def _indent_of(text: str, at: int) -> str:
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    match = re.search(r"[\r\n]([ \t]+)\S", text)
    return match[1] if match else "  "


def _dump(text: str, value: object, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    """Return how the first line of a text ends."""
    match = _LINE_END.search(text)
    return match[0] if match else "\n"


def _ends_in_line_comment(text: str) -> bool:
    """Tell whether blanks, a comma and comments end in a comment that only the end of the line ends."""
    comments = list(_COMMENT.finditer(text))
    return bool(comments) and comments[-1][0].startswith("//") and comments[-1].end() == len(text)


def _bad(text: str, at: int, wanted: str) -> BadJson:
    ends = [match.end() for match in _LINE_END.finditer(text, 0, at)]
    return BadJson(f"line {len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}: expected {wanted}")
