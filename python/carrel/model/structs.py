"""Plain data to structs, with errors that name the field, and the structs' JSON schemas.

What editors, assistants and models send is never more than plain data: unknown fields are ignored, null counts as
missing, 3.0 counts as 3 (JSON has one kind of numbers), a wrong type is an `InvalidInput`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from carrel.model.bounds import MOST_WHOLE, plain_reason
from carrel.model.errors import InvalidInput

S = TypeVar("S", bound=Struct)
fields_of = cache(msgspec.structs.fields)
"""The fields of a type: msgspec evaluates its annotations anew at each call, which takes up to a millisecond."""


def decode(kind: type[S], raw: object) -> S:
    """Turn what was sent into `kind`; raises `InvalidInput` that names the field as it is spelled where it was sent."""
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise InvalidInput("params", "must be an object")
    try:
        return msgspec.convert(_plain_values(raw), kind)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None
    except RecursionError:
        raise InvalidInput("params", "is nested too deep") from None


def decode_call(kind: type[S], raw: object) -> S:
    """Turn the arguments of a tool's call into `kind`, as `decode` does; no text in them holds a NUL character."""
    value = decode(kind, raw)
    for field in fields_of(type(value)):
        held = getattr(value, field.name)
        for text in held if isinstance(held, tuple) else (held,):
            if isinstance(text, str) and "\0" in text:
                raise InvalidInput(field.encode_name, "holds a NUL character")
    return value


def whole_characters(text: str) -> str:
    """Replace halves of characters, which JSON can hold and UTF-8 can't."""
    return text.encode("utf-8", "replace").decode()


def schema(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct, without references: some clients can't follow them."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="{name}")
    inlined: dict[str, Any] = _inline(root, parts)
    return inlined


def _inline(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, parts) for item in node]
    if not isinstance(node, dict):
        return node
    if name := node.get("$ref"):
        node = {**parts[name], **{key: value for key, value in node.items() if key != "$ref"}}
    return {key: _inline(value, parts) for key, value in node.items() if key != "title" or not isinstance(value, str)}


def _invalid(error: msgspec.ValidationError) -> InvalidInput:
    where, reason = plain_reason(error)
    return InvalidInput(where.lstrip(".") or "params", reason)


def _plain_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_values(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain_values(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= MOST_WHOLE:
        return int(value)
    return value
