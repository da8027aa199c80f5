"""The arguments of a tool's call: mended where they can be meant in one way only, then checked against the tool's JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry

from carrel.model_calls.model_json import parse, plain_name

_WRAPPERS = frozenset({"arguments", "parameters", "args", "input", "params", "kwargs"})
_LONGEST_MESSAGE = 200
_MOST_DIGITS = 15
_BOOLEANS = {"true": True, "false": False}
_MOST_NAMED = 20


def read_arguments(raw: object, schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """Return the arguments that were meant, None where nobody can tell, and whether they had to be mended.

    Mended are JSON in a string, an object around the arguments, names in another case, numbers, booleans and lists that were
    written as strings, and null for what may be left out.
    """
    value = parse(raw) if isinstance(raw, str) and raw.strip() else {} if raw in (None, "") else raw
    if not isinstance(value, Mapping):
        return None, False
    meant = _named(_unwrapped(value, schema), schema)
    properties = properties_of(schema)
    required = schema.get("required")
    required = required if isinstance(required, list) else ()  # a boolean before draft 4
    meant = {name: item for name, item in meant.items() if item is not None or name in required or _allows_null(properties, name)}
    meant = {name: _of_type(item, properties.get(name)) for name, item in meant.items()}
    return meant, meant != raw


def problem_with(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return what is wrong with arguments, by the name of the field; empty where they fit the schema."""
    try:
        error = best_match(_errors(arguments, schema))
    except Exception as failure:  # whatever a library makes of somebody's schema
        return _unusable(failure)
    return "" if error is None else _sentence(error)


def errors_of(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """Return everything that is wrong with arguments, as the schema's keyword, the value, and a sentence.

    The keyword is "schema" where the schema itself can't be used.
    """
    try:
        return [(str(error.validator), error.instance, _sentence(error)) for error in _errors(arguments, schema)]
    except Exception as failure:  # likewise
        return [("schema", None, _unusable(failure))]


def _errors(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    kind = validator_for(schema, default=Draft202012Validator)
    # The registry is empty: a schema that refers to the network would have it asked.
    errors: Iterator[ValidationError] = kind(dict(schema), registry=Registry()).iter_errors(dict(arguments))
    return errors


def _unusable(failure: Exception) -> str:
    if isinstance(failure, RecursionError):
        return "the arguments are nested too deep"
    return f"the schema of this tool can't be used ({type(failure).__name__})"


def _sentence(error: ValidationError) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    wanted, value = error.validator_value, error.instance
    match error.validator:
        case "required" if isinstance(wanted, list) and isinstance(value, Mapping):
            missing = [name for name in wanted if name not in value]
            return f"{', '.join(f'{path}.{name}' if path else str(name) for name in missing)}: is missing"
        case "type":
            what = f"must be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}, not {_kind(value)}"
        case "enum":
            what = f"must be one of {json.dumps(wanted)[:_LONGEST_MESSAGE]}"
        case "maxLength" | "maxItems":
            what = f"is too long: {wanted} at most"
        case "minLength" | "minItems":
            what = f"is too short: {wanted} at least"
        case "maximum" | "minimum":
            what = f"must be {'at most' if error.validator == 'maximum' else 'at least'} {wanted}"
        case _:
            what = error.message[:_LONGEST_MESSAGE]
    return f"{path or 'arguments'}: {what}"


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case None:
            return "null"
        case str():
            return "string"
        case int() | float():
            return "number"
        case Mapping():
            return "object"
    return "array"


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters that a schema names, none where it names them in no way that can be used."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _unwrapped(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what stands in the one wrapper that the tool doesn't know."""
    if len(value) == 1:
        ((name, inner),) = value.items()
        inner = parse(inner) if isinstance(inner, str) else inner
        if name in _WRAPPERS and name not in properties_of(schema) and isinstance(inner, Mapping):
            return inner
    return value


def _named(value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under the names that the tool has, where another spelling can mean one of them only."""
    properties = properties_of(schema)
    spellings: dict[str, list[str]] = {}
    for name in properties:
        spellings.setdefault(plain_name(name), []).append(name)
    named: dict[str, Any] = {name: item for name, item in value.items() if name in properties}
    for name, item in value.items():
        if name not in properties:
            meant = spellings.get(plain_name(str(name)), [])
            fits = len(meant) == 1 and meant[0] not in named
            named[meant[0] if fits else str(name)] = item
    return named


def _allows_null(properties: Mapping[str, Any], name: str) -> bool:
    spec = properties.get(name)
    if not isinstance(spec, Mapping):
        return True
    kinds = spec.get("type")
    return "null" in kinds if isinstance(kinds, list) else kinds == "null" or kinds is None


def _of_type(value: Any, spec: Any) -> Any:
    """Return a value as the type that its schema has, where it was written as a string, or alone instead of in a list."""
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if isinstance(value, float) and kind == "integer" and value.is_integer():
        return int(value)
    if isinstance(value, str):
        text = value.strip()
        if kind in ("integer", "number") and (number := _number(text)) is not None:
            return int(number) if kind == "integer" and number == int(number) else number
        if kind == "boolean":
            return _BOOLEANS.get(text.lower(), value)
        if kind in ("object", "array") and text[:1] in ("{", "["):
            read = parse(text)
            return value if read is None else read
    if kind == "array" and isinstance(value, str | int | float) and _takes(value, spec.get("items")):
        return [value]
    return value


def _number(text: str) -> float | None:
    """Return the number that a text writes with a few digits, and a point at most."""
    parts = text.removeprefix("-").split(".")
    if len(parts) > 2 or not all(part.isdecimal() and len(part) <= _MOST_DIGITS for part in parts):
        return None
    return float(text) if len(parts) > 1 else int(text)


def _takes(value: object, items: Any) -> bool:
    wanted = items.get("type") if isinstance(items, Mapping) else None
    return wanted is None or wanted == _kind(value)


def names_of(names: list[str]) -> str:
    """Return a sentence about the tools that there are."""
    if not names:
        return "there are no tools"
    if len(names) == 1:
        return f"the only one is {names[0]}"
    shown = ", ".join(names[:_MOST_NAMED])
    return f"there are {shown}" + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
