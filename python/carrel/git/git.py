"""What git knows about a workspace: HEAD, dirty files, renames, and what each commit changed.

The index doesn't ask it what changed: comparing all files by size and time is quicker (docs/benchmarks.md, "Branch switches").

`git_process` runs git so that nothing of a repository is executed; commits are given only of the folder's own repository.
No answer (no git, no repository, a broken one, a slow disk, too long a one) is `None`. Lists of commits give
the newest ones in the time that there is.

Every function starts a process: call them on a worker thread. Paths are relative to the given folder, `/`-separated; what git
knows about outside it is left out.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from carrel.git.git_process import Enough, Records, ask, foreign, stream
from carrel.model.published import is_commit

LOG_SECONDS = 60.0
"""For the whole history: what came until then counts."""
_MOST_OF_A_COMMIT = 100_000
"""Bytes of one commit's entry; what is beyond is left out."""
_SCHEMES = ("http", "https", "ssh", "git", "git+ssh")


class GitState(Struct, frozen=True):
    """A repository as it stands now. `head` is None before the first commit, `branch` on a detached HEAD."""

    root: Path
    head: str | None
    branch: str | None
    dirty: tuple[str, ...]  # modified, staged, untracked, deleted; submodules' files included
    renames: tuple[tuple[str, str], ...]  # (old, new), as far as git noticed


def head(folder: Path) -> str | None:
    """Give the full hash of the checked-out commit."""
    output = ask(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return output.strip() if output is not None and is_commit(output.strip()) else None


def state(folder: Path) -> GitState | None:
    """Describe the repository that `folder` lies in."""
    place = ask(folder, "rev-parse", "--show-toplevel", "--show-prefix")
    if place is None:
        return None
    # A folder's name may hold a line break, its last line may not: the prefix is empty or ends with "/".
    top, _, prefix = place.removesuffix("\n").rpartition("\n")
    listing = ask(
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


class LoggedCommit(Struct, frozen=True):
    """One commit with its whole message; `at` is when it was committed, ISO 8601 with the committer's offset."""

    sha: str
    author: str
    at: str
    message: str
    paths: tuple[str, ...]


def log(folder: Path, take: Callable[[LoggedCommit], None], *, limit: int, since: str | None = None) -> bool:
    """Hand on the commits of `HEAD` that changed something under `folder`, newest first; tell whether all came.

    Only those after `since` where it is given. `take` ends it by raising `Enough`.
    """
    if since is not None and not is_commit(since):
        return False

    def read(fields: Sequence[str]) -> None:
        sha, author, at, message, names = fields
        take(LoggedCommit(sha, _legible(author), at, _legible(message).strip(), _paths(names)))

    return _commits(
        folder, read, ("%an", "%cI", "%B"), f"--max-count={limit}", f"{since}..HEAD" if since else "HEAD", seconds=LOG_SECONDS
    )


def _commits(folder: Path, take: Callable[[Sequence[str]], None], fields: Sequence[str], *which: str, seconds: float) -> bool:
    """Hand on each commit's hash, fields and paths as soon as git has written them all; tell whether all commits came."""
    if foreign(folder):
        return False
    mark = secrets.token_hex(16)  # no message, name or path can hold what is chosen now

    def read(entry: bytes) -> None:
        parts = os.fsdecode(entry).split(f"{mark}+")
        if len(entry) == _MOST_OF_A_COMMIT:  # cut off: half a path names another file, half a mark is no text
            parts[-1] = parts[-1].rpartition("\0")[0] if len(parts) == len(fields) + 2 else parts[-1][: -len(mark)]
        if is_commit(parts[0]):  # else it is what stands before the first
            parts += [""] * (len(fields) + 2 - len(parts))  # so long a message that nothing behind it was kept
            take(parts)

    entries = Records(f"{mark}-".encode(), _MOST_OF_A_COMMIT, read)
    whole = stream(
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
        f"--format={mark}-%H{''.join(f'{mark}+{field}' for field in fields)}{mark}+",
        *which,
        "--",
        ".",
        seconds=seconds,
    )
    if whole:
        try:
            entries.end()
        except Enough:
            return False
    return whole


def _paths(names: str) -> tuple[str, ...]:
    return tuple(path for path in re.split(r"[\0\n]", names) if path)


def _legible(text: str) -> str:
    """Return what a commit says as characters: some are in no encoding that git knows."""
    return os.fsencode(text).decode("utf-8", "replace")


def descends(folder: Path, ancestor: str) -> bool:
    """Tell whether `HEAD` holds this commit."""
    return is_commit(ancestor) and ask(folder, "merge-base", "--is-ancestor", ancestor, "HEAD") is not None


class LastChange(Struct, frozen=True):
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
    output = ask(folder, "blame", "--porcelain", "--no-textconv", "-L", f"{first},{last}", "HEAD", "--", path)
    commits: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    lines = []
    for line in (output or "").split("\n"):
        name, _, value = line.partition(" ")
        if line.startswith("\t"):
            lines.append(line[1:])
        elif is_commit(name):
            fields = commits.setdefault(name, {})
        else:
            fields.setdefault(name, value)
    newest = max(commits, key=lambda sha: int(commits[sha].get("committer-time") or 0), default=None)
    if newest is None:
        return None
    commit = commits[newest]
    at = int(commit.get("committer-time") or 0)
    return LastChange(newest, commit.get("author", ""), at, commit.get("summary", ""), "\n".join(lines))


def origin(folder: Path) -> str:
    """Return which repository `folder` is a checkout of: `owner/name`, or all groups and the name, by its remote `origin`.

    Empty where there is none, and where the remote is a folder. The host doesn't count: the same repository has several names of
    hosts in people's configurations of SSH.
    """
    remote = (ask(folder, "remote", "get-url", "origin") or "").strip()
    return repository_of(remote)


def repository_of(remote: str) -> str:
    """Return the path on its host that a remote's URL names: `acme/billing` of `git@example.com:acme/billing.git`."""
    scheme, mark, rest = remote.partition("://")
    host, _, path = rest.partition("/") if mark else remote.partition(":")
    user, at, name = host.rpartition("@")
    # Without a scheme it is `host:path`, but for `C:\\folder`.
    is_host = bool(host) if mark else len(name) > 1 and "/" not in host and bool(user) == bool(at) and "@" not in user
    path = path if is_host and (not mark or scheme in _SCHEMES) else ""
    return "/".join(part for part in path.removesuffix("/").removesuffix(".git").split("/") if part)


def prefix(folder: Path) -> str:
    """Return the path of `folder` inside its checkout: empty for the top folder, else with a slash at its end."""
    return (ask(folder, "rev-parse", "--show-prefix") or "").removesuffix("\n")


def hooks_folder(folder: Path) -> Path | None:
    """Give the folder whose hooks git runs for `folder`: it respects `core.hooksPath` and worktrees' common folder."""
    output = ask(folder, "rev-parse", "--git-path", "hooks", safe_hooks=False)
    return (folder / output.removesuffix("\n")).absolute() if output else None


def common_folder(folder: Path) -> Path | None:
    """Give the repository's own folder (`.git`), which all its worktrees share."""
    output = ask(folder, "rev-parse", "--git-common-dir")
    return (folder / output.removesuffix("\n")).resolve() if output else None


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
            if key == "branch.oid" and is_commit(value):
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
    output = ask(folder, "ls-files", "--stage", "-z", "--", ".")
    paths = []
    for entry in (output or "").split("\0"):
        meta, _, path = entry.partition("\t")
        if meta.startswith("160000 ") and (folder / path / ".git").exists():
            paths.append(path)
    return paths
