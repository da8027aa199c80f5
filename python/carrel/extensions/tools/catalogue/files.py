"""Read tools from plain data: a person's own file, the answer of an MCP server.

What can't be used is left out and said; one bad tool costs no other. Everything read is bounded.

Check a tool's JSON schema without trusting it: in work that is linear in its length.

The standard's own check compiles every pattern and compares the entries of some lists in pairs, which a stranger's schema can
make take minutes. What no part of Carrel reads (patterns, references, conditions, combinations) isn't looked at.

Read files that describe tools: TOML and JSON to plain data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from carrel.extensions.tools.catalogue.runs_anything import runs_anything
from carrel.model.catalogue_tool import RISKS, CatalogueTool, Risk, canonical
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.patterns import is_name
from carrel.model.structs import whole_characters

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
_LONGEST_PART, _MOST_TOLD = 60, 8


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
        names.append(name if len(name) <= _LONGEST_PART else name[:_LONGEST_PART] + "…")
    return ".".join(reversed(names)).replace(".[]", "[]")


def _own_flaw(part: Mapping[str, Any]) -> str:
    """Return what is wrong with the keywords of one part, without those inside it."""
    for keys, fits, wanted in _RULES:
        for key in keys:
            if key in part and not fits(part[key]):
                return f"{key} {wanted}"
    return ""


_LONGEST_FILE = 20_000_000


def read_document(path: Path) -> Any:
    """Return the data of a `.toml` or JSON file. Raises `CarrelError`."""
    path = path.expanduser()
    try:
        if path.stat().st_size > _LONGEST_FILE:
            raise InvalidInput("file", f"{path} is longer than {_LONGEST_FILE:,} bytes")
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise CarrelError(f"{path} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput("file", f"{path} is not UTF-8") from None
    try:
        return (tomllib if path.suffix.lower() == ".toml" else json).loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput("file", f"{path} can't be read: {reason}") from None


MOST_TOOLS = 5_000
"""Of one source."""
MOST_CHARACTERS = 4_000_000
"""Of all texts and schemas of one source."""
_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 10_000
_LONGEST_SCHEMA = 100_000
_MOST_TAGS = 20
_MOST_EXAMPLES = 10
_LONGEST_EXAMPLE = 500


def from_file(raw: object, source: str) -> tuple[list[CatalogueTool], list[str]]:
    """Read the tools of a file (`{"tools": [...]}`); return them with what is wrong with the others."""
    rows = raw.get("tools") if isinstance(raw, Mapping) else None
    if not isinstance(rows, list):
        return [], [f"{source}: must hold a list `tools`"]
    return _each(rows, source, _own_risk)


def from_mcp(rows: Sequence[Any], source: str) -> tuple[list[CatalogueTool], list[str]]:
    """Read the tools of an MCP server's `tools/list`; its annotations raise the risk, and never make it safe."""
    return _each(rows, source, _annotated_risk)


def _own_risk(row: Mapping[str, Any]) -> Risk:
    risk = row.get("risk", "dangerous")
    return risk if risk in RISKS else "dangerous"


def _annotated_risk(row: Mapping[str, Any]) -> Risk:
    """Return the risk by what a server says of its tool: a stranger's word, so that reading alone counts as moderate."""
    said = row.get("annotations")
    said = said if isinstance(said, Mapping) else {}
    return "moderate" if said.get("readOnlyHint") is True or said.get("destructiveHint") is False else "dangerous"


def _each(rows: Sequence[Any], source: str, risk_of: Any) -> tuple[list[CatalogueTool], list[str]]:
    tools: dict[str, CatalogueTool] = {}
    problems: list[str] = []
    left = MOST_CHARACTERS
    for number, row in enumerate(rows[:MOST_TOOLS]):
        name = row.get("name") if isinstance(row, Mapping) else None
        if not isinstance(row, Mapping) or not isinstance(name, str) or not usable_name(name):
            problems.append(f"{source}: tool {number} has no name that can be used")
            continue
        schema = row.get("inputSchema", row.get("schema", {"type": "object"}))
        output = row.get("outputSchema", row.get("output_schema"))
        if problem := schema_problem(schema) or (schema_problem(output) if output is not None else ""):
            problems.append(f"{source}.{name}: {problem}")
            continue
        if name in tools:
            problems.append(f"{source}.{name}: is there twice; the first one counts")
            continue
        tool = CatalogueTool(
            source=source,
            name=name,
            description=_text(row.get("description"), _LONGEST_DESCRIPTION),
            tags=_texts(row.get("tags"), _MOST_TAGS, 60),
            risk=risk_of(row),
            schema=schema,
            output_schema=output,
            examples=_texts(row.get("examples"), _MOST_EXAMPLES, _LONGEST_EXAMPLE),
        )
        if runs_anything(tool):
            tool = replace(tool, risk="dangerous")
        left -= sum(map(len, (tool.description, *tool.examples, canonical(schema), canonical(output))))
        if left < 0:
            problems.append(f"{source}: its tools say more than {MOST_CHARACTERS:,} characters; the first {len(tools):,} count")
            break
        tools[name] = tool
    if len(rows) > MOST_TOOLS:
        problems.append(f"{source}: has {len(rows):,} tools; the first {MOST_TOOLS:,} count")
    return list(tools.values()), problems


def usable_name(name: str) -> bool:
    """Tell whether a tool may have this name: it is shown to persons and models as it is."""
    return is_name(name.replace("_", "a"), _LONGEST_NAME, "./:-")  # an underscore may be the first


def schema_problem(schema: object) -> str:
    """Say why a JSON schema can't be used; empty where it can."""
    if not isinstance(schema, Mapping):
        return "its schema must be an object"
    try:
        if len(canonical(schema)) > _LONGEST_SCHEMA:
            return f"its schema is longer than {_LONGEST_SCHEMA:,} characters"
        if schema.get("type", "object") != "object":
            return "its schema must describe an object"
        flaw = schema_flaw(schema)
    except (RecursionError, ValueError, TypeError):
        return "its schema can't be read"
    return f"its schema is not a JSON schema: {flaw[:120]}" if flaw else ""


def _text(value: object, most: int) -> str:
    return whole_characters(value)[:most].replace("\0", " ") if isinstance(value, str) else ""


def _texts(value: object, most: int, longest: int) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(_text(item, longest) if isinstance(item, str) else canonical(item)[:longest] for item in items[:most])
