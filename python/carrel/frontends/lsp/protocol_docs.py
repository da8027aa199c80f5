"""Write what is generated from `messages` and settings: `python -m carrel.frontends.lsp.protocol_docs [FOLDER]`.

`docs/protocol.md` keeps its prose; what stands between its two markers is replaced. `editors/protocol.schema.json` is
a JSON schema of every struct, from which editors make their types. The template for LSP4IJ gets a schema of the settings.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from carrel.frontends.lsp.messages import ErrorData
from carrel.frontends.lsp.methods import CLIENT_REQUESTS, NOTIFICATIONS, PARTIAL_RESULTS, REQUESTS
from carrel.server.settings_docs import json_schema as settings_schema

BEGIN, END = "<!-- generated from messages.py: begin -->", "<!-- generated from messages.py: end -->"
DOC, SCHEMA = Path("docs/protocol.md"), Path("editors/protocol.schema.json")
LSP4IJ_SETTINGS = Path("editors/intellij/lsp4ij-template/settings.schema.json")


def schema() -> dict[str, Any]:
    """Return every struct under `$defs`, every request with its parameters and result."""
    pairs, singles = {**REQUESTS, **CLIENT_REQUESTS}, [*NOTIFICATIONS.values(), *PARTIAL_RESULTS.values(), ErrorData]
    kinds = [kind for pair in pairs.values() for kind in pair] + singles
    refs, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    ref = iter(refs)
    ends = {method: {"params": next(ref), "result": next(ref)} for method in pairs}
    notifications = {method: next(ref) for method in NOTIFICATIONS}
    partial_results = {method: next(ref) for method in PARTIAL_RESULTS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Carrel's own requests",
        "requests": {method: ends[method] for method in REQUESTS},
        "partialResults": partial_results,
        "clientRequests": {method: ends[method] for method in CLIENT_REQUESTS},
        "notifications": notifications,
        "errorData": next(ref),
        "$defs": {**dict(sorted(definitions.items())), "Settings": settings_schema()},
    }


def tables() -> str:
    """Return the generated part of the document."""
    whole = schema()
    head = ["| request | parameters | result | what it is for |", "| --- | --- | --- | --- |"]
    lines = ["## Requests", "", *head]
    lines += [_row(method, params, whole["requests"][method]) for method, (params, _) in REQUESTS.items()]
    lines += ["", "## Partial results", "", "| request | reported by `$/progress` |", "| --- | --- |"]
    lines += [f"| `{method}` | {_kind(ref)} |" for method, ref in whole["partialResults"].items()]
    lines += ["", "## Requests from the server", "", *head]
    lines += [_row(method, params, whole["clientRequests"][method]) for method, (params, _) in CLIENT_REQUESTS.items()]
    lines += ["", "## Notifications from the server", "", "| notification | parameters |", "| --- | --- |"]
    lines += [f"| `{method}` | {_kind(ref)} |" for method, ref in whole["notifications"].items()]
    lines += ["", "## Values", ""]
    for name, definition in whole["$defs"].items():
        if name != "Settings":
            lines += _struct(name, definition)
    return "\n".join(lines).rstrip() + "\n"


def _row(method: str, params: type[msgspec.Struct], ends: dict[str, Any]) -> str:
    summary = (params.__doc__ or "").split(": ", 1)[-1].split("\n", 1)[0]
    return f"| `{method}` | {_kind(ends['params'])} | {_kind(ends['result'])} | {summary} |"


def document(text: str) -> str:
    """Return the document with its generated part renewed."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables()}{END}{tail}"


def schema_text() -> str:
    """Return the schema file."""
    return _text(schema())


def lsp4ij_settings_text() -> str:
    """Return the schema of what a person types into LSP4IJ's configuration of the server: the settings with dotted names."""
    properties = {f"carrel.{key}": spec for key, spec in settings_schema()["properties"].items()}
    return _text(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Carrel's settings",
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
    )


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _struct(name: str, definition: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", definition.get("description", "").replace("\n", " "), ""]
    lines += ["| field | type | default | |", "| --- | --- | --- | --- |"]
    required = definition.get("required", ())
    for field, spec in definition["properties"].items():
        default = "required" if field in required else _default(spec)
        lines.append(f"| `{field}` | {_kind(spec)} | {default} | {spec.get('description', '').replace('|', chr(92) + '|')} |")
    return [*lines, ""]


def _default(spec: dict[str, Any]) -> str:
    return f"`{json.dumps(spec['default'])}`" if spec.get("default") is not None and "default" in spec else ""


def _kind(spec: dict[str, Any]) -> str:
    if "$ref" in spec:
        name = spec["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in spec:
        return " or ".join(_kind(one) for one in spec["anyOf"] if one.get("type") != "null")
    if "enum" in spec:
        return " or ".join(f'`"{value}"`' for value in sorted(spec["enum"]))
    if spec.get("type") == "array":
        items = spec.get("items")
        return f"list of {_kind(items)}" if items else "list"
    if spec.get("type") == "object":
        values = spec.get("additionalProperties")
        return f"object of {_kind(values)}" if isinstance(values, dict) and values else "object"
    bounds = [f"from {spec['minimum']}"] if "minimum" in spec else []
    bounds += [f"above {spec['exclusiveMinimum']}"] if "exclusiveMinimum" in spec else []
    bounds += [f"to {spec['maximum']}"] if "maximum" in spec else []
    return " ".join([spec.get("type", "any"), *bounds])


def main(folder: Path) -> None:
    """Write the files under `folder`."""
    target = folder / DOC
    target.write_text(document(target.read_text("utf-8")), "utf-8")
    for file, text in ((SCHEMA, schema_text()), (LSP4IJ_SETTINGS, lsp4ij_settings_text())):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
