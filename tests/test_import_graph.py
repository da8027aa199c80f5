"""No modules of the package import each other in a circle, and docs/architecture-graph.md draws its packages as they are.

After a change, print the drawing with `python tests/test_import_graph.py`.
"""

from __future__ import annotations

from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
FRONTENDS = "carrel.frontends."


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("carrel")
    assert circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}) == []


def test_the_search_for_circles_finds_them() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_the_drawing_of_the_packages_is_the_import_graph() -> None:
    assert drawing() in (ROOT / "docs/architecture-graph.md").read_text(encoding="utf-8")


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other."""
    reach: dict[str, set[str]] = {}
    for start in imports:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for module in imports.get(todo.pop(), ()):
                if module not in seen:
                    seen.add(module)
                    todo.append(module)
        reach[start] = seen
    groups = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in imports if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def drawing() -> str:
    """Return the packages and their imports as a Mermaid diagram; the core, which all import, is left out of the arrows."""
    graph = grimp.build_graph("carrel")
    arrows = {
        (_package(module), _package(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    shown: dict[str, list[str]] = {}
    for importer, imported in sorted(arrows):
        if imported not in {importer, "model", "carrel"} and importer != "carrel":
            shown.setdefault(importer, []).append(imported)
    lines = ["```mermaid", "flowchart TD"]
    lines += [f" {importer} --> {' & '.join(imported)}" for importer, imported in shown.items()]
    return "\n".join([*lines, "```"])


def _package(module: str) -> str:
    if module.startswith(FRONTENDS):
        return module.removeprefix(FRONTENDS).partition(".")[0]
    return module.removeprefix("carrel.").partition(".")[0]


if __name__ == "__main__":
    print(drawing())
