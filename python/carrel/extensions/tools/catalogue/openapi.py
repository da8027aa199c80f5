"""Read the operations of an OpenAPI document (3.x, and parameters of 2.0) as tools; references within it are followed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from carrel.extensions.tools.catalogue.files import MOST_TOOLS, from_file
from carrel.model.catalogue_tool import CatalogueTool, HttpCall, HttpKey, HttpParameter, same_parameter
from carrel.model.patterns import lazy_pattern

_READING = ("get", "head")
_METHODS = (*_READING, "post", "put", "patch", "delete")
_MOST_NODES = 2_000
"""Of one operation's parameters and body: references may multiply."""
_MOST_ITEMS = 200
_MOST_KEYS = 3
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_LONGEST_REFERENCE = 2_000
_DEEPEST = 20
_PATH = lazy_pattern(r"(?:/(?!\.{1,2}(?:[/;]|$))[\w.~!$&'()*+,;=:@{}-]+)*/?", re.ASCII)
"""A path that stays below the service's address: no encoded characters, no `..`, nothing that begins a query or another host."""
_HEADER = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_NOT_PARAMETERS = frozenset(
    """
    accept accept-encoding authorization connection content-encoding content-length content-type cookie cookie2 expect forwarded
    host http2-settings keep-alive origin remote-user te trailer transfer-encoding upgrade user-agent via x-forwarded x-host
    x-real-ip x-remote-user
    """.split()  # noqa: SIM905 - a list of words reads best as text
)
_NOT_BEGINNINGS = ("proxy-", "x-forwarded-", "x-http-", "x-original-", "x-rewrite-")
"""Headers that no argument may set: they say who asks, whom, by which method, and how the message is read."""


def from_openapi(document: object, source: str) -> tuple[list[CatalogueTool], list[str]]:
    """Return a tool for each operation, and what is wrong with the others. One that can be run has a `call`."""
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(paths, Mapping):
        return [], [f"{source}: is not an OpenAPI document: it has no `paths`"]
    # One more than are kept, so that the rest is told.
    operations = [_Operation(document, *place) for place in islice(_operations(document, paths), MOST_TOOLS + 1)]
    tools, problems = from_file({"tools": [operation.row for operation in operations]}, source)
    calls: dict[str, HttpCall | None] = {}
    for operation in operations:
        calls.setdefault(str(operation.row["name"]), operation.call)
    return [replace(tool, call=calls[tool.name]) for tool in tools], problems


