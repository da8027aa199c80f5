"""Run git for reading alone, with everything switched off that a repository's own configuration could start.

Git is asked, never trusted. A cloned repository's own configuration can name programs that git would run (fsmonitor, filters,
external diffs, hooks, remote helpers for a partial clone); every one of them is switched off here, so that looking at a
repository never executes anything that came with it. What git writes is read piece by piece within a time, and cut into records
of a bounded size.

What came with a folder may lead to another repository of the person (a file `.git`, a `commondir`, links, objects that are
borrowed), and its commits would be given to a model: whether they are the folder's own is decided here, too. They are given only
where the other repository, or the person, knows of it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from carrel.system.child_environment import child_environment
from carrel.system.filesystem import is_system_fault

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
