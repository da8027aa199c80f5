"""Tools as function-calling schemas of OpenAI, Anthropic and MCP, under names that each of them takes.

Say which tools are there twice, and which differ though they have one name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from carrel.model.catalogue_tool import CatalogueTool, canonical
from carrel.model.patterns import as_name

ExportForm = Literal["openai", "anthropic", "mcp"]
_LONGEST_NAME = 64


def export(tools: Sequence[CatalogueTool], form: ExportForm) -> list[dict[str, Any]]:
    """Return the tools in the form that a request to such a model takes."""
    names = exported_names(tools)
    return [_exported(tool, names[tool.qualified], form) for tool in tools]


def exported_names(tools: Sequence[CatalogueTool]) -> dict[str, str]:
    """Return a name for each tool by its qualified one: its own where it is the only one, else with its source before it."""
    plain = {tool.qualified: as_name(tool.name)[:_LONGEST_NAME] for tool in tools}
    often = Counter(plain.values())
    names: dict[str, str] = {}
    for tool in tools:
        name = plain[tool.qualified]
        if often[name] > 1 or not name:
            whole = as_name(f"{tool.source}__{tool.name}")
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


def problems_of(tools: Sequence[CatalogueTool]) -> list[str]:
    """Return a sentence for each set of duplicates and each clash of names."""
    by_name: dict[str, list[CatalogueTool]] = {}
    for tool in tools:
        by_name.setdefault(tool.name, []).append(tool)
    problems = []
    for name, same in sorted(by_name.items()):
        if len(same) < 2:
            continue
        where = ", ".join(sorted(tool.qualified for tool in same))
        if len({canonical([tool.description, tool.schema]) for tool in same}) == 1:
            problems.append(f"{name} is there {len(same)} times, with one text and schema: {where}. Remove all sources but one.")
        else:
            problems.append(f"Different tools are called {name}: {where}. Name the one that you mean with its source.")
    return problems


def resolve(name: str, tools: Iterable[CatalogueTool]) -> tuple[CatalogueTool | None, str]:
    """Return the tool that a name means, by itself or with its source, or why there is none."""
    candidates = list(tools)
    exact = [tool for tool in candidates if tool.qualified == name]
    matches = exact or [tool for tool in candidates if tool.name == name]
    if len(matches) == 1:
        return matches[0], ""
    if matches:
        return None, f"{name} may be {' or '.join(sorted(tool.qualified for tool in matches))}: name it with its source"
    return None, f"tool {name} not allowed"
