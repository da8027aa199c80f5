"""How an assistant starts Carrel, and how a change is shown."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.model.errors import CarrelError
from carrel.model.lines import lines_of

if TYPE_CHECKING:
    from carrel.frontends.cli.assistants.agents import Place
    from carrel.frontends.cli.assistants.install import Change


def carrel_command(scope: str) -> str:
    """Return how the client starts Carrel. A workspace's file is shared with others, whose Carrel is elsewhere."""
    if scope == "workspace":
        return "carrel"
    beside = Path(sys.argv[0])
    if beside.stem == "carrel" and beside.is_file():
        return str(beside.absolute())
    return shutil.which("carrel") or "carrel"


def inside(path: Path, place: Place) -> None:
    """Refuse a file of a folder that leads out of it. Raises `CarrelError`."""
    if place.scope == "workspace" and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place.folder)):
        raise CarrelError(f"{path} leads out of the folder; it was left as it is")


def difference(change: Change) -> str:
    """Return a change as lines that go and come."""
    before, after = (lines_of(data.decode("utf-8", "replace")) if data else [] for data in (change.before, change.after))
    return "\n".join(difflib.unified_diff(before, after, str(change.path), str(change.path), lineterm=""))
