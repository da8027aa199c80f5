"""The part of a tool's JSON schema that can be checked in work that is linear in the arguments.

Schemas come from servers of others, and checking runs where everything else waits: a pattern may take hours for forty
characters, and references that double at each level as long. What is left out here the tool itself still checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_PARTS = 2_000
"""Parts of a schema that are looked at; the rest takes anything."""
MOST_DEPTH = 30
_KEPT = frozenset(
    {
        *("type", "enum", "const", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    }
)


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without patterns, references, conditions and combinations."""
    left = MOST_PARTS

    def plain(part: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if not isinstance(part, Mapping):
            return part if isinstance(part, bool) else {}
        if left < 0 or depth > MOST_DEPTH:
            return {}
        kept = {key: value for key, value in part.items() if key in _KEPT}
        _modernise(kept)
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            kept["properties"] = {name: plain(inner, depth + 1) for name, inner in properties.items()}
        for key in ("items", "additionalProperties"):
            # Without its patterns nobody knows which names they allow.
            if key in part and not (key == "additionalProperties" and "patternProperties" in part):
                kept[key] = plain(part[key], depth + 1)
        return kept

    return dict(plain(schema, 0))


def _modernise(part: dict[str, Any]) -> None:
    """Read what is a boolean before draft 6 as it was meant then: whether the bound itself is left out. `required` on a property
    says nothing about its own value.
    """
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(part.get(exclusive), bool) and part.pop(exclusive) and bound in part:
            part[exclusive] = part.pop(bound)
    if isinstance(part.get("required"), bool):
        del part["required"]
