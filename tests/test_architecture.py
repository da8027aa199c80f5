from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrel.core.types import LONGEST_QUERY
from carrel.engine.reviewer import MOST_SEARCHES

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "README.md"])
def test_every_path_that_a_document_names_exists(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", text))
    named |= set(re.findall(r"\]\(([^)#:]+)\)", text))
    known = {path for path in named if path.split("/")[0] in {p.name for p in ROOT.iterdir()}}
    assert [path for path in sorted(known) if not (ROOT / path).exists()] == []
    assert known


def test_the_readmes_two_commands_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_protocol_names_the_limits_that_hold() -> None:
    protocol = " ".join((ROOT / "docs/protocol.md").read_text(encoding="utf-8").split())
    for told in (
        f"runs the model's searches itself, at most {MOST_SEARCHES},",
        f"a `query` longer than {LONGEST_QUERY:,} characters the first and the last {LONGEST_QUERY // 2:,}",
    ):
        assert told in protocol


FORMATS = {
    "server/index_state.py": "the file .carrel/rag-state.json, whose form the specification gives",
    "server/allow_settings.py": "an object of settings files, whose keys are camelCase",
    "server/model_settings.py": "the objects of settings files, whose keys are camelCase",
    "server/source_settings.py": "the objects of settings files, whose keys are camelCase",
    "server/tool_settings.py": "likewise",
    "engine/catalogue/exports.py": "schemas as providers of models and MCP spell them",
    "server/store_settings.py": "an object of settings files, whose keys are camelCase",
    "server/settings_docs.py": "JSON schema's own keywords",
    "engine/documents/search_form.py": "the arguments of a tool, as a model spells them",
    "engine/search_tool.py": "the arguments of a tool, as a model spells them",
}
"""Modules below the front ends that write camelCase: each for a format of its own, none for the protocol's messages."""


def camel_case_keys(tree: ast.AST) -> Iterator[str]:
    """Find keys of dictionaries, fields that errors name, and structs that rename their fields."""
    for node in ast.walk(tree):
        found: list[ast.expr | None] = []
        match node:
            case ast.Dict(keys=keys):
                found += keys
            case ast.Subscript(slice=index, ctx=ast.Store()):
                found.append(index)
            case ast.Call(func=ast.Name("InvalidInput"), args=[field, *_]):
                found.append(field)
            case ast.Call(func=ast.Name("dict"), keywords=keywords):
                found += [ast.Constant(keyword.arg) for keyword in keywords]
            case ast.keyword(arg="rename", value=ast.Constant("camel")):
                yield "rename"
        for key in found:
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and re.fullmatch("[a-z]+[A-Z][A-Za-z]*", key.value):
                yield key.value


@pytest.mark.parametrize("layer", ["engine", "server"])
def test_names_on_the_wire_are_built_by_front_ends_only(layer: str) -> None:
    package = ROOT / "python" / "carrel"
    written = {
        path.relative_to(package).as_posix(): names
        for path in (package / layer).rglob("*.py")
        if (names := list(camel_case_keys(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert {module: names for module, names in written.items() if module not in FORMATS} == {}
    assert [module for module in FORMATS if module.startswith(layer) and module not in written] == [], "not needed any more"


def test_numbers_of_chunks_stay_in_the_core_and_the_engine() -> None:
    package = ROOT / "python/carrel"
    inside = {package / "core", package / "engine"}
    outer = [path for path in package.rglob("*.py") if not inside & set(path.parents)]
    names = {"doc", "read_current", "read_best", "describe", "evidence"}
    used = [
        f"{path.name}:{node.lineno} {node.attr}"
        for path in outer
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in names
    ]
    assert used == [], "outside, chunks are named by their ids"
    assert len(outer) > 50


def test_lines_are_counted_as_editors_count_them() -> None:
    used = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "python/carrel").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]
    assert used == [], "str.splitlines also cuts inside of lines: use carrel.core.lines, or split at the one end that is meant"
