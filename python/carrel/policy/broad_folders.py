"""Folders that hold far more than a project: they are indexed where a person named them, never because a program did."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Literal

from carrel.model.errors import NotReady

BroadFolder = Literal["allowed", "once indexed", "refused"]
"""Treatment of such a folder: a person named it; a program did, and it counts where a person had it indexed; or never."""


def breadth(root: Path) -> str | None:
    """Return in words why a folder is too broad to be a project; None for any other."""
    try:
        root = root.resolve()
    except OSError:  # a link that may not be followed (`/proc/1/root`)
        return "a folder that can't be read"
    home = _home()
    if root == Path(root.anchor):
        return "a whole disk"
    if home and root == home:
        return "your home folder"
    if home and root in home.parents:
        return "above your home folder"
    if any(part.lower() in _OF_KEYS for part in root.parts) or (home and _is_below(root, home)):
        return "a folder that holds keys"
    return "a folder of the system" if root in _system_folders() else None


def refusal(root: Path, remedy: str) -> NotReady | None:
    """Return why nothing of a folder that a program named is read, and the remedy; None where it may be a project."""
    if what := breadth(root):
        return NotReady(f"{root} is {what}: nothing of it is read unless a person names it", remedy)
    return None


def _is_below(root: Path, home: Path) -> bool:
    """Tell whether a folder is one of those in a home that hold keys, or in one."""
    return any(root.is_relative_to(home / name) for name in _OF_KEYS_AT_HOME)


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:  # the system knows no home of this user
        return None


@cache
def _system_folders() -> frozenset[Path]:
    """Return the folders that a system keeps for itself, each without what is below: a project may lie there."""
    if sys.platform == "win32":
        variables = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData", "PUBLIC")
        named = [value for name in variables if (value := os.environ.get(name))]
    else:
        named = [f"/{name}" for name in _UNIX]
    return frozenset(Path(name).resolve() for name in named)


_UNIX = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "proc", "root", "run", "sbin", "sys", "usr", "var"),
    *("Applications", "Library", "Network", "System", "Users", "Volumes", "private"),  # macOS
)
_OF_KEYS = frozenset((".ssh", ".gnupg", ".aws", ".password-store"))
"""Folders of these names hold keys and tokens, wherever they are, also in what is below them."""
_OF_KEYS_AT_HOME = (
    *(
        ".azure",
        ".kube",
        ".docker",
        ".oci",
        ".config/gcloud",
        ".config/gh",
        ".config/op",
        ".config/sops",
        ".local/share/keyrings",
        ".mozilla",
        ".pki",
    ),
    *("Library/Keychains", "AppData/Roaming/gnupg", "AppData/Roaming/gcloud", "AppData/Roaming/Microsoft/Credentials"),
)
"""The same, where they have these names only in a home folder."""
