"""Folders that hold far more than a project: nobody indexes them by mistake."""

from __future__ import annotations

import sys
from pathlib import Path

from carrel.core.errors import CarrelError, InvalidInput
from carrel.server.composition import Composition
from carrel.server.settings import Settings


def confirm_broad_folder(root: Path, settings: Settings, *, agreed: bool = False) -> None:
    """Ask before a whole disk or home is indexed for the first time; raises `CarrelError` unless the person agrees."""
    what = _broad(root)
    if what is None or agreed or Composition().index_exists(root, settings):
        return
    if not (sys.stdin and sys.stderr and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            "path", f"{root} is {what}", f"Name a project's folder, or index all of it by `carrel index --yes {root}`."
        )
    sys.stderr.write(f"{root} is {what}. Index all of its text? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CarrelError("Nothing was indexed")


def _broad(root: Path) -> str | None:
    root, home = root.resolve(), Path.home().resolve()
    if root == Path(root.anchor):
        return "a whole disk"
    if root == home:
        return "your home folder"
    return "above your home folder" if root in home.parents else None
