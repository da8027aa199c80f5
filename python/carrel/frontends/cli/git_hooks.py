"""`carrel hook install|remove`: git runs `carrel index` in the background after what moves HEAD.

An existing hook keeps working to the byte: the marked block goes right after its first line (a hook may end in `exit` or `exec`),
reads nothing from standard input, changes no variable, and its exit status never counts. A hook that isn't a shell script, a link
or a file that git ignores is left alone and named. Removing takes out the block and nothing else.

`carrel hook install|remove`, as typed.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from argparse import Namespace
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from carrel.frontends.cli.terminal import Output
from carrel.git import git
from carrel.model.errors import CarrelError, InvalidInput
from carrel.system.filesystem import replace_file

HOOKS = ("post-commit", "post-merge", "post-checkout", "post-rewrite")
_NEW_HOOK = b"#!/bin/sh\n"
_SHELLS = {b"sh", b"bash", b"dash", b"zsh", b"ksh", b"ash"}


class HookResult(Struct, frozen=True):
    """What happened to one hook: `installed`, `updated`, `unchanged`, `removed`, `absent`, or `skipped` for a `reason`."""

    hook: str
    path: Path
    outcome: str
    reason: str = ""


def install(folder: Path) -> list[HookResult]:
    """Put the block into every hook of the repository that `folder` lies in; it indexes `folder`, of each work tree its own."""
    directory = _hooks_folder(folder)
    target = _target(folder)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [_install_one(directory / hook, _guard(folder, directory), target) for hook in HOOKS]
    except OSError as error:
        raise CarrelError(
            f"The hooks folder {directory} can't be written: {error.strerror}", "Check its owner and rights."
        ) from error


def remove(folder: Path) -> list[HookResult]:
    """Take the block out of every hook again."""
    directory = _hooks_folder(folder)
    try:
        return [_remove_one(directory / hook, _guard(folder, directory)) for hook in HOOKS]
    except OSError as error:
        raise CarrelError(f"A hook in {directory} can't be written: {error.strerror}", "Check its owner and rights.") from error


def _hooks_folder(folder: Path) -> Path:
    directory = git.hooks_folder(folder)
    if directory is None:
        raise InvalidInput("path", f"{folder} is not in a git repository, or git is not installed", "Hooks need both.")
    return directory


def _guard(folder: Path, directory: Path) -> Path | None:
    """Give the repository's own folder when its hooks lie outside it (a `core.hooksPath` that all repositories share)."""
    state = git.state(folder)
    repository = git.common_folder(folder)
    if repository is None or directory.is_relative_to(repository) or (state is not None and directory.is_relative_to(state.root)):
        return None
    return repository


def _target(folder: Path) -> str:
    """Give `folder` as git's hooks see it, which run at the top of the work tree."""
    state = git.state(folder)
    relative = folder.resolve().relative_to(state.root.resolve()).as_posix() if state else "."
    return relative if relative == "." else f"./{relative}"


def _markers(guard: Path | None) -> tuple[bytes, bytes]:
    name = b"carrel" if guard is None else b"carrel " + os.fsencode(guard.as_posix())
    return (
        b"# >>> " + name + b" >>> keeps the index fresh; `carrel hook remove` takes this block out\n",
        b"# <<< " + name + b" <<<\n",
    )


def _block(hook: str, guard: Path | None, target: str) -> bytes:
    """Return the shell lines: at low priority, detached, without git's variables, and not for each step of a rebase."""
    python = shlex.quote(Path(sys.executable).as_posix())
    conditions = []
    if guard is not None:
        conditions.append(f'[ "$(cd "$(git rev-parse --git-common-dir)" && pwd -P)" = {shlex.quote(guard.as_posix())} ]')
    if hook != "post-rewrite":
        conditions.append('[ ! -d "$(git rev-parse --git-path rebase-merge)" ]')
        conditions.append('[ ! -d "$(git rev-parse --git-path rebase-apply)" ]')
    conditions.append(f"[ -x {python} ]")
    lines = [
        "(",
        f"  {' && '.join(conditions)} || exit 0",
        "  unset $(git rev-parse --local-env-vars)",
        f"  nice -n 19 {python} -m carrel index --background {shlex.quote(target)} &",
        ") </dev/null >/dev/null 2>&1 || :",
    ]
    begin, end = _markers(guard)
    return begin + "\n".join(lines).encode(errors="surrogateescape") + b"\n" + end


def _install_one(path: Path, guard: Path | None, target: str) -> HookResult:
    hook = path.name
    block = _block(hook, guard, target)
    if not path.exists() and not path.is_symlink():
        replace_file(path, _NEW_HOOK + block, mode=0o755)
        return HookResult(hook, path, "installed")
    reason = _why_not(path)
    if reason:
        return HookResult(hook, path, "skipped", reason)
    old = path.read_bytes()
    remainder = _without(old, guard)
    first, newline, rest = remainder.partition(b"\n")
    new = first + (newline or b"\n") + block + rest
    if new == old:
        return HookResult(hook, path, "unchanged")
    replace_file(path, new, mode=stat.S_IMODE(path.stat().st_mode))
    return HookResult(hook, path, "installed" if remainder == old else "updated")


def _remove_one(path: Path, guard: Path | None) -> HookResult:
    hook = path.name
    if path.is_symlink() or not path.is_file():
        return HookResult(hook, path, "absent")
    old = path.read_bytes()
    remainder = _without(old, guard)
    if remainder == old:
        return HookResult(hook, path, "absent")
    if remainder == _NEW_HOOK:
        path.unlink()
    else:
        replace_file(path, remainder, mode=stat.S_IMODE(path.stat().st_mode))
    return HookResult(hook, path, "removed")


def _why_not(path: Path) -> str:
    """Say why an existing hook must not be touched; "" if it may."""
    if path.is_symlink():
        return "it is a link to a script that others may share; call `carrel index --background` from there"
    if not path.is_file():
        return "it is not a file"
    if os.name == "posix" and not os.access(path, os.X_OK):
        return "it is not executable, so git ignores it; make it executable or delete it first"
    words = path.read_bytes().partition(b"\n")[0].removeprefix(b"#!").replace(b"/", b" ").split()
    if not any(word in _SHELLS for word in words):
        return "it is not a shell script; call `carrel index --background` from it"
    return ""


def _without(content: bytes, guard: Path | None) -> bytes:
    begin, end = _markers(guard)
    before, opening, rest = content.partition(begin)
    _, closing, after = rest.partition(end)
    return before + after if opening and closing else content


def run(arguments: Namespace, output: Output) -> int:
    """Install or remove the hooks; 1 if any hook had to be left alone."""
    act = install if arguments.action == "install" else remove
    results = act(arguments.path.absolute())
    output.value([{**asdict(result), "path": str(result.path)} for result in results])
    for result in results:
        output.text(f"{result.hook}: {result.outcome}" + (f" ({result.path}: {result.reason})" if result.reason else ""))
    return 1 if any(result.outcome == "skipped" for result in results) else 0
