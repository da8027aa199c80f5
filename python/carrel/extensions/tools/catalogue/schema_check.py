"""Check a tool's JSON schema without trusting it: in work that is linear in its length.

The standard's own check compiles every pattern and compares the entries of some lists in pairs, which a stranger's schema can
make take minutes. What no part of Carrel reads (patterns, references, conditions, combinations) isn't looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_KINDS = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})


def _are_kinds(value: object) -> bool:
    return all(isinstance(kind, str) and kind in _KINDS for kind in (value if isinstance(value, list) else [value]))


def _are_names(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, list) and all(isinstance(name, str) for name in value))


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


_RULES: tuple[tuple[tuple[str, ...], Callable[[object], bool], str], ...] = (
    (("type",), _are_kinds, f"must be among {', '.join(sorted(_KINDS))}"),
    (("properties",), lambda value: isinstance(value, Mapping), "must be an object"),
    (("required",), _are_names, "must be a list of names"),  # or a boolean before draft 4
    (("enum",), lambda value: isinstance(value, list), "must be a list"),
    (
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        lambda value: isinstance(value, int | float),
        "must be a number",
    ),
    (
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _is_count,
        "must be a number from 0 on",
    ),
)
"""Keywords, what their values must be, and how that is said."""


_Place = tuple["_Place", str] | None
"""A part of a schema by the part that it is in: a text for each would take the square of the schema's length."""
_LONGEST_NAME, _MOST_TOLD = 60, 8


def schema_flaw(schema: Mapping[str, Any]) -> str:
    """Return what is wrong with a schema, with the place in it; empty for nothing."""
    left: list[tuple[_Place, Any]] = [(None, schema)]
    while left:
        place, part = left.pop()
        if isinstance(part, bool):
            continue
        if not isinstance(part, Mapping):
            return f"{_written(place) or 'it'} must be an object or a boolean"
        if flaw := _own_flaw(part):
            return f"{_written(place)}.{flaw}".lstrip(".")
        left += [((place, name), inner) for name, inner in part.get("properties", {}).items()]
        items = part.get("items", True)  # a list of schemas before draft 2020-12
        left += [((place, "[]"), inner) for inner in (items if isinstance(items, list) else [items])]
        left.append(((place, "*"), part.get("additionalProperties", True)))
    return ""


def _written(place: _Place) -> str:
    """Return a place as it is written: the names of the parts around it, cut, and the inner ones of many."""
    names: list[str] = []
    while place is not None and len(names) < _MOST_TOLD:
        place, name = place
        names.append(name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…")
    return ".".join(reversed(names)).replace(".[]", "[]")


def _own_flaw(part: Mapping[str, Any]) -> str:
    """Return what is wrong with the keywords of one part, without those inside it."""
    for keys, fits, wanted in _RULES:
        for key in keys:
            if key in part and not fits(part[key]):
                return f"{key} {wanted}"
    return ""
