"""What git knows about a workspace (spec C6): HEAD, dirty files, renames, and what each commit changed.

The index doesn't ask it what changed: comparing all files by size and time is quicker (docs/benchmarks.md, "Branch switches").

Git is asked, never trusted. A cloned repository's own configuration can name programs that git would run (fsmonitor, filters,
external diffs, hooks, remote helpers for a partial clone); every one of them is switched off here, so that looking at a
repository never executes anything that came with it. What came with a folder may also lead to another repository of the person:
its commits are given only where that repository knows the folder (`foreign`). No answer (no git, no repository, a broken one, a
slow disk, too long a one) is `None`.

Every function starts a process: call them on a worker thread. Paths are relative to the given folder, `/`-separated; what git
knows about outside it is left out.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from carrel.core.child_environment import child_environment
from carrel.engine.git_streams import Records, read_bounded

_log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
_MOST_BYTES = 64_000_000
"""Of an answer that is read as a whole."""
_MOST_OF_A_COMMIT = 100_000
"""Bytes of one commit's entry; what is beyond is left out."""
_FOREIGN_SECONDS = 60.0
"""How long it is remembered whose repository a folder has."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REMOTE = re.compile(r"(?:https?|ssh|git|git\+ssh)://[^/]+/(?P<path>.+)|(?:[^/@:]+@)?[^/@:]{2,}:(?!//)(?P<short>.+)")
"""A remote on a host, as a URL or as `host:path`; `C:\\folder` is none."""
_SAFE_CONFIG = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "diff.external": "",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}


@dataclass(frozen=True, slots=True)
class GitState:
    """A repository as it stands now. `head` is None before the first commit, `branch` on a detached HEAD."""

    root: Path
    head: str | None
    branch: str | None
    dirty: tuple[str, ...]  # modified, staged, untracked, deleted; submodules' files included
    renames: tuple[tuple[str, str], ...]  # (old, new), as far as git noticed


def head(folder: Path) -> str | None:
    """Give the full hash of the checked-out commit."""
    output = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return output.strip() if output is not None and _COMMIT.fullmatch(output.strip()) else None


def state(folder: Path) -> GitState | None:
    """Describe the repository that `folder` lies in."""
    place = _git(folder, "rev-parse", "--show-toplevel", "--show-prefix")
    if place is None:
        return None
    # A folder's name may hold a line break, its last line may not: the prefix is empty or ends with "/".
    top, _, prefix = place.removesuffix("\n").rpartition("\n")
    listing = _git(
        folder,
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--ignore-submodules=all",
        "--find-renames",
        "--",
        ".",
    )
    if listing is None:
        return None
    commit, branch, dirty, renames = _parse_status(listing, prefix)
    for inner in _submodules(folder):
        below = state(folder / inner)
        if below is not None and below.root != Path(top):
            dirty.extend(f"{inner}/{path}" for path in below.dirty)
            renames.extend((f"{inner}/{old}", f"{inner}/{new}") for old, new in below.renames)
    return GitState(Path(top), commit, branch, tuple(sorted(set(dirty))), tuple(renames))


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit: its hash, the first line of its message, and the files under the folder that it changed and that remained."""

    sha: str
    subject: str
    paths: tuple[str, ...]
    author: str = ""


def history(folder: Path, limit: int) -> list[CommitRecord] | None:
    """List the newest commits, merges left out, that wrote a file under `folder`; those that only deleted are left out too."""
    if foreign(folder):
        return None
    mark = secrets.token_hex(16)  # no name or subject can hold what is chosen now
    output = _git(
        folder,
        "log",
        "--no-merges",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--diff-filter=d",
        "--relative",
        "--name-only",
        "-z",
        f"--max-count={limit}",
        f"--format={mark}-%H{mark}+%an{mark}+%s{mark}+",
        "--",
        ".",
    )
    if output is None:
        return None
    records = []
    for entry in output.split(f"{mark}-")[1:]:
        sha, author, subject, names = entry.split(f"{mark}+")
        records.append(
            CommitRecord(sha, _legible(subject), tuple(path for path in re.split(r"[\0\n]", names) if path), _legible(author))
        )
    return records


