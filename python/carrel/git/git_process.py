"""Run git for reading alone, with everything switched off that a repository's own configuration could start.

Git is asked, never trusted. A cloned repository's own configuration can name programs that git would run (fsmonitor, filters,
external diffs, hooks, remote helpers for a partial clone); every one of them is switched off here, so that looking at a
repository never executes anything that came with it.

What a program writes, read piece by piece within a time, and cut into records of a bounded size.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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
    path = shutil.which("git")
    if path is None:
        return None
    program = Path(path).absolute()
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


_PIECE = 1 << 16
_LAST_SECONDS = 1.0
"""For what a program that was stopped had written before, and again for a `take` that is still at work."""


class Enough(Exception):
    """What was read suffices: the program may end."""


def read_bounded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], take: Callable[[bytes], None], seconds: float
) -> int:
    """Run a program and hand on what it writes; return its exit code.

    Raises `OSError`, `subprocess.TimeoutExpired`, and what `take` does; the program is killed then. `take` is called on a thread
    of its own; one that is slower than the time goes on there, and is called no more.
    """
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    process = subprocess.Popen(  # noqa: S603 - fixed program and arguments, no shell
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=flags,
    )
    failed: list[Exception] = []
    lock, ended = threading.Lock(), False

    def hand_on(piece: bytes) -> None:
        with lock:
            if not ended:
                take(piece)

    def read() -> None:
        assert process.stdout is not None  # noqa: S101 - a pipe, see above
        with process.stdout:
            try:
                while piece := os.read(process.stdout.fileno(), _PIECE):
                    hand_on(piece)
            except Exception as error:
                failed.append(error)
                process.kill()

    # A thread of its own: what the program started may hold its output open after its end.
    reader = threading.Thread(target=read, name="carrel-git", daemon=True)
    reader.start()
    try:
        reader.join(seconds)
        if reader.is_alive():
            process.kill()
            reader.join(_LAST_SECONDS)
            ended = True
            if lock.acquire(timeout=_LAST_SECONDS):  # what is being taken is whole: the caller uses what it has
                lock.release()
            raise subprocess.TimeoutExpired(command, seconds)
        code = process.wait(seconds)
    finally:
        if process.poll() is None:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
    if failed:
        raise failed[0]
    return code


class Records:
    """Cuts a stream at a mark and hands on each record as soon as the next mark comes. Of each so many bytes are kept."""

    def __init__(self, mark: bytes, most: int, take: Callable[[bytes], None]) -> None:
        self._mark = mark
        self._most = most
        self._take = take
        self._now = bytearray()
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take a piece, however it was cut."""
        *whole, rest = (self._tail + piece).split(self._mark)
        for record in whole:
            self._keep(record)
            self._hand_on()
        held = len(self._mark) - 1  # of these bytes a mark may have begun
        self._tail = rest[-held:]
        self._keep(rest[:-held])

    def end(self) -> None:
        """Hand on the last record: all of it has come."""
        self._keep(self._tail)
        self._tail = b""
        self._hand_on()

    def _hand_on(self) -> None:
        record = bytes(self._now)
        self._now.clear()
        self._take(record)

    def _keep(self, part: bytes) -> None:
        self._now += part[: max(self._most - len(self._now), 0)]
