"""A settings file that can't be read, or not as it was meant: every command says so in the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

ASKING = (("search", "password"), ("context", "password"), ("files", "password"), ("compare", "password"))
READING = (("index",), ("status",), ("clear",), ("explain", "password", "src/auth.py:6"), *ASKING)


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_broken_settings_file_stops_each_command(run: Run, project: Path, command: tuple[str, ...]) -> None:
    (project / ".carrel.toml").write_text('exclude = ["src/auth.py"]\nmaxFileBytes = = 3\n')
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert str(project / ".carrel.toml") in err
    assert "line 2, column 16" in err
    code, out, _ = run(*command, "--json")
    assert code == 1
    assert "line 2, column 16" in one_json(out)["error"]


def test_so_does_the_users_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "config" / "carrel" / "settings.toml"
    path.parent.mkdir(parents=True)
    path.write_text("exclude = [\n")
    for command in ASKING:
        code, _, err = run(*command)
        assert code == 1
        assert str(path) in err


def test_what_was_excluded_stays_out_of_a_batch(run: Run, project: Path, tmp_path: Path) -> None:
    (project / ".carrel.toml").write_text('exclude = ["auth.py"]\n')
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps({"id": 1, "repo_dir": str(project), "query": "verify_password", "k": 9}))
    code, out, _ = run("batch", str(queries))
    assert code == 0
    assert "auth.py" not in out
    (project / ".carrel.toml").write_text("exclude = [\n")
    code, out, err = run("batch", str(queries))
    assert (code, out) == (1, "")
    assert "queries.jsonl, line 1: " in err
    assert ".carrel.toml" in err


def test_what_a_file_says_amiss_is_told_alike(run: Run, project: Path) -> None:
    (project / ".carrel.toml").write_text('exclude = "*.py"\nexclde = []\n')
    told = set()
    for command in (("index",), ("status",), *ASKING):
        for extra in ((), ("--json",)):
            code, _, err = run(*command, *extra)
            assert code == 0
            told.add(tuple(line for line in err.splitlines() if line.startswith("setting: ")))
    assert told == {
        (
            "setting: .carrel.toml: exclude: must be a list, not text",
            "setting: .carrel.toml: exclde: there is no such setting",
        )
    }


def test_doctor_names_the_broken_file(run: Run, project: Path) -> None:
    (project / ".carrel.toml").write_text("exclude = [\n")
    code, out, _ = run("doctor", "--json")
    [finding] = [f for f in one_json(out)["findings"] if f["level"] == "error"]
    assert code == 1
    assert str(project / ".carrel.toml") in finding["remedy"]
