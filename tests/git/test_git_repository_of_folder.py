"""Which repository's commits a folder gives: none of one that does not know it, or that borrows from elsewhere without leave."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.repositories import commit, history, logged, run

from carrel.git import git, git_process
from carrel.model.native import CancelToken
from carrel.sources.documents.git_mirror import GitMirror
from carrel.system.background import directly


def _file(folder: Path, private: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {private / '.git'}\n")


def _common(folder: Path, private: Path) -> None:
    run(folder, "init", "-q", "-b", "main")
    (folder / ".git" / "commondir").write_text(str(private / ".git"))


def _link(folder: Path, private: Path) -> None:
    (folder / ".git").symlink_to(private / ".git")


def _links(folder: Path, private: Path) -> None:
    run(folder, "init", "-q", "-b", "main")
    for name in ("objects", "refs"):
        (folder / ".git" / name).rename(folder / ".git" / f"{name}-before")
        (folder / ".git" / name).symlink_to(private / ".git" / name)


def _worktree(folder: Path, private: Path) -> None:
    run(private, "worktree", "add", "-q", "-b", "other", str(folder.parent / "registered"))
    (folder / ".git").write_text((folder.parent / "registered" / ".git").read_text())


def _borrows(folder: Path, private: Path) -> None:
    run(folder, "init", "-q", "-b", "main")
    # Nothing of its own: an older commit of the private repository as the parent would do as well.
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"# not mine\n{private / '.git' / 'objects'}\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text(run(private, "rev-parse", "HEAD") + "\n")


def _borrows_of_what_borrows(folder: Path, private: Path) -> None:
    _borrows(folder, private)
    objects = folder / ".git" / "objects"
    (objects / "inner" / "info").mkdir(parents=True)
    (objects / "info" / "alternates").rename(objects / "inner" / "info" / "alternates")
    (objects / "info" / "alternates").write_text("inner\n")


def _links_of_objects(folder: Path, private: Path) -> None:
    run(folder, "init", "-q", "-b", "main")
    for objects in (private / ".git" / "objects").glob("[0-9a-f][0-9a-f]"):
        own = folder / ".git" / "objects" / objects.name
        own.mkdir()
        for loose in objects.iterdir():
            (own / loose.name).symlink_to(loose)
    (folder / ".git" / "refs" / "heads" / "main").write_text(run(private, "rev-parse", "HEAD") + "\n")


def _worktree_of_what_borrows(folder: Path, private: Path) -> None:
    main = folder / "main"
    main.mkdir()
    _borrows(main, private)
    administration = main / ".git" / "worktrees" / "w"
    administration.mkdir(parents=True)
    for name, text in (("gitdir", "../../../../w/.git"), ("commondir", "../.."), ("HEAD", "ref: refs/heads/main")):
        (administration / name).write_text(text + "\n")
    (folder / "w").mkdir()
    (folder / "w" / ".git").write_text("gitdir: ../main/.git/worktrees/w\n")


@pytest.mark.parametrize(
    ("disguise", "opened"),
    [
        (_file, "."),
        (_common, "."),
        *(() if sys.platform == "win32" else ((_link, "."), (_links, "."), (_links_of_objects, "."))),
        (_worktree, "."),
        (_borrows, "."),
        (_borrows_of_what_borrows, "."),
        (_worktree_of_what_borrows, "w"),
    ],
)
async def test_a_folder_gives_no_commits_of_a_repository_that_does_not_know_it(
    repository: Path, tmp_path: Path, disguise: Callable[[Path, Path], None], opened: str
) -> None:
    commit(repository, "Of the private repository")
    (tmp_path / "cloned").mkdir()
    disguise(tmp_path / "cloned", repository)
    folder = tmp_path / "cloned" / opened
    (folder / "a.py").write_text((repository / "a.py").read_text())
    assert run(folder, "log", "-1", "--format=%s") == "Of the private repository", "git itself must be led astray"
    assert logged(folder, limit=1) is None
    assert history(folder, 1) is None
    assert git.last_change(folder, "a.py", 1, 2) is None
    mirror = GitMirror(folder, tmp_path / "kept")
    await mirror.update(CancelToken(), directly)
    assert list(mirror.failed) == ["."]
    assert not list(mirror.texts.glob("*.md"))


def test_commits_of_worktrees_submodules_and_separate_folders_are_given(repository: Path, tmp_path: Path) -> None:
    linked, outer, apart = tmp_path / "linked", tmp_path / "outer", tmp_path / "apart"
    run(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    for folder in (outer, apart):
        folder.mkdir()
        (folder / "a.py").write_text("a = 1\n")
    run(outer, "init", "-q")
    run(outer, "submodule", "add", "-q", str(repository), "libs/inner")
    commit(outer)
    run(outer / "libs/inner", "worktree", "add", "-q", "-b", "third", str(tmp_path / "third"))
    run(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    run(apart, "init", "-q", "--separate-git-dir", str(tmp_path / "apart.git"))
    commit(apart)
    assert logged(apart, limit=1) is None, "nothing tells it from a planted file"
    git_process._foreign.cache_clear()
    run(apart, "config", "core.worktree", str(apart))
    for folder in (repository, repository / "sub", linked, outer, outer / "libs/inner", tmp_path / "third", apart):
        assert git_process.foreign(folder) == "", folder
        assert logged(folder, limit=1), folder
    assert git_process.foreign(tmp_path / "bare.git") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="the slow program is a shell script")
def test_a_slow_git_makes_no_repository_the_folders_own(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cloned").mkdir()
    _borrows(tmp_path / "cloned", repository)
    with monkeypatch.context() as patched:
        slow = tmp_path / "bin" / "git"
        slow.parent.mkdir()
        slow.write_text("#!/bin/sh\nexec /bin/sleep 5\n")
        slow.chmod(0o755)
        patched.setenv("PATH", str(slow.parent))
        patched.setattr(git_process, "TIMEOUT_S", 0.1)
        assert "too slow" in git_process.foreign(tmp_path / "cloned")
        assert "too slow" in git_process.foreign(repository)
    assert "borrows" in git_process.foreign(tmp_path / "cloned")
    assert git_process.foreign(repository) == "", "what git couldn't say isn't remembered"


@pytest.mark.parametrize("how", ["--shared", "--reference"])
def test_a_clone_that_borrows_objects_gives_its_commits_once_the_person_allows_it(
    repository: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    clone = tmp_path / "clone"
    options = [how] if how == "--shared" else [how, str(repository), "--no-local"]
    run(tmp_path, "clone", "-q", *options, str(repository), str(clone))
    assert (clone / ".git" / "objects" / "info" / "alternates").exists()
    run(clone, "config", git_process.BORROWING, str(repository))  # what came with a folder can't allow itself anything
    why = git_process.foreign(clone)
    assert f"git config --global --add {git_process.BORROWING}" in why
    assert logged(clone) is None
    git_process._foreign.cache_clear()
    run(tmp_path, *why.rpartition("`git ")[2].removesuffix("`").split())  # what the message says
    assert git_process.foreign(clone) == ""
    assert [one.message for one in logged(clone) or []] == ["change"]
    assert history(clone, 1)
    assert git.last_change(clone, "a.py", 1, 2) is not None
