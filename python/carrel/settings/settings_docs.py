"""Write `docs/settings.md` from `Settings`: `python -m carrel.settings.settings_docs [FILE]`."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from carrel.model import structs
from carrel.model.bounds import MOST
from carrel.model.types import Budget
from carrel.settings.settings import _HINTS, Settings, wire_name
from carrel.settings.source_settings import SourceSettings

_HEAD = """# Settings

```toml
ragEnabled = true
exclude = ["*.gen.ts"]
```

stands in `settings.toml` (or `settings.json`) in `~/.config/carrel` (macOS: `~/Library/Application Support/carrel`, Windows:
`%LOCALAPPDATA%\\carrel`). Editors send the same keys under `carrel` (`"carrel.ragEnabled": true`), which override that file. Of
`models`, `store`, `httpProxy`, `limits` and `audit` only those of VS Code, Neovim and IntelliJ do: others may read settings from
the project. A `.carrel.toml` in a workspace may narrow as the last column says.

A value that can't be used is reported, and the default stands. A file that can't be read stops what would read the workspace:
commands name the line, a server goes on with what it read before. Changes take effect without a restart.

| setting | type | default | what it does | `.carrel.toml` may |
| --- | --- | --- | --- | --- |
"""
_NARROWING = {
    "never": "not set it",
    "union": "add to it",
    "off": "switch it off",
    "lower": "lower it",
    "own": "not set it",
    "any": "set it",
}


def render() -> str:
    """Write the whole file."""
    rows = []
    for field in dataclasses.fields(Settings):
        cells = [
            f"`{wire_name(field.name)}`",
            _type(field.name),
            f"`{_default(field.name, field.default)}`",
            field.metadata["doc"],
            _NARROWING[field.metadata["workspace"]],
        ]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return _HEAD + "\n".join(rows) + "\n"


def json_schema() -> dict[str, Any]:
    """Make the JSON schema of the settings object, for editors' manifests, without what counts in the user's file only.

    `personOnly` marks what no settings file of a project may set, in editors that tell the two apart.
    """
    properties: dict[str, Any] = {}
    for field in dataclasses.fields(Settings):
        if field.metadata["workspace"] == "own":
            continue
        schema = _schema(field.name)
        schema["default"] = json.loads(_default(field.name, field.default))
        schema["description"] = field.metadata["doc"]
        if field.metadata["outward"] or field.metadata["place"]:
            schema["personOnly"] = True
        properties[wire_name(field.name)] = schema
    return {"type": "object", "properties": properties}


def _schema(name: str) -> dict[str, Any]:
    if name == "budget":
        amount = {"type": "integer", "minimum": 1, "maximum": MOST}
        return {
            "type": "object",
            "properties": {"chars": amount, "tokens": amount},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        }
    if name == "languages":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if name == "sources":
        return {"type": "object", "additionalProperties": structs.schema(SourceSettings)}
    hint = _HINTS[name]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return structs.schema(hint)
    return msgspec.json.schema(hint)


def _type(name: str) -> str:
    schema = _schema(name)
    if "enum" in schema:
        return " or ".join(f'`"{value}"`' for value in sorted(schema["enum"]))
    if schema["type"] == "array":
        return "strings"
    if "minimum" in schema:
        kind = "number" if schema["type"] == "number" else "whole number"
        return f"{kind}, {schema['minimum']} to {schema['maximum']}"
    return {"boolean": "true or false", "object": "object", "string": "string", "integer": "whole number"}[schema["type"]]


def _default(name: str, value: Any) -> str:
    if name in ("languages", "sources"):
        return "{}"
    if isinstance(value, Budget):
        return json.dumps({value.unit: value.amount})
    return msgspec.json.encode(value).decode() if isinstance(value, msgspec.Struct) else json.dumps(value)


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/settings.md").write_text(render(), "utf-8")
