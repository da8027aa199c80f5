"""Which endings mean prose stands in the core and in `kinds.py`: they have to agree."""

from __future__ import annotations

import re
from pathlib import Path

from carrel.model.kinds import _READ

CORE = Path("rust_core/core/src")


def prose_endings() -> set[str]:
    rows = re.findall(r"\w+ = \d+, \"\w+\", Prose, \[([^\]]*)\]", (CORE / "base/language/mod.rs").read_text("utf-8"))
    return {ending for row in rows for ending in re.findall(r'"([^"]+)"', row)}


def test_documents_are_what_the_core_reads_as_prose_and_notebooks() -> None:
    assert {*_READ} == prose_endings() | {"ipynb"}
