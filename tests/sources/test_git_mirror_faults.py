"""A history is kept whole whatever stops a run: a kill between any two writes, a full disk, a git that gives no answer."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.support.repositories import run

from carrel.git import git_process as git_ownership
from carrel.git.git_process import NoAnswer
from carrel.model.errors import StoreError
from carrel.model.native import CancelToken
from carrel.sources.documents import git_mirror
from carrel.sources.documents.git_mirror import GitMirror
from carrel.system.background import directly
from carrel.system.filesystem import replace_file


class Killed(BaseException):
    """No code may handle it, as a kill."""


def commit(folder: Path, name: str, month: int) -> None:
    (folder / "a.py").write_text(f"a = {name!r}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_COMMITTER_DATE", f"2026-{month:02}-01T12:00:00+00:00")
        run(folder, "commit", "-q", "-a", "-m", name)


async def update(mirror: GitMirror) -> int:
    return await mirror.update(CancelToken(), directly)


def texts(mirror: GitMirror) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in mirror.texts.glob("*.md")}


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, *, after: bool) -> list[str]:
    """Have the change of a file with this number fail, before or after it is made; return the list of those that began."""
    begun: list[str] = []

    def failing(change: Callable[..., None], path: Path, *given: object, **named: object) -> None:
        begun.append(path.name)
        if len(begun) - 1 == number and not after:
            raise error
        change(path, *given, **named)
        if len(begun) - 1 == number:
            raise error

    unlink = Path.unlink
    monkeypatch.setattr(git_mirror, "replace_file", lambda path, content: failing(replace_file, path, content))

    def failing_unlink(path: Path, **named: bool) -> None:
        (unlink if path.name.startswith(".") else partial(failing, unlink))(path, **named)

    monkeypatch.setattr(Path, "unlink", failing_unlink)
    return begun


def grow(folder: Path) -> None:
    for month in (2, 3, 4):
        commit(folder, f"New in {month}", month)


def rewrite(folder: Path) -> None:
    run(folder, "reset", "-q", "--hard", "HEAD~2")
    commit(folder, "Otherwise", 3)


def nothing(_: Path) -> None:
    pass


@pytest.mark.parametrize("then", [nothing, rewrite, grow, lambda folder: run(folder, "reset", "-q", "--hard", "ORIG")])
@pytest.mark.parametrize("change", [grow, rewrite])
async def test_after_a_kill_between_any_two_writes_each_commit_is_there_once(
    repository: Path, tmp_path: Path, change: Callable[[Path], None], then: Callable[[Path], None]
) -> None:
    for month in (1, 2, 3):
        commit(repository, f"Old in {month}", month)
    run(repository, "tag", "ORIG")
    for number, after in ((number, after) for number in itertools.count() for after in (False, True)):
        run(repository, "reset", "-q", "--hard", "ORIG")
        kept = tmp_path / f"kept-{number}-{after}"
        await update(GitMirror(repository, kept))
        change(repository)
        with pytest.MonkeyPatch.context() as patched:
            begun = fail_at(patched, number, Killed(), after=after)
            try:
                await update(GitMirror(repository, kept))
            except Killed:
                pass
            else:
                assert number == len(begun) > 3
                return
        then(repository)
        await update(mirror := GitMirror(repository, kept))
        await update(fresh := GitMirror(repository, tmp_path / f"fresh-{number}-{after}"))
        assert texts(mirror) == texts(fresh), (begun, after)


@pytest.mark.parametrize("change", [grow, rewrite])
async def test_a_full_disk_costs_no_commit_that_was_read(
    repository: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    for month in (1, 2, 3):
        commit(repository, f"Old in {month}", month)
    run(repository, "tag", "ORIG")
    for number in itertools.count():
        run(repository, "reset", "-q", "--hard", "ORIG")
        mirror = GitMirror(repository, tmp_path / f"kept-{number}")
        await update(mirror)
        change(repository)
        with pytest.MonkeyPatch.context() as patched:
            fail_at(patched, number, OSError(errno.ENOSPC, "No space left on device"), after=False)
            failure: StoreError | None = None
            try:
                await update(mirror)
            except StoreError as error:
                failure = error
        if failure is None:
            return
        assert "No space left on device" in str(failure)
        told = "".join(texts(mirror).values())
        assert told.count("# Old in 1\n") == 1
        assert told.count("# change\n") == 1


@pytest.mark.parametrize("error", [NoAnswer(), OSError(errno.EMFILE, "Too many open files")])
async def test_a_history_stays_while_nobody_can_say_whose_it_is(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    mirror = GitMirror(repository, tmp_path / "kept")
    assert await update(mirror) == 1
    before = texts(mirror)
    git_ownership._foreign.cache_clear()

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(git_ownership, "_leads_out", fail)
        assert await update(mirror) == 0
        assert "what was read before is kept" in mirror.failed["."]
        assert texts(mirror) == before
    commit(repository, "Later", 2)
    assert (await update(mirror), mirror.failed) == (1, {})
