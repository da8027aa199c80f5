"""`carrel compare`: what chunks cost beside whole files."""

from __future__ import annotations

from pathlib import Path

from tests.frontends.cli.conftest import Run, one_json


def test_compare_counts_chunks_and_whole_files(run: Run) -> None:
    code, out, _ = run("compare", "verify a password", "--tokens", "70", "--json")
    answer = one_json(out)
    assert code == 0
    assert 0 < answer["chunks"]["tokens"] <= 70 < answer["wholeFiles"]["tokens"]
    assert "src/auth.py" in answer["wholeFiles"]["files"]
    assert "of the whole files' tokens" in run("compare", "verify a password")[1]


def test_compare_says_whether_retrieval_pays_here(run: Run, project: Path) -> None:
    """Spec A9: from about 100 files, 1,000-line files or a nearly full window (which `test_conversation` has)."""
    assert "Whole files would do here." in run("compare", "verify a password")[1]
    lines = "\n".join(f"def verify_{number}(password):\n    return password == {number}\n" for number in range(400))
    (project / "long.py").write_text(lines)
    assert "Retrieval pays here: a file has 1,199 lines." in run("compare", "verify a password")[1]
    for number in range(100):
        (project / f"part_{number}.py").write_text(f"def do_part_{number}():\n    return 'the part of number {number}'\n")
    assert "Retrieval pays here: the folder has 103 files" in run("compare", "verify a password")[1]
