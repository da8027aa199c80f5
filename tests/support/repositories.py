"""Git repositories that tests make."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit: its hash, the first line of its message, and the files under the folder that it changed and that remained."""

    sha: str
    subject: str
    paths: tuple[str, ...]
    author: str = ""


def history(folder: Path, limit: int) -> list[CommitRecord] | None:
    """List the newest commits, merges left out, that wrote a file under `folder`; those that only deleted are left out too."""
    records: list[CommitRecord] = []

    def take(fields: Sequence[str]) -> None:
        sha, author, subject, names = fields
        records.append(CommitRecord(sha, git._legible(subject), git._paths(names), git._legible(author)))

    which = ("--no-merges", "--diff-filter=d", f"--max-count={limit}")
    whole = git._commits(folder, take, ("%an", "%s"), *which, seconds=git.LOG_SECONDS)
    return records if records or whole else None


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
