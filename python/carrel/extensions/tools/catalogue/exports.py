"""Tools as function-calling schemas of OpenAI, Anthropic and MCP, under names that each of them takes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from carrel.model.catalogue_tool import CatalogueTool
from carrel.model.patterns import lazy_pattern

ExportForm = Literal["openai", "anthropic", "mcp"]
_LONGEST_NAME = 64
_NOT_IN_NAMES = lazy_pattern(r"[^a-zA-Z0-9_-]")


def export(tools: Sequence[CatalogueTool], form: ExportForm) -> list[dict[str, Any]]:
    """Return the tools in the form that a request to such a model takes."""
    names = exported_names(tools)
    return [_exported(tool, names[tool.qualified], form) for tool in tools]


def exported_names(tools: Sequence[CatalogueTool]) -> dict[str, str]:
    """Return a name for each tool by its qualified one: its own where it is the only one, else with its source before it."""
    plain = {tool.qualified: _NOT_IN_NAMES.sub("_", tool.name)[:_LONGEST_NAME] for tool in tools}
    often = Counter(plain.values())
    names: dict[str, str] = {}
    for tool in tools:
        name = plain[tool.qualified]
        if often[name] > 1 or not name:
            whole = _NOT_IN_NAMES.sub("_", f"{tool.source}__{tool.name}")
            name = whole if len(whole) <= _LONGEST_NAME and whole not in names.values() else _shortened(whole, tool)
        names[tool.qualified] = name
    return names


def _shortened(name: str, tool: CatalogueTool) -> str:
    mark = hashlib.sha256(tool.qualified.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: _LONGEST_NAME - 9]}_{mark}"


def _exported(tool: CatalogueTool, name: str, form: ExportForm) -> dict[str, Any]:
    description = "\n".join([tool.description, *(f"Example: {example}" for example in tool.examples)])
    schema = {"type": "object", **tool.schema}
    if form == "openai":
        return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
    if form == "anthropic":
        return {"name": name, "description": description, "input_schema": schema}
    exported = {"name": name, "description": description, "inputSchema": schema}
    return exported if tool.output_schema is None else {**exported, "outputSchema": dict(tool.output_schema)}
