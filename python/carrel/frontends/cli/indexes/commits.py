"""The commits of a folder, or why there are none to be had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from carrel.model.errors import CarrelError

if TYPE_CHECKING:
    from carrel.git.git import CommitRecord


def commits_of(root: Path, most: int, use: str) -> tuple[list[CommitRecord], str]:
    """Return the newest commits that changed something in a folder, and what is checked out; `use` is what they are for.

    Raises `CarrelError` where there are none.
    """
    from carrel.git.git import head, history
    from carrel.git.git_ownership import foreign
    from carrel.git.git_process import git_program

    if git_program(root) is None:
        raise CarrelError(f"git is not found on PATH, and the history to {use} can't be read without it", "Install git.")
    newest = head(root)
    if newest is None:
        raise CarrelError(f"{root} has no git history to {use}", "Give a folder inside a repository.")
    if why := foreign(root):
        raise CarrelError(f"The git history of {root} isn't read: {why}")
    commits = history(root, most)
    if commits is None:
        raise CarrelError(
            f"The git history of {root} can't be read: git failed, or took too long",
            "Give a folder with less history, or a whole clone where this one is partial.",
        )
    return commits, newest
