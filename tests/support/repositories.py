"""Git repositories that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from carrel.git import git


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def logged(folder: Path, *, limit: int = 10, since: str | None = None) -> list[git.LoggedCommit] | None:
    found: list[git.LoggedCommit] = []
    return found if git.log(folder, found.append, limit=limit, since=since) else None


def commit(folder: Path, message: str = "change") -> str:
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", message, "--allow-empty")
    return run(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit."""
    folder = tmp_path / "repo"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("def a():\n    return 1\n" * 5)
    (folder / "sub").mkdir()
    (folder / "sub" / "b c.py").write_text("b = 2\n")
    commit(folder)
    return folder
