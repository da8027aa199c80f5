"""Edits of JSON that people write: comments, trailing commas and layout stay as they are, byte for byte."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

from msgspec import Struct

from carrel.model.errors import CarrelError
from carrel.model.lines import LINE_END
from carrel.model.patterns import lazy_pattern

_BLANK = lazy_pattern(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = lazy_pattern(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_BLANKS = " \t\r\n"
_COMMENT = lazy_pattern(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_DEEPEST = 100


class BadJson(CarrelError):
    """The text isn't JSON, not even with comments."""


Path: TypeAlias = tuple[str | int, ...]
"""Names of members and places in lists, from the outermost; the length of a list is the place behind its last item."""


class Node(Struct, frozen=True):
    """A value and where it stands. `members` are an object's or a list's: (where it begins, its name or place, its value)."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[int, str | int, Node], ...] | None = None


def parse(text: str) -> Node:
    """Read a whole text; raises `BadJson` with line and column."""
    start = _skip(text, 0)
    node = _value(text, start, 0)
    if _skip(text, node.end) != len(text):
        raise _bad(text, _skip(text, node.end), "nothing more")
    return node


def put(text: str, path: Path, value: object) -> str:
    """Set what stands at a path, and add the objects and lists that lead there."""
    node = parse(text)
    for depth, key in enumerate(path):
        inner = _member(_container(node, path[:depth], key), key)
        if inner is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value} if isinstance(missing, str) else [value]
            return _insert(text, node, key, value)
        node = inner
    if node.value == value:
        return text
    return text[: node.start] + _dump(text, value, _indent_of(text, node.start)) + text[node.end :]


def value_at(text: str, path: Path) -> Any:
    """Return what stands at a path; None where nothing does. Raises `BadJson`."""
    node = _at(parse(text), path)
    return node and node.value


def depth(text: str, path: Path) -> int:
    """Return how many of the path's steps are there. Raises `BadJson`."""
    root = parse(text)
    return max(length for length in range(len(path) + 1) if _at(root, path[:length]))


def drop(text: str, path: Path, *, keep: int = 0) -> str:
    """Remove what stands at a path, and what led there when nothing is left in it but for the first `keep` steps."""
    for length in range(len(path), keep, -1):
        root = parse(text)
        node, outer = _at(root, path[:length]), _at(root, path[: length - 1])
        if node is None or outer is None:
            return text
        if length < len(path) and (node.members or text[node.start + 1 : node.end - 1].strip()):
            return text
        text = _remove(text, outer, path[length - 1])
    return text


def _at(node: Node, path: Path) -> Node | None:
    for depth, key in enumerate(path):
        if not depth:
            _container(node, (), key)
        inner = _member(node, key)
        if inner is None:
            return None
        node = inner
    return node


def _insert(text: str, node: Node, key: str | int, value: object) -> str:
    assert node.members is not None  # noqa: S101 - callers looked
    close = node.end - 1
    last = node.members[-1][2].end if node.members else None
    content = _content_end(text, node.start + 1 if last is None else last, close)
    trailing = last is not None and text[_skip(text, last)] == ","
    one_line = last is not None and not LINE_END.search(text, node.start, node.end)
    if one_line and last is not None:
        body = f" {_name(key)}{json.dumps(value, ensure_ascii=False)}"
        return text[:content] + ("" if trailing else ",") + body + ("," if trailing else "") + text[content:]
    newline = newline_of(text)
    base_indent = _indent_of(text, node.start)
    indent = _indent_of(text, node.members[0][0]) if node.members else base_indent + _unit(text)
    member = f"{newline}{indent}{_name(key)}{_dump(text, value, indent)}" + ("," if trailing else "")
    tail = text[content:] if LINE_END.search(text, content, close) else newline + base_indent + text[close:]
    if last is None or trailing:
        return text[:content] + member + tail
    return text[:last] + "," + text[last:content] + member + tail


def _name(key: str | int) -> str:
    return f"{json.dumps(key)}: " if isinstance(key, str) else ""


def _remove(text: str, node: Node, key: str | int) -> str:
    members = node.members or ()
    at = next(number for number, member in enumerate(members) if member[1] == key)
    start, _, value = members[at]
    before = members[at - 1][2].end if at else node.start + 1
    begin = _content_end(text, before, start)
    after = _skip(text, value.end)
    rest = text[after + 1 if text[after] == "," else value.end :]
    if _ends_in_line_comment(text[before:begin]) and not re.match(r"[ \t]*[\r\n]", rest):
        rest = newline_of(text) + rest  # what follows must not become part of the comment
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
    if head and head in "{[":
        return _members(text, at, depth)
    if match := (_STRING if head == '"' else _PLAIN).match(text, at):
        try:
            return Node(at, match.end(), json.loads(match[0]))
        except ValueError:
            raise _bad(text, at, "a value") from None
    raise _bad(text, at, "a value")


def _members(text: str, start: int, depth: int) -> Node:
    """Read an object or a list."""
    is_object, members = text[start] == "{", list[tuple[int, str | int, Node]]()
    close, at = "}" if is_object else "]", _skip(text, start + 1)
    while text[at : at + 1] != close:
        begin, name = at, len(members)
        if is_object:
            key = _STRING.match(text, at)
            colon = _skip(text, key.end()) if key else at
            if key is None or text[colon : colon + 1] != ":":
                raise _bad(text, colon, "a name and a colon")
            name = _value(text, at, depth).value  # a string may hold an escape that is none
            at = _skip(text, colon + 1)
        value = _value(text, at, depth + 1)
        members.append((begin, name, value))
        at = _part(text, value.end, close)
    values = {name: value.value for _, name, value in members}
    return Node(start, at + 1, values if is_object else list(values.values()), tuple(members))


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


def _container(node: Node, path: Path, key: str | int) -> Node:
    wanted, name = (dict, "an object") if isinstance(key, str) else (list, "a list")
    if not isinstance(node.value, wanted):
        where = '"' + ".".join(map(str, path)) + '"' if path else "the file"
        raise BadJson(f"{where} must hold {name}")
    return node


def _member(node: Node, key: str | int) -> Node | None:
    values = [value for _, name, value in node.members or () if name == key]
    if len(values) > 1:
        raise BadJson(f'"{key}" stands there twice')
    return values[0] if values else None


def _indent_of(text: str, at: int) -> str:
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    match = re.search(r"[\r\n]([ \t]+)\S", text)
    return match[1] if match else "  "


def _dump(text: str, value: object, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", newline_of(text) + indent)


def newline_of(text: str) -> str:
    """Return how the first line of a text ends."""
    match = LINE_END.search(text)
    return match[0] if match else "\n"


def _ends_in_line_comment(text: str) -> bool:
    """Tell whether blanks, a comma and comments end in a comment that only the end of the line ends."""
    comments = list(_COMMENT.finditer(text))
    return bool(comments) and comments[-1][0].startswith("//") and comments[-1].end() == len(text)


def _bad(text: str, at: int, wanted: str) -> BadJson:
    ends = [match.end() for match in LINE_END.finditer(text, 0, at)]
    return BadJson(f"line {len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}: expected {wanted}")
