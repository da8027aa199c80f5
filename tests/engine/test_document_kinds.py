"""Which endings mean prose stands in the core, in its ranking and in `kinds.py`: they have to agree."""

from __future__ import annotations

import re
from pathlib import Path

from carrel.engine.documents.kinds import _READ

CORE = Path("rust_core/core/src")
NOT_RANKED_AS_PROSE = {"mkd", "qmd", "rmd", "rest", "text", "asciidoc", "textile", "tex"}
"""Left out of the ranking's pattern: putting them in needs the quality figures measured again."""


def prose_endings() -> set[str]:
    rows = re.findall(r"\w+ = \d+, \"\w+\", Prose, \[([^\]]*)\]", (CORE / "base/language.rs").read_text("utf-8"))
    return {ending for row in rows for ending in re.findall(r'"([^"]+)"', row)}


def ranked_as_prose() -> set[str]:
    source = (CORE / "query/ranking/kinds.rs").read_text("utf-8")
    pattern = re.search(r'PathKind::Prose, (r"[^"]*")', source)
    assert pattern
    matches = re.compile(pattern[1][2:-1])
    return {ending for ending in {*prose_endings(), *_READ} if matches.search(f"a.{ending}")}


def test_documents_are_what_the_core_reads_as_prose_and_notebooks() -> None:
    assert {*_READ} == prose_endings() | {"ipynb"}


def test_the_ranking_knows_the_same_endings() -> None:
    assert ranked_as_prose() == {*_READ} - NOT_RANKED_AS_PROSE
