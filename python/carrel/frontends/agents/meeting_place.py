"""Name the place where clients and the hooks' server meet, and the program that hooks start.

The place is a socket, on Windows the name of a pipe, in a folder that is the user's alone; `rust_core/hook` finds the same folder
by the same rules. The program is `carrel-hook AGENT`, native, with a hook's JSON on standard input.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

from carrel.model.errors import CarrelError

AGENTS = ("claude-code", "codex", "gemini", "copilot", "opencode", "qwen")
"""The agents whose hooks it knows."""

_PROGRAM = Path(__file__).parents[2] / "bin" / ("carrel-hook.exe" if os.name == "nt" else "carrel-hook")
_SHELL = '"$`\n\r'
"""Signs that shells read within double quotes."""


def program() -> Path:
    """Return the program's path. Raises `CarrelError` where this installation lacks it, or no shell could start it."""
    if any(mark in str(_PROGRAM) for mark in _SHELL):
        raise CarrelError(
            f"Agents can't start {_PROGRAM} from their shell: a sign in the path would be read as a part of the command",
            "Install Carrel into a folder whose name has no quote, $, ` or line end.",
        )
    if _PROGRAM.is_file():
        return _PROGRAM
    raise CarrelError(
        f"The program of agents' hooks is missing: there is no {_PROGRAM}",
        "Install Carrel from a wheel, or run `make build` in a checkout.",
    )


SOCKET, PIPE, LOCK = "agents.sock", "agents.pipe", "agents.lock"
STARTING = "agents.starting"
"""A client made it when it started the server; while it is new nobody else does."""
NEW_SECONDS = 10.0
"""The age up to which it is new: `NEW` in `rust_core/hook/src/server.rs`."""
LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes."""


def runtime_folder() -> Path:
    """Return the folder, which needn't be there. Raises `CarrelError` where the environment names none."""
    windows = sys.platform == "win32"
    for variable, below in (
        (("LOCALAPPDATA", "carrel/run"),) if windows else (("XDG_RUNTIME_DIR", "carrel"), ("XDG_CACHE_HOME", "carrel/run"))
    ):
        named = Path(os.environ.get(variable, ""))
        if named.is_absolute() and (variable != "XDG_RUNTIME_DIR" or _is_own(named)):
            return named / below
    if not windows and (home := os.environ.get("HOME")) and Path(home).is_absolute():
        return Path(home) / ".cache/carrel/run"
    raise CarrelError("There is no folder for the server of agents' hooks", "Set HOME (on Windows LOCALAPPDATA).")


def _is_own(folder: Path) -> bool:
    """Tell whether a folder is there and this user's: `sudo -E` hands on another's."""
    if sys.platform == "win32":
        return True
    try:
        state = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def make_private(folder: Path) -> None:
    """Make the folder. Raises `CarrelError` where it can't be made, or may be read by others."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_private(folder)
    except OSError as error:
        raise CarrelError(f"{folder} can't be made: {error.strerror}", "Make it writable.") from None


def check() -> None:
    """Raise `CarrelError` where hooks get nothing: their folder may be read by others, or the server didn't come up."""
    folder = runtime_folder()
    try:
        _check_private(folder)
        started = (folder / STARTING).stat().st_mtime
    except OSError:  # no prompt came yet, or the server runs
        return
    if time.time() - started > NEW_SECONDS:
        raise CarrelError("the server behind the hook didn't come up", "See why: carrel agents serve")


def _check_private(folder: Path) -> None:
    state = folder.lstat()
    if sys.platform != "win32" and (
        not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or stat.S_IMODE(state.st_mode) & 0o077
    ):
        raise CarrelError(f"{folder} isn't yours alone", f"Remove it, or give it to yourself: chmod 700 {folder}")