def _legible(text: str) -> str:
    """Return what a commit says as characters: some are in no encoding that git knows."""
    return os.fsencode(text).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One commit with its whole message; `at` is when it was committed, ISO 8601 with the committer's offset."""

    sha: str
    author: str
    at: str
    message: str
    paths: tuple[str, ...]


def log(folder: Path, *, limit: int, skip: int = 0, since: str | None = None) -> list[LoggedCommit] | None:
    """List commits of `HEAD` that changed something under `folder`, newest first; only those after `since` where it is given."""
    if (since is not None and not _COMMIT.fullmatch(since)) or foreign(folder):
        return None
    mark = secrets.token_hex(16)  # no message can hold what is chosen now
    entries = Records(f"{mark}-".encode(), _MOST_OF_A_COMMIT)
    answered = _stream(
        folder,
        entries.add,
        "log",
        "--no-show-signature",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--relative",
        "--name-only",
        "-z",
        f"--max-count={limit}",
        f"--skip={skip}",
        f"--format={mark}-%H{mark}+%an{mark}+%cI{mark}+%B{mark}+",
        f"{since}..HEAD" if since else "HEAD",
        "--",
        ".",
    )
    if not answered:
        return None
    commits = []
    for entry in entries.ended()[1:]:
        parts = os.fsdecode(entry).split(f"{mark}+")
        if len(parts) in (4, 5) and _COMMIT.fullmatch(parts[0]):  # 4: so long a message that nothing of the paths was kept
            names = tuple(path for part in parts[4:] for path in re.split(r"[\0\n]", part) if path)
            commits.append(LoggedCommit(parts[0], _legible(parts[1]), parts[2], _legible(parts[3]).strip(), names))
    return commits


def descends(folder: Path, ancestor: str) -> bool:
    """Tell whether `HEAD` holds this commit."""
    return bool(_COMMIT.fullmatch(ancestor)) and _git(folder, "merge-base", "--is-ancestor", ancestor, "HEAD") is not None


@dataclass(frozen=True, slots=True)
class LastChange:
    """The newest commit that changed some lines; `at` in Unix seconds, `text` the lines as they are committed."""

    sha: str
    author: str
    at: int
    subject: str
    text: str


def last_change(folder: Path, path: str, first: int, last: int) -> LastChange | None:
    """Find the newest commit among those that wrote these lines of a file, as `git blame` tells; None where it can't."""
    if first < 1 or last < first or foreign(folder):
        return None
    output = _git(folder, "blame", "--porcelain", "--no-textconv", "-L", f"{first},{last}", "HEAD", "--", path)
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    lines = []
    for line in (output or "").split("\n"):
        name, _, value = line.partition(" ")
        if line.startswith("\t"):
            lines.append(line[1:])
        elif _COMMIT.fullmatch(name):
            fields = found.setdefault(name, {})
        else:
            fields.setdefault(name, value)
    newest = max(found, key=lambda sha: int(found[sha].get("committer-time") or 0), default=None)
    if newest is None:
        return None
    told = found[newest]
    at = int(told.get("committer-time") or 0)
    return LastChange(newest, told.get("author", ""), at, told.get("summary", ""), "\n".join(lines))


def origin(folder: Path) -> str:
    """Return which repository `folder` is a checkout of: `owner/name`, or all groups and the name, by its remote `origin`.

    Empty where there is none, and where the remote is a folder. The host doesn't count: the same repository has several names of
    hosts in people's configurations of SSH.
    """
    remote = (_git(folder, "remote", "get-url", "origin") or "").strip()
    return repository_of(remote)


def repository_of(remote: str) -> str:
    """Return the path on its host that a remote's URL names: `acme/billing` of `git@example.com:acme/billing.git`."""
    found = _REMOTE.fullmatch(remote)
    path = (found["path"] or found["short"]) if found else ""
    return "/".join(part for part in path.removesuffix("/").removesuffix(".git").split("/") if part)


