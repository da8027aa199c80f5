"""Read the operations of an OpenAPI document (3.x, and parameters of 2.0) as tools; references within it are followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from carrel.core.catalogue_tool import CatalogueTool
from carrel.engine.catalogue.files import from_file

_READING = ("get", "head")
_METHODS = (*_READING, "post", "put", "patch", "delete")
_MOST_NODES = 2_000
"""Of one operation's schema: references may multiply."""
_DEEPEST = 20


def from_openapi(document: object, source: str) -> tuple[list[CatalogueTool], list[str]]:
    """Return a tool for each operation, and what is wrong with the others."""
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(paths, Mapping):
        return [], [f"{source}: is not an OpenAPI document: it has no `paths`"]
    rows = [_row(document, path, shared, method, operation) for path, shared, method, operation in _operations(document, paths)]
    return from_file({"tools": rows}, source)


def _operations(
    document: Mapping[str, Any], paths: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    for path, item in paths.items():
        at = _Resolver(document).whole(item)
        if not isinstance(at, Mapping):
            continue
        for method in _METHODS:
            if isinstance(operation := at.get(method), Mapping):
                yield str(path), at, method, operation


def _row(
    document: Mapping[str, Any], path: str, shared: Mapping[str, Any], method: str, operation: Mapping[str, Any]
) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    resolver = _Resolver(document)
    for parameter in (*_list(shared.get("parameters")), *_list(operation.get("parameters"))):
        known = resolver.whole(parameter)
        if not isinstance(known, Mapping) or not isinstance(known.get("name"), str):
            continue
        name = "body" if known.get("in") == "body" else known["name"]
        schema = known.get("schema")
        schema = (
            dict(schema) if isinstance(schema, Mapping) else {"type": known["type"]} if isinstance(known.get("type"), str) else {}
        )
        if isinstance(known.get("description"), str):
            schema.setdefault("description", known["description"])
        properties[name] = schema
        if known.get("required") is True and name not in required:
            required.append(name)
    body = resolver.whole(operation.get("requestBody"))
    if isinstance(body, Mapping) and isinstance(content := body.get("content"), Mapping):
        media = content.get("application/json") or next(iter(content.values()), None)
        properties["body"] = (
            dict(media["schema"]) if isinstance(media, Mapping) and isinstance(media.get("schema"), Mapping) else {}
        )
        if body.get("required") is True:
            required.append("body")
    name = operation.get("operationId")
    told = [text for key in ("summary", "description") if isinstance(text := operation.get(key), str)]
    return {
        "name": re.sub(r"[^\w./:-]+", "_", name if isinstance(name, str) else f"{method}_{path}").strip("_/") or method,
        "description": "\n".join(dict.fromkeys(told)) or f"{method.upper()} {path}",
        "tags": [tag for tag in _list(operation.get("tags")) if isinstance(tag, str)],
        "risk": "moderate" if method in _READING else "dangerous",
        "schema": {"type": "object", "properties": properties, **({"required": required} if required else {})},
    }


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


class _Resolver:
    """Replaces references by what they name in the document; one that leads on too far stands for anything."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left = _MOST_NODES

    def whole(self, node: Any, depth: int = 0, inside: frozenset[str] = frozenset()) -> Any:
        """Return a node without references; `inside` are those that lead to it, which would go round in a circle."""
        if not isinstance(node, list | Mapping):
            return node
        self._left -= 1
        spent = depth > _DEEPEST or self._left < 0
        if isinstance(node, list):
            return [] if spent else [self.whole(item, depth + 1, inside) for item in node[:200]]
        reference = node.get("$ref")
        if spent or (isinstance(reference, str) and reference in inside):
            return {}
        if isinstance(reference, str):
            return self.whole(self._at(reference), depth + 1, inside | {reference})
        return {str(key): self.whole(value, depth + 1, inside) for key, value in node.items()}

    def _at(self, reference: str) -> Any:
        """Return what a reference names; nothing outside the document is looked up."""
        found: Any = self._document
        if not reference.startswith("#/"):
            return {}
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}
