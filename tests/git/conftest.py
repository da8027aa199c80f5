"""A repository with a commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import commit, run


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("def a():\n    return 1\n" * 5)
    (folder / "sub").mkdir()
    (folder / "sub" / "b c.py").write_text("b = 2\n")
    commit(folder)
    return folder
