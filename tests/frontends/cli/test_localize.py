"""`carrel localize`: an issue, a trace or a question in, files and functions out."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

ISSUE = """verify_password accepts a wrong password when the salt is empty

I expected that nobody comes in without the right password. Since the last release the digest of an empty salt
matches, and every account that was made by the importer is open to anybody who knows its name.

```python
assert not verify_password(user, "guess")
```
"""
TRACE = 'Traceback (most recent call last):\n  File "/srv/app/src/auth.py", line 16, in record_failure\nKeyError: None\n'


def paths(answer: dict[str, list[dict[str, str]]], key: str = "files") -> list[str]:
    return [found["path"] for found in answer[key]]


def test_an_issue_leads_to_files_with_reasons_and_to_functions(run: Run) -> None:
    code, out, _ = run("localize", ISSUE, "--json")
    answer = one_json(out)
    assert (code, answer["issue"]) == (0, True)
    assert paths(answer)[0] == "src/auth.py"
    assert answer["files"][0]["reasons"][-1].startswith("number 1 for the title")
    best = answer["places"][0]
    assert (best["symbol"], best["path"], best["endLine"]) == ("verify_password", "src/auth.py", 9)
    assert 0 < best["score"] <= 1
    code, out, err = run("localize", ISSUE)
    assert code == 0
    assert "number 1 for the title" in out
    assert "src/auth.py:1-9  " in out
    assert "read as an issue" in err


@pytest.mark.parametrize("source", [("-",), ("--file", "-"), ("--file", "issue.txt")])
@pytest.mark.parametrize(
    "data", [TRACE.encode(), TRACE.replace("\n", "\r\n").encode() + b"\xff\n", codecs.BOM_UTF16_LE + TRACE.encode("utf-16-le")]
)
def test_the_text_may_stand_in_a_file_or_on_standard_input(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch, source: tuple[str, ...], data: bytes
) -> None:
    (project / "issue.txt").write_bytes(data)
    (project / ".carrelignore").write_text("issue.txt\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    code, out, _ = run("localize", *source, "--json")
    answer = one_json(out)
    assert (code, paths(answer)[0]) == (0, "src/auth.py")
    assert answer["places"][0]["symbol"] == "LoginThrottle"
    assert "the last of its files in the trace" in answer["files"][0]["reasons"]


def test_the_name_of_a_file_as_text_is_told(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "issue.txt").write_text(TRACE)
    code, _, err = run("localize", "issue.txt")
    assert code == 0
    assert "`--file issue.txt` reads it" in err
    code, out, err = run("localize", "issue.txt", "--json")
    assert (code, one_json(out)["issue"]) == (0, False)
    assert "`--file issue.txt` reads it" in err
    assert "reads it" not in run("localize", ISSUE)[2]
    assert "reads it" not in run("localize", "x" * 5_000)[2]


def test_a_question_gives_files_by_their_best_hit(run: Run) -> None:
    code, out, _ = run("localize", "how is a database connection acquired?", "--limit", "1", "--json")
    answer = one_json(out)
    assert (code, answer["issue"], paths(answer), len(answer["places"])) == (0, False, ["src/pool.ts"], 1)
    assert "connection" in answer["files"][0]["reasons"][0]
    code, out, err = run("localize", "how is a database connection acquired?")
    assert out.splitlines()[1] == "  src/pool.ts"
    assert "read as a question" in err


def test_a_text_that_nothing_answers_finds_nothing(run: Run) -> None:
    code, out, err = run("localize", "zzqqx")
    assert (code, out) == (0, "")
    assert "Nothing in the project fits this question." in err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "TEXT"),
        (("",), "empty"),
        ((" \n\t",), "empty"),
        (("text", "--file", "issue.txt"), "not allowed with"),
        (("--file", "nowhere.txt"), "nowhere.txt can't be read"),
        (("text", "--limit", "0"), "not a number above 0"),
        (("text", "--path", "nowhere"), "not a folder"),
    ],
)
def test_wrong_usage_says_why(run: Run, arguments: tuple[str, ...], reason: str) -> None:
    code, out, err = run("localize", *arguments)
    assert (code, out) == (2, "")
    assert reason in err
    code, out, _ = run("localize", *arguments, "--json")
    assert code == 2
    assert reason in one_json(out)["error"]


def test_help_shows_an_example(run: Run) -> None:
    code, out, _ = run("localize", "--help")
    assert code == 0
    assert "| carrel localize - --path" in out
