"""What git knows, asked from real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.repositories import commit, history, logged, run

from carrel.git import git, git_process


def test_a_clean_repository_has_a_head_and_nothing_dirty(repository: Path) -> None:
    state = git.state(repository)
    assert state is not None
    assert state.head == run(repository, "rev-parse", "HEAD") == git.head(repository)
    assert (state.branch, state.dirty, state.renames) == ("main", (), ())


def test_dirty_files_are_those_modified_staged_untracked_and_deleted(repository: Path) -> None:
    (repository / "a.py").write_text("changed")
    (repository / "new ü.py").write_text("x")
    (repository / "staged.py").write_text("x")
    run(repository, "add", "staged.py")
    (repository / "sub" / "b c.py").unlink()
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "noise.log").write_text("x")
    state = git.state(repository)
    assert state is not None
    assert state.dirty == (".gitignore", "a.py", "new ü.py", "staged.py", "sub/b c.py")


def test_a_staged_rename_is_seen_under_both_names(repository: Path) -> None:
    run(repository, "mv", "a.py", "z.py")
    state = git.state(repository)
    assert state is not None
    assert state.renames == (("a.py", "z.py"),)
    assert state.dirty == ("a.py", "z.py")


def test_paths_are_relative_to_the_folder_asked_about(repository: Path) -> None:
    (repository / "a.py").write_text("changed")
    (repository / "sub" / "b c.py").write_text("changed")
    state = git.state(repository / "sub")
    assert state is not None
    assert state.root == repository.resolve()
    assert state.dirty == ("b c.py",)


def test_before_the_first_commit_there_is_a_state_without_head(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.py").write_text("x")
    state = git.state(tmp_path)
    assert state is not None
    assert (state.head, state.branch, state.dirty) == (None, "main", ("a.py",))
    assert git.head(tmp_path) is None


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    run(repository, "checkout", "-q", "--detach")
    state = git.state(repository)
    assert state is not None
    assert state.branch is None


def test_a_linked_worktree_answers_for_itself(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    run(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    (linked / "a.py").write_text("changed there")
    there, here = git.state(linked), git.state(repository)
    assert there is not None
    assert here is not None
    assert (there.branch, there.dirty, here.dirty) == ("other", ("a.py",), ())


def test_dirty_files_of_a_submodule_are_named_with_its_folder(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    run(outer, "init", "-q")
    run(outer, "submodule", "add", "-q", str(repository), "libs/inner")
    commit(outer)
    (outer / "libs" / "inner" / "a.py").write_text("changed")
    state = git.state(outer)
    assert state is not None
    assert state.dirty == ("libs/inner/a.py",)
    inside = git.state(outer / "libs" / "inner")
    assert inside is not None
    assert inside.dirty == ("a.py",)


def test_no_repository_and_a_broken_one_give_none(tmp_path: Path, repository: Path) -> None:
    assert git.state(tmp_path) is None
    assert git.head(tmp_path) is None
    assert git.hooks_folder(tmp_path) is None
    (repository / ".git" / "HEAD").write_text("nonsense")
    assert git.state(repository) is None


def test_missing_git_and_git_inside_the_workspace_give_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = repository / "git"
    fake.write_text("#!/bin/sh\ntouch executed\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(repository))
    assert git.state(repository) is None
    assert not (repository / "executed").exists()
    monkeypatch.setenv("PATH", "")
    assert git.state(repository) is None


def test_a_slow_git_gives_none(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec /bin/sleep 5\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent))
    monkeypatch.setattr(git_process, "TIMEOUT_S", 0.1)
    assert git.state(repository) is None


def test_a_hooks_git_variables_do_not_lead_elsewhere(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))
    assert git.head(repository) is not None


def test_nothing_that_a_repository_configures_is_executed(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path / "sprung"}\ncat\n')
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py filter=evil=1 diff=evil\n")
    (repository / ".git" / "info" / "attributes").write_text("*.py filter=evil=1 diff=evil\n")
    commit(repository)
    for key in (
        "core.fsmonitor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "gpg.program",
    ):
        run(repository, "config", key, str(trap))
    run(repository, "config", "log.showSignature", "true")
    signed = run(repository, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (tmp_path / "signed").write_text(signed + "\n", "utf-8")
    run(repository, "update-ref", "HEAD", run(repository, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed")))
    with (repository / ".git" / "config").open("a") as file:
        file.write(f'[filter "evil=1"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n')
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.write_text(trap.read_text())
    hook.chmod(0o755)
    (repository / "a.py").write_text("def a():\n    return 2\n" * 5)
    subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
    assert (tmp_path / "sprung").exists(), "the traps must be live for this test to mean anything"
    (tmp_path / "sprung").unlink()
    subprocess.run(["git", "log", "-1"], cwd=repository, check=False, capture_output=True)
    assert (tmp_path / "sprung").exists(), "git would verify the signature by a program of the repository's choice"
    (tmp_path / "sprung").unlink()
    (repository / "a.py").write_text("def a():\n    return 3\n" * 5)

    state = git.state(repository)
    assert state is not None
    assert "a.py" in state.dirty
    assert history(repository, 10)
    assert logged(repository)
    assert git.last_change(repository, "a.py", 1, 2) is not None
    assert git.hooks_folder(repository) is not None
    assert not (tmp_path / "sprung").exists()


def test_a_git_that_fetches_what_is_missing_runs_no_program_of_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a.py").write_text("def a():\n    return 2\n")
    commit(repository, "Return two")
    gone = run(repository, "rev-parse", "HEAD~1^{tree}")
    (repository / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    sprung = tmp_path / "sprung"
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::sh -c touch% {sprung}"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):
        run(repository, "config", key, value)
    known = git_process.environment

    def older(config: dict[str, str]) -> dict[str, str]:  # before 2.45 git doesn't know the variable
        return {name: value for name, value in known(config).items() if name != "GIT_NO_LAZY_FETCH"}

    monkeypatch.setattr(git_process, "environment", older)
    logged(repository)
    assert not sprung.exists()
    monkeypatch.setattr(git_process, "environment", lambda config: {**older(config), "GIT_ALLOW_PROTOCOL": "ext"})
    logged(repository)
    assert sprung.exists(), "the trap must be live for this test to mean anything"


def test_the_hooks_folder_follows_configuration_and_worktrees(repository: Path, tmp_path: Path) -> None:
    assert git.hooks_folder(repository) == (repository / ".git" / "hooks").absolute()
    linked = tmp_path / "linked"
    run(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    assert git.hooks_folder(linked) == (repository / ".git" / "hooks").absolute()
    run(repository, "config", "core.hooksPath", "tools/hooks")
    assert git.hooks_folder(repository) == (repository / "tools" / "hooks").absolute()