def prefix(folder: Path) -> str:
    """Return the path of `folder` inside its checkout: empty for the top folder, else with a slash at its end."""
    return (_git(folder, "rev-parse", "--show-prefix") or "").removesuffix("\n")


def hooks_folder(folder: Path) -> Path | None:
    """Give the folder whose hooks git runs for `folder`: it respects `core.hooksPath` and worktrees' common folder."""
    output = _git(folder, "rev-parse", "--git-path", "hooks", safe_hooks=False)
    return (folder / output.removesuffix("\n")).absolute() if output else None


def common_folder(folder: Path) -> Path | None:
    """Give the repository's own folder (`.git`), which all its worktrees share."""
    output = _git(folder, "rev-parse", "--git-common-dir")
    return (folder / output.removesuffix("\n")).resolve() if output else None


def foreign(folder: Path) -> str:
    """Say why the commits of a folder's repository may be another repository's; empty where they are its own.

    What came with a folder can name any other (a file `.git`, a `commondir` in a folder `.git`, links), and its commits would be
    given to a model. So a repository outside of its working tree must know this tree itself: as a linked worktree, or by
    `core.worktree`, which git sets for submodules.
    """
    return _foreign(folder, int(time.monotonic() // _FOREIGN_SECONDS))


@lru_cache(256)
def _foreign(folder: Path, minute: int) -> str:  # noqa: ARG001 - what is remembered is forgotten with it
    own = _rev_parse(folder, "--absolute-git-dir")
    if own is None:
        return ""  # there is no repository whose commits could be given
    try:
        common = _resolved(folder, _rev_parse(folder, "--git-common-dir"))
        if _rev_parse(folder, "--is-bare-repository") == "true":
            tree = _resolved(folder, "")
            if tree.is_relative_to(common) and _resolved(folder, own) == common:
                return _links_out(folder, common)
        else:
            tree = _resolved(folder, _rev_parse(folder, "--show-toplevel"))
        if common.is_relative_to(tree) and _resolved(folder, own).is_relative_to(tree):
            return _links_out(folder, common)
        if _knows(_resolved(folder, own), common, tree, folder):
            return ""
    except (OSError, ValueError) as error:
        return f"its `.git` can't be understood ({type(error).__name__})"
    return (
        f"its `.git` leads to {common}, which doesn't know this folder; if it is yours, run `git worktree repair` there, or "
        f"`git config core.worktree {tree}` here"
    )


def _knows(own: Path, common: Path, tree: Path, folder: Path) -> bool:
    """Tell whether a repository names this working tree as one of its own."""
    if own.parent == common / "worktrees":
        registered = (own / "gitdir").read_text("utf-8", "surrogateescape").strip()
        return _resolved(own, registered) == tree / ".git"
    named = _git(folder, "config", "--null", "--get", "core.worktree") if own == common else None
    return bool(named) and _resolved(common, str(named).removesuffix("\0")) == tree


def _links_out(folder: Path, common: Path) -> str:
    """Say which link in a repository leads out of it: with one, another's commits could be shown as its own."""
    head = _rev_parse(folder, "--symbolic-full-name", "HEAD") or "HEAD"
    seen = [common / head]
    for inner in ("", "refs", "refs/heads", "reftable", "objects", "objects/pack", "objects/info"):
        if (common / inner).is_dir():
            with os.scandir(common / inner) as found:
                seen += [Path(entry.path) for entry in found if entry.is_symlink()]
    out = [path for path in seen if not _resolved(path, "").is_relative_to(common)]
    return f"`{out[0]}` leads to another folder" if out else ""


def _rev_parse(folder: Path, *question: str) -> str | None:
    output = _git(folder, "rev-parse", *question)
    return None if output is None else output.removesuffix("\n")


def _resolved(base: Path, path: str | None) -> Path:
    """Return where a path leads that is written relative to a folder, or whole. Raises `ValueError` where there is none."""
    if path is None:
        raise ValueError("git gave no answer")
    return Path(os.path.realpath(base / path))


def git_program(folder: Path) -> str | None:
    """Find git, but never one that lies in the workspace (a PATH may hold ".")."""
    found = shutil.which("git")
    if found is None:
        return None
    program = Path(found).absolute()
    return None if program.is_relative_to(folder.absolute()) else str(program)


def _parse_status(listing: str, prefix: str) -> tuple[str | None, str | None, list[str], list[tuple[str, str]]]:
    """Read `git status --porcelain=v2 -z --branch`: (head, branch, dirty, renames)."""
    commit = branch = None
    dirty: list[str] = []
    renames: list[tuple[str, str]] = []
    fields = iter(listing.split("\0"))
    for entry in fields:
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            if key == "branch.oid" and _COMMIT.fullmatch(value):
                commit = value
            elif key == "branch.head" and value != "(detached)":
                branch = value
        elif kind == "1":
            dirty.append(rest.split(" ", 7)[7])
        elif kind == "2":
            new, old = rest.split(" ", 8)[8], next(fields, "")
            dirty += [old, new]
            if rest.split(" ", 8)[7].startswith("R"):
                renames.append((old, new))
        elif kind == "u":
            dirty.append(rest.split(" ", 9)[9])
        elif kind == "?":
            dirty.append(rest)

    def inside(path: str) -> bool:
        return path.startswith(prefix)

    def cut(path: str) -> str:
        return path[len(prefix) :]

    return (
        commit,
        branch,
        [cut(path) for path in dirty if inside(path)],
        [(cut(old), cut(new)) for old, new in renames if inside(old) and inside(new)],
    )


def _submodules(folder: Path) -> list[str]:
    """List the checked-out submodules below `folder`."""
    output = _git(folder, "ls-files", "--stage", "-z", "--", ".")
    found = []
    for entry in (output or "").split("\0"):
        meta, _, path = entry.partition("\t")
        if meta.startswith("160000 ") and (folder / path / ".git").exists():
            found.append(path)
    return found


def _git(folder: Path, *arguments: str, safe_hooks: bool = True) -> str | None:
    """Run one reading git command with everything configurable switched off; None if it fails in any way."""
    output = bytearray()

    def take(piece: bytes) -> None:
        output.extend(piece)
        if len(output) > _MOST_BYTES:
            raise ValueError("too long an answer")

    return os.fsdecode(bytes(output)) if _stream(folder, take, *arguments, safe_hooks=safe_hooks) else None


def _stream(folder: Path, take: Callable[[bytes], None], *arguments: str, safe_hooks: bool = True) -> bool:
    """Run one reading git command and hand on what it writes; tell whether it ended well. `take` refuses by `ValueError`."""
    config = dict(_SAFE_CONFIG)
    if not safe_hooks:
        del config["core.hooksPath"]
    if arguments[0] == "status":
        # `git status` would run a clean filter on a touched file; an empty command counts as none.
        for key in (_git(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\.") or "").split("\0"):
            if key:
                config[key] = "false" if key.lower().endswith(".required") else ""
    program = git_program(folder)
    if program is None:
        return False
    try:
        command = [program, "--no-pager", "--no-optional-locks", *arguments]
        return read_bounded(command, folder, _environment(config), take, TIMEOUT_S) == 0
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        _log.info("git %s gave no answer: %s", arguments[0], type(error).__name__)
        return False


def _environment(config: dict[str, str]) -> dict[str, str]:
    """Drop every GIT_* variable (a hook's GIT_DIR points elsewhere) and keys; pass `config` in a way that takes any key."""
    clean = child_environment()
    clean |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_CONFIG_COUNT": str(len(config))}
    clean["GIT_ALLOW_PROTOCOL"] = ""  # a repository's own `protocol.ext.allow` goes before the general setting
    for number, (key, value) in enumerate(config.items()):
        clean[f"GIT_CONFIG_KEY_{number}"] = key
        clean[f"GIT_CONFIG_VALUE_{number}"] = value
    return clean
