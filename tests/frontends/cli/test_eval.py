"""`carrel eval` and `carrel compare`: what is measured on a folder's history and files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json


def test_eval_measures_on_the_folders_own_history(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run("eval")
    assert (code, "has no git history" in err) == (1, True)
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(tmp_path))
        code, _, err = run("eval")
        assert (code, "Install git" in err) == (1, True)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for path, subject in (
        ("src/auth.py", "Verify the password of a user"),
        ("src/pool.ts", "Add a pool of connections"),
    ):
        subprocess.run([*git, "add", path], check=True)
        subprocess.run([*git, "commit", "-q", "-m", subject], check=True)
    code, out, _ = run("eval", "--json")
    summary = one_json(out)
    assert code == 0
    assert (summary["questions"], summary["ndcg10"], summary["recall_at"]["500"]) == (2, 1.0, 1.0)
    assert {tally["kind"] for tally in summary["needles"]} >= {"identifier"}
    assert (summary["confidence"]["area"], summary["complete"]) == (1.0, True)
    assert summary["confidence"]["foreign"] > 20
    assert one_json(run("eval", "--json")[1])["needles"] == summary["needles"]
    code, out, _ = run("eval")
    assert out.startswith("2 questions")
    assert "an own one has the higher confidence in 100.0% of all pairs" in out


def test_a_history_that_is_not_read_is_told_with_the_reason(run: Run, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    git = ["git", "-C", str(other), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    (project / ".git").write_text(f"gitdir: {other / '.git'}\n")
    code, _, err = run("eval")
    assert (code, "doesn't know this folder" in err) == (1, True)


def test_compare_counts_chunks_and_whole_files(run: Run) -> None:
    code, out, _ = run("compare", "verify a password", "--tokens", "70", "--json")
    answer = one_json(out)
    assert code == 0
    assert 0 < answer["chunks"]["tokens"] <= 70 < answer["wholeFiles"]["tokens"]
    assert "src/auth.py" in answer["wholeFiles"]["files"]
    assert "of the whole files' tokens" in run("compare", "verify a password")[1]
