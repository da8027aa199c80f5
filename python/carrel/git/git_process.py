"""Run git for reading alone, with everything switched off that a repository's own configuration could start.

Git is asked, never trusted. A cloned repository's own configuration can name programs that git would run (fsmonitor, filters,
external diffs, hooks, remote helpers for a partial clone); every one of them is switched off here, so that looking at a
repository never executes anything that came with it.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from carrel.git.git_streams import Enough, read_bounded
from carrel.system.child_environment import child_environment

_log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
MOST_BYTES = 64_000_000
"""Of an answer that is read as a whole."""
_SAFE_CONFIG = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "diff.external": "",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}


def git_program(folder: Path) -> str | None:
    """Find git, but never one that lies in the workspace (a PATH may hold ".")."""
    found = shutil.which("git")
    if found is None:
        return None
    program = Path(found).absolute()
    return None if program.is_relative_to(folder.absolute()) else str(program)


class NoAnswer(Exception):
    """Git didn't come to its end: it was too slow, wrote too much, or couldn't be started."""


def ask(folder: Path, *arguments: str, safe_hooks: bool = True) -> str | None:
    """Return what one reading git command writes; None if it fails in any way."""
    try:
        return answer(folder, *arguments, safe_hooks=safe_hooks)
    except NoAnswer:
        return None


def answer(folder: Path, *arguments: str, safe_hooks: bool = True) -> str | None:
    """Return what one reading git command writes; None if it says no, or there is no git. Raises `NoAnswer`."""
    output = bytearray()

    def take(piece: bytes) -> None:
        output.extend(piece)
        if len(output) > MOST_BYTES:
            raise Enough("too long an answer")

    return os.fsdecode(bytes(output)) if _ran(folder, take, arguments, safe_hooks, TIMEOUT_S) else None


def stream(
    folder: Path, take: Callable[[bytes], None], *arguments: str, safe_hooks: bool = True, seconds: float | None = None
) -> bool:
    """Run one reading git command and hand on what it writes, as it writes it; tell whether all came.

    `take` ends the command by raising `Enough`.
    """
    try:
        return _ran(folder, take, arguments, safe_hooks, TIMEOUT_S if seconds is None else seconds)
    except NoAnswer:
        return False


def _ran(folder: Path, take: Callable[[bytes], None], arguments: Sequence[str], safe_hooks: bool, seconds: float) -> bool:
    """Run one command, and tell whether it succeeded. Raises `NoAnswer`."""
    config = dict(_SAFE_CONFIG)
    if not safe_hooks:
        del config["core.hooksPath"]
    if arguments[0] == "status":
        # `git status` would run a clean filter on a touched file; an empty command counts as none.
        for key in (ask(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\.") or "").split("\0"):
            if key:
                config[key] = "false" if key.lower().endswith(".required") else ""
    program = git_program(folder)
    if program is None:
        return False
    try:
        command = [program, "--no-pager", "--no-optional-locks", *arguments]
        code = read_bounded(command, folder, environment(config), take, seconds)
    except (OSError, ValueError, subprocess.TimeoutExpired, Enough) as error:
        _log.info("git %s gave no whole answer: %s", arguments[0], type(error).__name__)
        raise NoAnswer from None
    if code < 0:
        raise NoAnswer  # somebody ended it
    return code == 0


def environment(config: dict[str, str]) -> dict[str, str]:
    """Drop every GIT_* variable (a hook's GIT_DIR points elsewhere) and keys; pass `config` in a way that takes any key."""
    clean = child_environment()
    clean |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_CONFIG_COUNT": str(len(config))}
    clean["GIT_ALLOW_PROTOCOL"] = ""  # a repository's own `protocol.ext.allow` goes before the general setting
    for number, (key, value) in enumerate(config.items()):
        clean[f"GIT_CONFIG_KEY_{number}"] = key
        clean[f"GIT_CONFIG_VALUE_{number}"] = value
    return clean
