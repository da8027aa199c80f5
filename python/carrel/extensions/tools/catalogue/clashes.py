"""Say which tools are there twice, and which differ though they have one name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from carrel.model.catalogue_tool import CatalogueTool, canonical


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
    known = list(tools)
    exact = [tool for tool in known if tool.qualified == name]
    found = exact or [tool for tool in known if tool.name == name]
    if len(found) == 1:
        return found[0], ""
    if found:
        return None, f"{name} may be {' or '.join(sorted(tool.qualified for tool in found))}: name it with its source"
    return None, f"tool {name} not allowed"