def _operations(
    document: Mapping[str, Any], paths: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
    for path, item in islice(paths.items(), MOST_TOOLS + 1):
        at = _Resolver(document).named(item)
        if not isinstance(at, Mapping):
            continue
        for method in _METHODS:
            if isinstance(operation := at.get(method), Mapping):
                yield str(path), at, method, operation


class _Operation:
    """One operation: `row` is what is told of it, `call` how it is asked, or None where that can't be done."""

    def __init__(
        self, document: Mapping[str, Any], path: str, shared: Mapping[str, Any], method: str, operation: Mapping[str, Any]
    ) -> None:
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._sent: list[HttpParameter] = []
        self._old_form: list[Mapping[str, Any]] = []
        # Another address for some operations is none that the person agreed to.
        self._can_run = not (shared.get("servers") or operation.get("servers")) and _is_well_formed(document, shared, operation)
        resolver = _Resolver(document)
        for parameter in _parameters(resolver, shared, operation):
            if isinstance(parameter.get("name"), str):
                self._take(parameter)
            else:  # what it refers to isn't in the document
                self._can_run = False
        given_body = resolver.whole(operation.get("requestBody"))
        if "requestBody" in operation and not (
            isinstance(given_body, Mapping) and isinstance(given_body.get("content"), Mapping)
        ):
            self._can_run = False
        body = self._take_body(given_body) or self._take_old_form(document, operation)
        keys, keys_are_complete = _keys_of(document, resolver, operation)
        # What was cut, or isn't there, may have said anything of how the operation is asked.
        self._can_run = self._can_run and resolver.complete and not any(_is_key(sent, key) for sent in self._sent for key in keys)
        path_names = sorted(re.findall(r"\{([^{}]*)\}", path))
        sent_names = sorted(sent.name for sent in self._sent if sent.place == "path")
        if self._can_run and keys_are_complete and path_names == sent_names and _PATH.fullmatch(path):
            self.call: HttpCall | None = HttpCall(
                method.upper(), path, tuple(self._sent), body, self._is_form, self._form_fields if self._is_form else None, keys
            )
        else:
            self.call = None
        name = operation.get("operationId")
        texts = [text for key in ("summary", "description") if isinstance(text := operation.get(key), str)]
        self.row = {
            "name": re.sub(r"[^\w./:-]+", "_", name if isinstance(name, str) else f"{method}_{path}").strip("_/") or method,
            "description": "\n".join(dict.fromkeys(texts)) or f"{method.upper()} {path}",
            "tags": [tag for tag in _list(operation.get("tags")) if isinstance(tag, str)],
            "risk": "moderate" if method in _READING else "dangerous",
            "schema": {
                "type": "object",
                "properties": self._properties,
                **({"required": self._required} if self._required else {}),
            },
        }

    def _take(self, parameter: Mapping[str, Any]) -> None:
        place, name = parameter.get("in"), parameter["name"]
        if place == "formData":
            self._old_form.append(parameter)
            return
        if place == "header" and _is_reserved(name):
            self._can_run = self._can_run and parameter.get("required") is not True
            return  # OpenAPI says of some that they count for nothing; the others are the client's own
        schema = parameter.get("schema")
        schema = dict(schema) if isinstance(schema, Mapping) else _old_schema(parameter)
        if isinstance(parameter.get("description"), str):
            schema.setdefault("description", parameter["description"])
        required = parameter.get("required") is True or place == "path"
        argument = self._property("body" if place == "body" else name, str(place), schema, required=required)
        if place in ("path", "query", "header"):
            delimiter = _delimiter(parameter, place)
            fits = place != "header" or _HEADER.fullmatch(name) is not None
            deep = parameter.get("style") == "deepObject"
            if not fits or (deep and place != "query") or parameter.get("style") in ("matrix", "label") or "content" in parameter:
                self._can_run = False
            spread = place == "query" and not deep and not delimiter
            self._sent.append(HttpParameter(argument, name, place, delimiter, deep, _fields(schema) if spread else None))
        elif place == "body":
            self._old_body = argument
        elif required:
            self._can_run = False

    _old_body = ""
    _is_form = False
    _form_fields: tuple[str, ...] | None = None

    def _take_body(self, body: object) -> str:
        """Take the body's schema, and return its argument; empty where there is none."""
        if not isinstance(body, Mapping) or not isinstance(content := body.get("content"), Mapping):
            return self._old_body
        kind = next((kind for kind in (_JSON, _FORM) if kind in content), "")
        media = content[kind] if kind else next(iter(content.values()), None)
        schema = dict(media["schema"]) if isinstance(media, Mapping) and isinstance(media.get("schema"), Mapping) else {}
        if kind == _FORM:
            self._is_form, self._form_fields = True, _fields(schema)
        # How a part of a form is written may be the document's to say.
        if not kind or (kind == _FORM and isinstance(media, Mapping) and media.get("encoding")):
            self._can_run = False
        return self._property("body", "request", schema, required=body.get("required") is True)

    def _take_old_form(self, document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
        """Take the fields of a form as OpenAPI 2 has them, among the parameters, as one argument."""
        if not self._old_form:
            return ""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for parameter in self._old_form:
            schema = _old_schema(parameter)
            if isinstance(parameter.get("description"), str):
                schema["description"] = parameter["description"]
            if schema.get("type") == "file" or schema.get("type") == "array":  # arrays have styles of their own
                self._can_run = False
            properties[parameter["name"]] = schema
            required += [parameter["name"]] if parameter.get("required") is True else []
        if _FORM not in _list(operation.get("consumes", document.get("consumes", [_FORM]))):
            self._can_run = False
        self._is_form, self._form_fields = True, tuple(properties)
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return self._property("body", "request", schema, required=bool(required))

    def _property(self, name: str, place: str, schema: dict[str, Any], *, required: bool) -> str:
        """Add an argument; one name may stand in two places."""
        argument, number = name if name not in self._properties else f"{place}_{name}", 2
        while argument in self._properties:
            argument, number = f"{place}_{name}_{number}", number + 1
        self._properties[argument] = schema
        if required and argument not in self._required:
            self._required.append(argument)
        return argument


def _parameters(resolver: _Resolver, shared: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the parameters of a path and an operation; the operation's replace those of the path."""
    parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
    for parameter in (*_list(shared.get("parameters")), *_list(operation.get("parameters"))):
        whole = resolver.whole(parameter)
        if isinstance(whole, Mapping):
            name, place = str(whole.get("name")), str(whole.get("in"))
            parameters[name.lower() if place == "header" else name, place] = whole
    return parameters.values()


def _is_well_formed(document: Mapping[str, Any], shared: Mapping[str, Any], operation: Mapping[str, Any]) -> bool:
    """Tell whether what says how an operation is asked has the form that OpenAPI gives it."""
    lists = [
        shared.get("parameters", []),
        operation.get("parameters", []),
        operation.get("security", document.get("security", [])),
    ]
    return all(isinstance(rows, list) and all(isinstance(item, Mapping) for item in rows) for rows in lists)


def _old_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter of OpenAPI 2, whose type stands in itself."""
    return {
        key: parameter[key]
        for key in ("type", "enum", "items")
        if key in parameter and parameter["type" if key == "items" else key]
    }


def _delimiter(parameter: Mapping[str, Any], place: str) -> str:
    """Return what joins a list's items; empty where the name is repeated."""
    style, old = parameter.get("style"), parameter.get("collectionFormat")
    if style in ("spaceDelimited", "pipeDelimited"):
        return " " if style == "spaceDelimited" else "|"
    if old is not None:
        return {"ssv": " ", "tsv": "\t", "pipes": "|", "multi": ""}.get(str(old), ",")
    repeated = place == "query" and (parameter.get("explode", True) is not False if "schema" in parameter else False)
    return "" if repeated else ","


def _fields(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the names that the fields of an object may have; None where its schema leaves them open."""
    if any(schema.get(joined) for joined in ("allOf", "anyOf", "oneOf")):
        return None
    if isinstance(schema.get("properties"), Mapping) and schema.get("additionalProperties") in (None, False):
        return tuple(schema["properties"])
    return () if schema.get("additionalProperties") is False else None


def _keys_of(document: Mapping[str, Any], resolver: _Resolver, operation: Mapping[str, Any]) -> tuple[tuple[HttpKey, ...], bool]:
    """Return where the keys of an operation go, and whether what it asks for is known. The choice with fewest keys counts."""
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, Mapping) else document.get("securityDefinitions")
    security = _list(operation.get("security", document.get("security")))
    wanted = [item for item in security[:_MOST_ITEMS] if isinstance(item, Mapping)]
    for names in sorted((names for names in wanted if 0 < len(names) <= _MOST_KEYS), key=len):
        choice = [(name, resolver.whole(schemes.get(name))) for name in names] if isinstance(schemes, Mapping) else []
        places = [_place_of_key(scheme, str(name)) for name, scheme in choice if isinstance(scheme, Mapping)]
        keys = tuple(key for key in places if key is not None)
        if len(keys) == len(names) and len({(key.place, key.name.lower()) for key in keys}) == len(keys):
            return keys, True
    return (), not wanted or {} in wanted


def _place_of_key(scheme: Mapping[str, Any], called: str) -> HttpKey | None:
    kind, place, name = scheme.get("type"), scheme.get("in"), scheme.get("name")
    http = str(scheme.get("scheme")).lower() if kind == "http" else ""
    if kind in ("oauth2", "openIdConnect") or http == "bearer":
        return HttpKey("header", "Authorization", "bearer", called)
    if kind == "basic" or http == "basic":  # the first as OpenAPI 2 has it
        return HttpKey("header", "Authorization", "basic", called)
    if kind == "apiKey" and place in ("header", "query", "cookie") and isinstance(name, str) and _HEADER.fullmatch(name):
        is_set_by_client = place == "header" and name.lower() != "authorization" and _is_reserved(name)
        return None if is_set_by_client else HttpKey(place, name, scheme=called)
    return None


def _is_reserved(header: str) -> bool:
    plain = header.lower().replace("_", "-")  # some servers read both as the same
    return plain in _NOT_PARAMETERS or plain.startswith(_NOT_BEGINNINGS) or plain.endswith("-override")


def _is_key(sent: HttpParameter, key: HttpKey) -> bool:
    """Tell whether an argument would stand where the key does."""
    return sent.place == key.place and same_parameter(sent.name, key.name)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


class _Resolver:
    """Replaces references by what they name in the document; one that goes round in a circle stands for anything.

    `complete` is false after something was left out: what is too much or too deep, or isn't in the document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left = _MOST_NODES
        self.complete = True

    def named(self, node: Any) -> Any:
        """Return a node, or what it refers to; references within stay."""
        for _ in range(_DEEPEST):
            if not isinstance(node, Mapping) or not isinstance(reference := node.get("$ref"), str):
                return node
            node = self._at(reference)
        return {}

    def whole(self, node: Any, depth: int = 0, inside: frozenset[str] = frozenset()) -> Any:
        """Return a node without references; `inside` are those that lead to it, which would go round in a circle."""
        if not isinstance(node, list | Mapping):
            return node
        self._left -= 1
        spent = depth > _DEEPEST or self._left < 0
        if spent or (isinstance(node, list) and len(node) > _MOST_ITEMS):
            self.complete = False
        if isinstance(node, list):
            return [] if spent else [self.whole(item, depth + 1, inside) for item in node[:_MOST_ITEMS]]
        reference = node.get("$ref")
        if spent or (isinstance(reference, str) and reference in inside):
            return {}
        if isinstance(reference, str):
            return self.whole(self._at(reference), depth + 1, inside | {reference})
        return {str(key): self.whole(value, depth + 1, inside) for key, value in node.items()}

    def _at(self, reference: str) -> Any:
        """Return what a reference names; nothing outside the document is looked up."""
        value: Any = self._document
        parts = reference[2:].split("/") if reference.startswith("#/") and len(reference) <= _LONGEST_REFERENCE else ["", ""]
        for part in parts:
            key = part.replace("~1", "/").replace("~0", "~")
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping):
            return value
        self.complete = False
        return {}
