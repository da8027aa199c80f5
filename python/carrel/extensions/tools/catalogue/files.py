"""Read tools from plain data: a person's own file, the answer of an MCP server.

What can't be used is left out and said; one bad tool costs no other. Everything read is bounded.

A tool's JSON schema is checked by its form: the standard's own check compiles every pattern and compares the entries of some
lists in pairs, which a stranger's schema can make take minutes.

Read files that describe tools: TOML and JSON to plain data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert
from msgspec.structs import replace

from carrel.extensions.tools.catalogue.runs_anything import runs_anything
from carrel.model.bounds import plain_reason
from carrel.model.catalogue_tool import RISKS, CatalogueTool, Risk, canonical
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.patterns import is_name
from carrel.model.structs import whole_characters

_Kind = Literal["object", "array", "string", "number", "integer", "boolean", "null"]
_Number = int | float
_Count = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]


class SchemaPart(Struct, rename="camel"):
    """A part of a JSON schema, as far as any part of Carrel reads it; what is a boolean or a list here was so in older drafts."""

    type: _Kind | list[_Kind] | UnsetType = UNSET
    properties: dict[str, bool | SchemaPart] | UnsetType = UNSET
    required: bool | list[str] | UnsetType = UNSET
    enum: list[Any] | UnsetType = UNSET
    const: Any = UNSET
    minimum: _Number | UnsetType = UNSET
    maximum: _Number | UnsetType = UNSET
    exclusive_minimum: bool | _Number | UnsetType = UNSET
    exclusive_maximum: bool | _Number | UnsetType = UNSET
    min_length: _Count | UnsetType = UNSET
    max_length: _Count | UnsetType = UNSET
    min_items: _Count | UnsetType = UNSET
    max_items: _Count | UnsetType = UNSET
    min_properties: _Count | UnsetType = UNSET
    max_properties: _Count | UnsetType = UNSET
    items: bool | SchemaPart | list[bool | SchemaPart] | UnsetType = UNSET
    additional_properties: bool | SchemaPart | UnsetType = UNSET
    pattern_properties: Any = UNSET


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
_LONGEST_PLACE = 200
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
    return "moderate" if _only_reads(row) or _annotations(row).get("destructiveHint") is False else "dangerous"


def _only_reads(row: Mapping[str, Any]) -> bool:
    return _annotations(row).get("readOnlyHint") is True


def _annotations(row: Mapping[str, Any]) -> Mapping[str, Any]:
    said = row.get("annotations")
    return said if isinstance(said, Mapping) else {}


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
            only_reads=_only_reads(row),
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
        convert(schema, SchemaPart)
    except ValidationError as error:
        where, reason = plain_reason(error)
        return f"its schema is not a JSON schema: {where.lstrip('.')[:_LONGEST_PLACE]} {reason[:_LONGEST_PLACE]}"
    except (RecursionError, ValueError, TypeError):
        return "its schema can't be read"
    return ""


def _text(value: object, most: int) -> str:
    return whole_characters(value)[:most].replace("\0", " ") if isinstance(value, str) else ""


def _texts(value: object, most: int, longest: int) -> tuple[str, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(_text(item, longest) if isinstance(item, str) else canonical(item)[:longest] for item in items[:most])
