"""Hooks in real repositories: git must run the block, and whatever was there before must not notice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from carrel.frontends.cli import git_hooks as hooks
from carrel.model.errors import InvalidInput

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the recording stand-in for Python is a shell script")


def run(folder: Path, *arguments: str) -> str:
    """Run git and wait for all that it starts: what goes on in the background holds the pipe open until it has ended."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    ended, held = os.pipe()
    with os.fdopen(ended, "rb") as everything_ended:
        try:
            done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, pass_fds=(held,))
        finally:
            os.close(held)
        everything_ended.read()
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "my repo"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    return folder


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the hooks start a script that writes down how it was called instead of Python."""
    record = tmp_path / "calls"
    script = tmp_path / "it's python"
    script.write_text(f'#!/bin/sh\necho "$PWD $* dir=${{GIT_DIR-}} nice=$(nice)" >> "{record}"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    return record


def recorded(calls: Path) -> list[str]:
    return calls.read_text().splitlines() if calls.exists() else []


def test_a_commit_indexes_the_work_tree_in_the_background(repository: Path, calls: Path) -> None:
    assert [result.outcome for result in hooks.install(repository)] == ["installed"] * 4
    run(repository, "commit", "-q", "--allow-empty", "-m", "x")
    assert recorded(calls) == [f"{repository} -m carrel index --background . dir= nice=19"]


def test_a_branch_switch_and_a_rebase_index_once_each(repository: Path, calls: Path) -> None:
    for name in ("a", "b", "c"):
        (repository / name).write_text(name)
        run(repository, "add", name)
        run(repository, "commit", "-q", "-m", name)
    run(repository, "branch", "other", "HEAD~2")
    hooks.install(repository)
    run(repository, "checkout", "-q", "other")
    assert len(recorded(calls)) == 1
    (repository / "d").write_text("d")
    run(repository, "add", "d")
    run(repository, "commit", "-q", "-m", "d")
    assert len(recorded(calls)) == 2
    run(repository, "rebase", "-q", "main")
    assert len(recorded(calls)) == 3


@pytest.mark.parametrize("ending", [b"exit 3\n", b"exec true", b"cat > seen\n# \xff\r\n"])
def test_an_existing_hook_keeps_working_and_comes_back_to_the_byte(repository: Path, calls: Path, ending: bytes) -> None:
    before = b"#!/usr/bin/env bash\necho ran >> ran\n" + ending
    hook = repository / ".git" / "hooks" / "post-commit"
    hook.write_bytes(before)
    hook.chmod(0o750)
    hooks.install(repository)
    run(repository, "commit", "-q", "--allow-empty", "-m", "x")
    assert (repository / "ran").read_text() == "ran\n"
    assert len(recorded(calls)) == 1
    hooks.remove(repository)
    assert hook.read_bytes() == before
    assert hook.stat().st_mode & 0o777 == 0o750


def test_installing_twice_changes_nothing_and_removing_leaves_no_trace(repository: Path, calls: Path) -> None:
    folder = repository / ".git" / "hooks"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    hooks.install(repository)
    assert [result.outcome for result in hooks.install(repository)] == ["unchanged"] * 4
    assert [result.outcome for result in hooks.remove(repository)] == ["removed"] * 4
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [result.outcome for result in hooks.remove(repository)] == ["absent"] * 4


def test_a_new_python_updates_the_block(repository: Path, calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.install(repository)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "other"))
    assert {result.outcome for result in hooks.install(repository)} == {"updated"}
    assert (repository / ".git" / "hooks" / "post-merge").read_text().count(">>>") == 2


def test_what_is_no_live_shell_script_is_left_alone_and_named(repository: Path, calls: Path) -> None:
    folder = repository / ".git" / "hooks"
    (folder / "post-commit").write_text("#!/usr/bin/env python3\nprint(1)\n")
    (folder / "post-commit").chmod(0o755)
    (folder / "post-merge").write_text("#!/bin/sh\n")
    (folder / "post-merge").chmod(0o644)
    (folder / "post-checkout").symlink_to("elsewhere")
    results = {result.hook: result for result in hooks.install(repository)}
    assert [results[hook].outcome for hook in hooks.HOOKS] == ["skipped", "skipped", "skipped", "installed"]
    assert "not a shell script" in results["post-commit"].reason
    assert "not executable" in results["post-merge"].reason
    assert "link" in results["post-checkout"].reason


def test_hooks_shared_by_all_repositories_act_for_this_one_only(repository: Path, calls: Path, tmp_path: Path) -> None:
    shared, other = tmp_path / "shared", tmp_path / "other"
    other.mkdir()
    run(other, "init", "-q")
    for folder in (repository, other):
        run(folder, "config", "core.hooksPath", str(shared))
    hooks.install(repository)
    run(other, "commit", "-q", "--allow-empty", "-m", "x")
    run(repository, "commit", "-q", "--allow-empty", "-m", "x")
    assert [line.split(" -m ")[0] for line in recorded(calls)] == [str(repository)]
    hooks.install(other)
    hooks.remove(repository)
    run(other, "commit", "-q", "--allow-empty", "-m", "y")
    assert [line.split(" -m ")[0] for line in recorded(calls)] == [str(repository), str(other)]


def test_a_linked_worktree_indexes_itself(repository: Path, calls: Path, tmp_path: Path) -> None:
    run(repository, "commit", "-q", "--allow-empty", "-m", "x")
    linked = tmp_path / "linked"
    run(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    hooks.install(linked)
    run(linked, "commit", "-q", "--allow-empty", "-m", "x")
    assert recorded(calls)[0].startswith(f"{linked} -m carrel")


def test_a_folder_inside_the_repository_is_what_is_indexed(repository: Path, calls: Path) -> None:
    folder = repository / "the service"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    run(repository, "add", "-A")
    assert {result.outcome for result in hooks.install(folder)} == {"installed"}
    run(repository, "commit", "-q", "-m", "x")
    assert recorded(calls) == [f"{repository} -m carrel index --background ./the service dir= nice=19"]
    assert {result.outcome for result in hooks.install(repository)} == {"updated"}
    assert {result.outcome for result in hooks.remove(folder)} == {"removed"}


def test_outside_a_repository_it_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not in a git repository"):
        hooks.install(tmp_path)
