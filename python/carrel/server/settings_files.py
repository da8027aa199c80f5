"""The user's settings file and a workspace's `.carrel.toml`: read, never written.

The command line and MCP have no editor to ask, so they read the user's file; an editor's settings override it for the
editor's own server.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from carrel.server.settings import Layer, Problem

WORKSPACE_FILE = ".carrel.toml"
_LIMIT = 1_000_000


def user_file() -> Path:
    """The settings file that exists, or the one to create: `settings.toml` or `settings.json` in the user's config folder."""
    import platformdirs  # noqa: PLC0415 - not every start needs it

    folder = platformdirs.user_config_path("carrel", appauthor=False)
    found = [folder / name for name in ("settings.toml", "settings.json") if (folder / name).is_file()]
    return found[0] if found else folder / "settings.toml"


def read_user(path: Path | None = None) -> tuple[Layer, tuple[Problem, ...]]:
    """The user's own settings; no file is no problem."""
    path = path or user_file()
    return _read(path, str(path), workspace=False)


def read_workspace(root: Path) -> tuple[Layer, tuple[Problem, ...]]:
    """What the workspace itself asks for; it may only narrow."""
    return _read(root / WORKSPACE_FILE, WORKSPACE_FILE, workspace=True)


def _read(path: Path, source: str, *, workspace: bool) -> tuple[Layer, tuple[Problem, ...]]:
    empty = Layer(source, {}, workspace=workspace)
    try:
        # A workspace's file must be a file of the workspace, not a link to something else of the user's.
        if (workspace and path.is_symlink()) or not path.is_file():
            return empty, ()
        if path.stat().st_size > _LIMIT:
            return empty, (Problem(source, "", f"larger than {_LIMIT} bytes; not read"),)
        text = path.read_text("utf-8-sig")
        options = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        return empty, (Problem(source, "", f"can't be read: {error}"),)
    if not isinstance(options, dict):
        return empty, (Problem(source, "", "must hold an object"),)
    return Layer(source, options, workspace=workspace, report_unknown=True), ()
