"""Ask before a folder that holds far more than a project is indexed."""

from __future__ import annotations

import sys
from pathlib import Path

from carrel.composition.composition import Composition
from carrel.model.errors import CarrelError, InvalidInput
from carrel.policy.broad_folders import breadth
from carrel.settings.settings import Settings


def confirm_broad_folder(root: Path, settings: Settings, *, agreed: bool = False) -> None:
    """Ask before a whole disk or home is indexed for the first time; raises `CarrelError` unless the person agrees."""
    what = breadth(root)
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
