"""Decide whether the commits that git finds for a folder are that folder's own.

What came with a folder may lead to another repository of the person (a file `.git`, a `commondir`, links, objects that are
borrowed), and its commits would be given to a model. They are given only where the other repository, or the person, knows of it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from carrel.git.git_process import NoAnswer, answer
from carrel.system.system_fault import is_system_fault

_REMEMBERED_SECONDS = 60.0
"""How long it is remembered whose repository a folder has."""
BORROWING = "carrel.sharedObjects"
"""Names in the person's own git configuration folders whose objects a repository may borrow. A repository's own doesn't count."""
_ALTERNATES = "info/alternates"
_MOST_ALTERNATES = 1_000_000
"""Bytes of the file that names them."""
_LOOSE = tuple(f"{first:02x}" for first in range(256))
"""The folders of objects that are files of their own."""


def foreign(folder: Path) -> str:
    """Say why the commits of a folder's repository may be another repository's; empty where they are its own.

    A repository outside of its working tree must know this tree itself: as a linked worktree, or by `core.worktree`, which git
    sets for submodules. Objects that it borrows must come from where the person's own git configuration allows it: nothing in the
    other repository tells that it was asked.
    """
    try:
        return known_foreign(folder)
    except NoAnswer:
        return "git was too slow to say whose they are"


def known_foreign(folder: Path) -> str:
    """Say what `foreign` says. Raises `NoAnswer` where it can't be told at the moment."""
    return _foreign(folder, int(time.monotonic() // _REMEMBERED_SECONDS))


@lru_cache(256)
def _foreign(folder: Path, minute: int) -> str:  # noqa: ARG001 - what is remembered is forgotten with it
    """Ask git. Raises `NoAnswer`, which isn't remembered."""
    git_folder = _rev_parse(folder, "--absolute-git-dir")
    if git_folder is None:
        return ""  # there is no repository whose commits could be given
    try:
        common = _resolved(folder, _rev_parse(folder, "--git-common-dir"))
        if _rev_parse(folder, "--is-bare-repository") == "true":
            tree = _resolved(folder, "")
            if tree.is_relative_to(common) and _resolved(folder, git_folder) == common:
                return _leads_out(folder, common)
        else:
            tree = _resolved(folder, _rev_parse(folder, "--show-toplevel"))
        inside = common.is_relative_to(tree) and _resolved(folder, git_folder).is_relative_to(tree)
        if inside or _knows(_resolved(folder, git_folder), common, tree, folder):
            return _leads_out(folder, common)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and is_system_fault(error):
            raise NoAnswer from None
        return f"its `.git` can't be understood ({type(error).__name__})"
    return (
        f"its `.git` leads to {common}, which doesn't know this folder; if it is yours, run `git worktree repair` there, or "
        f"`git config core.worktree {tree}` here"
    )


def _knows(git_folder: Path, common: Path, tree: Path, folder: Path) -> bool:
    """Tell whether a repository names this working tree as one of its own."""
    if git_folder.parent == common / "worktrees":
        registered = (git_folder / "gitdir").read_text("utf-8", "surrogateescape").strip()
        return _resolved(git_folder, registered) == tree / ".git"
    named = answer(folder, "config", "--null", "--get", "core.worktree") if git_folder == common else None
    return bool(named) and _resolved(common, str(named).removesuffix("\0")) == tree


def _leads_out(folder: Path, common: Path) -> str:
    """Say what in a repository leads out of it: with a link or borrowed objects, another's commits could be shown as its own."""
    head = _rev_parse(folder, "--symbolic-full-name", "HEAD") or "HEAD"
    seen = [common / head, *_links(common, ("", "refs", "refs/heads", "reftable"))]
    stores = [common / "objects"]
    for objects in stores:  # grows: what is borrowed from inside the repository may borrow again
        seen += _links(objects, ("", "pack", "info", *_LOOSE))
        for borrowed in _borrowed(objects):
            if not borrowed.is_relative_to(common):
                if not _is_allowed(folder, borrowed):
                    return (
                        f"it borrows objects of {borrowed} (`objects/{_ALTERNATES}`), so commits of another repository could be "
                        f"shown as its own; if it is yours, run `git config --global --add {BORROWING} {borrowed}`"
                    )
            elif borrowed not in stores:
                stores.append(borrowed)
    out = [path for path in seen if not _resolved(path, "").is_relative_to(common)]
    return f"`{out[0]}` leads to another folder" if out else ""


def _links(base: Path, inner: Sequence[str]) -> list[Path]:
    links = []
    for name in inner:
        if (base / name).is_dir():
            with os.scandir(base / name) as entries:
                links += [Path(entry.path) for entry in entries if entry.is_symlink()]
    return links


def _borrowed(objects: Path) -> list[Path]:
    """Return the folders of objects that git reads beside this one. Raises `OSError` and `ValueError` where it can't be told."""
    path = objects / _ALTERNATES
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_ALTERNATES:
        raise ValueError("no list of folders")
    lines = os.fsdecode(path.read_bytes()).split("\n")
    named = [line for line in lines if line and not line.startswith("#")]
    if any(line.startswith('"') for line in named):  # quoted as in C; git writes none so where a path has no line break
        raise ValueError("a quoted path")
    return [_resolved(objects, line) for line in named]


def _is_allowed(folder: Path, borrowed: Path) -> bool:
    listed = answer(folder, "config", "--global", "--null", "--type=path", "--get-all", BORROWING)
    return any(borrowed.is_relative_to(os.path.realpath(path)) for path in (listed or "").split("\0") if path)


def _rev_parse(folder: Path, *question: str) -> str | None:
    output = answer(folder, "rev-parse", *question)
    return None if output is None else output.removesuffix("\n")


def _resolved(base: Path, path: str | None) -> Path:
    """Return where a path leads that is written relative to a folder, or whole. Raises `ValueError` where there is none."""
    if path is None:
        raise ValueError("git gave no answer")
    return Path(os.path.realpath(base / path))
