"""The tools as `tools/list` gives them: `python -m carrel.frontends.mcp.manifest` writes them down from the code.

Loading the code that answers takes longer than a client should wait for its tools. A test compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from carrel.frontends.mcp.tools import TOOLS, Tool
from carrel.model.structs import schema

FILE = Path(__file__).with_name("manifest.json")
_BOUNDS = ("maxLength", "minLength", "maxItems")
_UNLISTED = ("history", "model", "containers", "assess")
"""Arguments that programs use and models hardly ever; every agent sends the manifest with each request."""


def manifest() -> dict[str, dict[str, Any]]:
    """Return each tool by its name, short: what a model needs to call it. Calls are checked in full."""
    return {name: _listed(tool) for name, tool in TOOLS.items()}


def output_schemas() -> dict[str, Any]:
    """Return the schema of each tool's structured result."""
    return {name: schema(tool.result) for name, tool in TOOLS.items()}


def _listed(tool: Tool) -> dict[str, Any]:
    arguments = schema(tool.arguments)
    arguments.pop("description", None)
    arguments["properties"] = {name: _brief(value) for name, value in arguments["properties"].items() if name not in _UNLISTED}
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": arguments,
        "annotations": {
            "readOnlyHint": tool.reads_only,
            "destructiveHint": False,
            "idempotentHint": tool.reads_only,
            "openWorldHint": not tool.reads_only,
        },
    }


def _brief(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in _BOUNDS and (key != "default" or value)}
    return {**kept, "items": _brief(kept["items"])} if "items" in kept else kept


def written() -> str:
    """Return the text of the file."""
    return json.dumps(manifest(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
