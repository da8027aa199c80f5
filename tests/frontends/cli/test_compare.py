"""`carrel compare`: what chunks cost beside whole files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json


def test_compare_counts_chunks_and_whole_files(run: Run) -> None:
    code, out, _ = run("compare", "verify a password", "--tokens", "70", "--json")
    answer = one_json(out)
    assert code == 0
    assert 0 < answer["chunks"]["tokens"] <= 70 < answer["wholeFiles"]["tokens"]
    assert "src/auth.py" in answer["wholeFiles"]["files"]
    shown = run("compare", "verify a password")[1]
    assert "of the whole files' tokens" in shown
    assert "judged" not in shown


def test_chunks_of_20_50_and_100_lines_stand_beside_those_by_syntax(run: Run, project: Path) -> None:
    """Spec A9, with A1's sizes: the same files cut otherwise, each way with its tokens, time and files."""
    lines = "\n".join(f"def verify_{number}(password):\n    return password == {number}\n" for number in range(200))
    (project / "long.py").write_text(lines)
    answer = one_json(run("compare", "verify a password", "--tokens", "900", "--limit", "2", "--json")[1])
    by_lines = {way["lines"]: way for way in answer["byLines"]}
    assert list(by_lines) == [20, 50, 100]
    for way in by_lines.values():
        assert 0 < way["tokens"] <= 900
        assert way["elapsedMs"] > 0
        assert set(way["files"]) <= set(answer["wholeFiles"]["files"])
    shown = run("compare", "verify a password")[1]
    assert all(f"chunks of {lines} lines" in shown for lines in by_lines)


def test_compare_says_whether_retrieval_pays_here(run: Run, project: Path) -> None:
    """Spec A9: from about 100 files, 1,000-line files or a nearly full window (which `test_conversation` has)."""
    assert "Whole files would do here." in run("compare", "verify a password")[1]
    lines = "\n".join(f"def verify_{number}(password):\n    return password == {number}\n" for number in range(400))
    (project / "long.py").write_text(lines)
    assert "Retrieval pays here: a file has 1,199 lines." in run("compare", "verify a password")[1]
    for number in range(100):
        (project / f"part_{number}.py").write_text(f"def do_part_{number}():\n    return 'the part of number {number}'\n")
    assert "Retrieval pays here: the folder has 103 files" in run("compare", "verify a password")[1]


def test_a_model_that_cannot_be_asked_costs_its_column_alone(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "config/carrel/settings.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('[models.chat]\nprovider = "ollama"\nmodel = "gone"\nbaseUrl = "http://127.0.0.1:9"\n', "utf-8")
    code, shown, err = run("compare", "verify a password", "--answers")
    assert code == 0, err
    assert "retrieved chunks" in shown
    assert "can't be reached" in " ".join(shown.split())
    answer = one_json(run("compare", "verify a password", "--answers", "--json")[1])
    assert all("can't be reached" in answer["answers"][way]["problem"] for way in ("chunks", "wholeFiles"))


def test_the_whole_files_that_fit_are_counted(run: Run, project: Path) -> None:
    (project / "long.py").write_text("".join(f"def verify_{number}(password):\n    return {number}\n\n" for number in range(900)))
    answer = one_json(run("compare", "verify a password", "--tokens", "900", "--json")[1])
    assert 0 < answer["wholeFiles"]["fitting"] < len(answer["wholeFiles"]["files"])
    assert answer["chunks"]["fitting"] == len(answer["chunks"]["files"])
    assert "files that fit" in run("compare", "verify a password")[1]


def test_a_folder_without_files_is_called_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    _, shown, err = run("compare", "verify a password")
    assert "the folder holds no file to search" in err
    assert "whole files" not in shown
