from __future__ import annotations

import ast
import re
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
