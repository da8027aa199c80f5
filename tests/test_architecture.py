from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrel.agent.reviewer import MOST_SEARCHES
from carrel.model.types import LONGEST_QUERY

ROOT = Path(__file__).parent.parent


PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DOCUMENTS = [*PAGES, *sorted((ROOT / "training").glob("*.md")), *sorted((ROOT / "editors").glob("*/*.md"))]
LARGEST = {
    "README.md": 6,
    "ARCHITECTURE.md": 12,
    "CHANGELOG.md": 4,
    "docs/quality.md": 16,
    "docs/security.md": 12,
    "docs/protocol.md": 10,
}
"""Pages that people read from end to end, in kilobytes."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_path_and_link_of_a_document_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    tops = {path.name for path in ROOT.iterdir()}
    named = {path for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", text) if path.split("/")[0] in tops}
    assert [path for path in sorted(named) if not (ROOT / path).exists() and not path.endswith("/target")] == []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = link.partition("#")
        if ":" not in link and "/" not in link[:1]:
            target = document.parent / path if path else document
            assert target.exists(), link
            assert not heading or heading in headings(target), link


def headings(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_that_a_message_names_exists() -> None:
    files = [*(ROOT / "python").rglob("*.py"), ROOT / "Makefile", *(ROOT / "editors/vscode").glob("package*.json")]
    named = {page for file in files for page in re.findall(r"\bdocs/(?:dev/)?[a-z-]+\.md\b", file.read_text(encoding="utf-8"))}
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []
    assert len(named) > 5


def test_documents_keep_to_their_sizes() -> None:
    sizes = {page.relative_to(ROOT).as_posix(): page.stat().st_size for page in PAGES}
    assert {page: sizes[page] for page, most in LARGEST.items() if sizes[page] > 1_000 * most} == {}
    assert sum(sizes.values()) <= 204_800


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
    "index/open_index.py": "the file .carrel/rag-state.json, whose form the specification gives",
    "settings/allow_settings.py": "an object of settings files, whose keys are camelCase",
    "settings/model_settings.py": "the objects of settings files, whose keys are camelCase",
    "settings/source_settings.py": "the objects of settings files, whose keys are camelCase",
    "settings/tool_settings.py": "likewise",
    "extensions/tools/catalogue/files.py": "JSON schema's own keywords",
    "extensions/tools/catalogue/exports.py": "schemas as providers of models and MCP spell them",
    "settings/store_settings.py": "an object of settings files, whose keys are camelCase",
    "settings/settings_docs.py": "JSON schema's own keywords",
    "agent/knowledge_form.py": "the arguments of a tool, as a model spells them",
    "agent/search_tool.py": "the arguments of a tool, as a model spells them",
}
"""Modules below the front ends that write camelCase: each for a format of its own, none for the protocol's messages."""


NAMES_OF_OTHERS = {"frontends", "providers", "selftest"}
"""Packages that speak formats of their own or of services."""


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


def test_names_on_the_wire_are_built_by_front_ends_only() -> None:
    package = ROOT / "python" / "carrel"
    written = {
        path.relative_to(package).as_posix(): names
        for folder in package.iterdir()
        if folder.is_dir() and folder.name not in NAMES_OF_OTHERS
        for path in folder.rglob("*.py")
        if (names := list(camel_case_keys(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert {module: names for module, names in written.items() if module not in FORMATS} == {}
    assert [module for module in FORMATS if module not in written] == [], "not needed any more"


def test_numbers_of_chunks_stay_below_services() -> None:
    package = ROOT / "python/carrel"
    inside = {
        package / name for name in ("model", "question", "search", "pack", "assist", "agent", "index", "extensions", "sources")
    }
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
    assert used == [], "str.splitlines also cuts inside of lines: use carrel.model.lines, or split at the one end that is meant"
