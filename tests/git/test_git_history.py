"""Commits are read as far as they are the folder's own, within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.repositories import commit, history, logged, run

from carrel.git import git, git_process
from carrel.git.git_process import Records, read_bounded
from carrel.model.native import CancelToken
from carrel.sources.documents import git_mirror
from carrel.sources.documents.git_mirror import GitMirror
from carrel.system.background import directly


def test_history_names_what_each_commit_changed_and_left(repository: Path) -> None:
    (repository / "a.py").write_text("def a():\n    return 2\n")
    (repository / "new.py").write_text("n = 1\n")
    second = commit(repository, "Give two instead of one")
    (repository / "a.py").unlink()
    commit(repository, "Drop a")
    (repository / "new.py").write_text("n = 2\n")
    last = commit(repository, "Keep \x22quotes\x22 and ümläuts")
    records = history(repository, 10)
    assert records is not None
    assert [(r.sha, r.subject, set(r.paths)) for r in records[:2]] == [
        (last, 'Keep "quotes" and ümläuts', {"new.py"}),
        (second, "Give two instead of one", {"a.py", "new.py"}),
    ]
    assert records[2].paths == ("a.py", "sub/b c.py")
    below = history(repository / "sub", 10)
    assert below is not None
    assert [r.paths for r in below] == [("b c.py",)]
    assert history(repository.parent, 10) is None


def test_commits_are_logged_with_their_whole_message_and_only_the_new_ones(repository: Path) -> None:
    first = git.head(repository)
    (repository / "a.py").write_text("def a():\n    return 2\n")
    commit(repository, "Return two\n\nOne was wrong.\x1f Really.")
    [newest, oldest] = logged(repository) or []
    assert (newest.message, newest.paths) == ("Return two\n\nOne was wrong.\x1f Really.", ("a.py",))
    assert (oldest.sha, oldest.paths) == (first, ("a.py", "sub/b c.py"))
    assert [one.sha for one in logged(repository, since=first) or []] == [newest.sha]
    assert logged(repository, since="--output=x") is None
    assert git.descends(repository, first or "")
    assert not git.descends(repository, "0" * 40)


def test_lines_have_a_last_change_as_they_are_committed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2037-01-01T00:00:00Z")
    (repository / "a.py").write_text("def a():\n    return 2\n" + "def a():\n    return 1\n" * 4)
    newest = commit(repository, "Return two")
    change = git.last_change(repository, "a.py", 1, 2)
    assert change is not None
    assert (change.sha, change.author, change.subject, change.text) == (newest, "t", "Return two", "def a():\n    return 2")
    older = git.last_change(repository, "a.py", 3, 4)
    assert older is not None
    assert older.subject == "change"
    assert git.last_change(repository, "nothing.py", 1, 2) is None
    assert git.last_change(repository, "a.py", 3, 2) is None


def test_of_a_commit_of_many_files_no_half_path_is_kept(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {f"file{number:03}.py" for number in range(200)}
    for name in names:
        (repository / name).write_text(name)
    commit(repository, "Add many")
    for most in range(1_000, 1_012):
        monkeypatch.setattr(git, "_MOST_OF_A_COMMIT", most)
        [newest, *_] = logged(repository) or []
        assert 0 < len(newest.paths) < 200
        assert names.issuperset(newest.paths)
    (repository / "a.py").write_text("a = 2\n")
    commit(repository, "a" * 2_000)
    for most in range(2_150, 2_250):
        monkeypatch.setattr(git, "_MOST_OF_A_COMMIT", most)
        [newest, *_] = logged(repository) or []
        assert set(newest.message) == {"a"}


async def test_of_a_history_that_git_cannot_list_to_its_end_the_newest_part_is_given(repository: Path, tmp_path: Path) -> None:
    for number in range(4):
        (repository / "a.py").write_text(f"a = {number}\n")
        commit(repository, f"Set {number}")
    # The last entry before the break is given up: nothing says that it is whole.
    gone = run(repository, "rev-parse", "HEAD~3^{tree}")
    (repository / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    assert [one.subject for one in history(repository, 10) or []] == ["Set 3"]
    kept = tmp_path / "kept"
    mirror = GitMirror(repository, kept)
    assert await mirror.update(CancelToken(), directly) == 1
    assert "only the newest commits" in mirror.failed["."]
    again = GitMirror(repository, kept)
    assert await again.update(CancelToken(), directly) == 0
    assert "only the newest commits" in again.failed["."], "it is still so in the next process"
    (repository / "a.py").write_text("a = 4\n")
    commit(repository, "Set 4")
    assert await again.update(CancelToken(), directly) == 1
    [month] = again.texts.glob("*.md")
    assert [line for line in month.read_text("utf-8").split("\n") if line.startswith("# ")] == ["# Set 4", "# Set 3"]


async def test_of_the_history_as_much_is_read_as_there_is_room_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        commit(repository, f"Set {number}\n\n{'word ' * 100}")
        (repository / "a.py").write_text(f"a = {number}\n")
    monkeypatch.setattr(git_mirror, "_MOST_TEXT", 300)
    mirror = GitMirror(repository, tmp_path / "kept")
    assert (await mirror.update(CancelToken(), directly), mirror.failed) == (1, {})
    cancelled = CancelToken()
    cancelled.cancel()
    other = GitMirror(repository, tmp_path / "other")
    assert (await other.update(cancelled, directly), list(other.texts.glob("*.md"))) == (0, [])


@pytest.mark.skipif(sys.platform == "win32", reason="the slow program is a shell script")
def test_what_a_program_wrote_before_its_time_was_up_is_handed_on(tmp_path: Path) -> None:
    taken: list[bytes] = []
    with pytest.raises(subprocess.TimeoutExpired):
        read_bounded(["/bin/sh", "-c", "printf first; exec sleep 60"], tmp_path, os.environ, taken.append, 1.0)
    assert taken == [b"first"]


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
def test_a_slow_reader_costs_no_more_than_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_process, "_LAST_SECONDS", 0.1)
    goes_on, calls, ended = threading.Event(), [], []

    def slow(piece: bytes) -> None:
        calls.append(piece)
        goes_on.wait(60)
        ended.append(piece)

    with pytest.raises(subprocess.TimeoutExpired):
        read_bounded(["/bin/sh", "-c", "printf first; sleep 0.1; printf more; exec sleep 60"], tmp_path, os.environ, slow, 0.5)
    assert ended == [], "it didn't wait for what is being taken"
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name == "carrel-git":
            thread.join(10)
    assert calls == [b"first"], "and nothing is handed on afterwards"


async def test_new_commits_are_added_and_a_rewritten_history_is_read_anew(repository: Path, tmp_path: Path) -> None:
    mirror = GitMirror(repository, tmp_path / "kept")
    assert [await mirror.update(CancelToken(), directly) for _ in range(2)] == [1, 0]
    for name in ("one", "two"):
        (repository / "a.py").write_text(f"{name} = 1\n")
        commit(repository, f"Name it {name}")
    assert [await mirror.update(CancelToken(), directly) for _ in range(2)] == [2, 0]

    def subjects() -> list[str]:
        text = "".join(path.read_text("utf-8") for path in sorted(mirror.texts.glob("*.md"), reverse=True))
        return [line for line in text.split("\n") if line.startswith("# ")]

    assert subjects() == ["# Name it two", "# Name it one", "# change"]
    run(repository, "commit", "-q", "--amend", "-m", "Name it otherwise")
    assert await mirror.update(CancelToken(), directly) == 3
    assert subjects() == ["# Name it otherwise", "# Name it one", "# change"]


def test_a_commit_is_read_up_to_a_bound_and_the_others_whole(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_MOST_OF_A_COMMIT", 2_000)
    (repository / "message").write_text("Long\n\n" + "word " * 100_000)
    run(repository, "add", "message")
    run(repository, "commit", "-q", "-F", str(repository / "message"))
    (repository / "a.py").write_text("a = 1\n")
    commit(repository, "Short")
    commits = logged(repository)
    assert commits is not None
    assert [one.message.partition("\n")[0] for one in commits] == ["Short", "Long", "change"]
    assert len(commits[1].message) < 2_000
    assert commits[2].paths


def test_an_answer_that_is_too_long_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_process, "MOST_BYTES", 1_000)
    for number in range(100):
        (repository / f"file-{number:03}.py").write_text("")
    assert git.head(repository) is not None
    assert git.state(repository) is None


def test_git_is_started_without_keys(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "planted")
    seen: list[dict[str, str]] = []
    known = git_process.environment

    def watched(config: dict[str, str]) -> dict[str, str]:
        seen.append(known(config))
        return seen[-1]

    monkeypatch.setattr(git_process, "environment", watched)
    assert git.head(repository) is not None
    assert "SOME_API_KEY" not in seen[0]
    assert seen[0]["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_records_are_cut_at_marks_however_the_stream_was_cut(size: int) -> None:
    stream = b"before<mark>one<mark>" + b"x" * 50 + b"<mar<mark>"
    found: list[bytes] = []
    records = Records(b"<mark>", 10, found.append)
    for start in range(0, len(stream), size):
        records.add(stream[start : start + size])
    assert found == [b"before", b"one", b"x" * 10]
    records.end()
    assert found[3:] == [b""]


def test_what_people_write_never_cuts_the_list_of_commits(repository: Path) -> None:
    (repository / "a.py").write_text("changed")
    run(repository, "add", "a.py")
    # A name that ends like what stands before a mark, and characters that cut fields elsewhere.
    run(repository, "-c", "user.name=Walter", "commit", "-q", "-m", "Mend \x1e the \x1f pool")
    found = logged(repository)
    assert found is not None
    assert [(one.author, one.paths) for one in found] == [("Walter", ("a.py",)), ("t", ("a.py", "sub/b c.py"))]
    listed = history(repository, 10)
    assert listed is not None
    assert [(one.author, one.subject, one.paths) for one in listed] == [
        ("Walter", "Mend \x1e the \x1f pool", ("a.py",)),
        ("t", "change", ("a.py", "sub/b c.py")),
    ]


def test_messages_in_no_known_encoding_are_characters(repository: Path) -> None:
    by = b"Ren\xe9 <r@example.com> 1800000000 +0000"
    (repository / "a.py").write_text("changed")
    run(repository, "add", "a.py")
    tree, parent = run(repository, "write-tree").strip().encode(), run(repository, "rev-parse", "HEAD").strip().encode()
    raw = b"tree %s\nparent %s\nauthor %s\ncommitter %s\n\nFix the caf\xe9\n" % (tree, parent, by, by)
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=repository, input=raw, capture_output=True, check=True
    )
    run(repository, "update-ref", "HEAD", made.stdout.decode().strip())
    (newest, *_) = logged(repository, limit=1) or []
    assert (newest.author, newest.message) == ("Ren\ufffd", "Fix the caf\ufffd")
    (listed, *_) = history(repository, 10) or []
    assert (listed.author, listed.subject, listed.paths) == ("Ren\ufffd", "Fix the caf\ufffd", ("a.py",))
