"""What is asked in a wrong way, and in a batch, is answered line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

from carrel.frontends.cli.arguments import parser


def test_batch_answers_each_line_in_the_scorers_form(run: Run, project: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    rows = [
        {"id": f"q{n}", "repo": "r", "repo_dir": str(project), "query": text, "k": 3}
        for n, text in enumerate(("password", "pool"))
    ]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for extra in ((), ("--context", "--tokens", "200")):
        code, out, _ = run("batch", str(queries), *extra)
        answers = [json.loads(line) for line in out.splitlines()]
        assert code == 0
        assert [answer["id"] for answer in answers] == ["q0", "q1"]
        assert [answer["results"][0]["path"] for answer in answers] == ["src/auth.py", "src/pool.ts"]
        assert all(set(result) == {"path", "start_line", "end_line"} for answer in answers for result in answer["results"])


def test_a_batch_answers_what_it_can_and_names_the_bad_lines(run: Run, project: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    good = json.dumps({"id": 7, "repo_dir": str(project), "query": "password"})
    nowhere = json.dumps({"id": 8, "repo_dir": str(tmp_path / "none"), "query": "password"})
    queries.write_bytes(b'{"id": 1\n' + good.encode() + b"\n\n\xff\n" + nowhere.encode() + b"\n" + good.encode())
    code, out, err = run("batch", str(queries))
    assert code == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == [7, 7]
    assert [n for n in range(1, 7) if f"queries.jsonl, line {n}: " in err] == [1, 4, 5]
    assert "3 lines could not be answered" in err


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("search",),
        ("index", "nowhere"),
        ("search", "x", "--limit", "0"),
        ("explain", "x", "file-without-line"),
        ("context", "x", "--tokens", "1", "--chars", "1"),
        ("batch", "nowhere.jsonl"),
        ("hook", "install"),
        ("proxy", "--upstream", "http://localhost:1", "--port", "70000"),
        ("proxy", "--upstream", "http://localhost:1", "--port", "-1"),
    ],
)
def test_wrong_usage_is_exit_code_2_with_the_reason(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.strip()


def test_a_failure_is_one_json_value_too(run: Run) -> None:
    code, out, _ = run("search", "x", "--path", "nowhere", "--json")
    assert code == 2
    assert "nowhere is not a folder" in one_json(out)["error"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("search", "--json"), "QUERY"),
        (("search", "x", "--json", "--limit", "0"), "'0' is not a number above 0"),
        (("status", "--json", "--nonsense"), "--nonsense"),
        (("serach", "x", "--json"), "serach"),
        (("--json",), "COMMAND"),
    ],
)
def test_wrong_usage_is_one_json_value_too(run: Run, arguments: tuple[str, ...], reason: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert reason in one_json(out)["error"]
    assert reason in err


def test_json_behind_two_dashes_is_another_programs(run: Run) -> None:
    code, out, err = run("copilot-proxy", "--deadline-ms", "loud", "--", "server", "--json")
    assert (code, out) == (2, "")
    assert "usage: carrel copilot-proxy" in err


@pytest.mark.parametrize(
    ("typed", "same_as"),
    [
        ("--json agents last", "agents last --json"),
        ("agents --json last", "agents last --json"),
        ("--json models", "models list --json"),
        ("--path search --limit 3 search q", "search q --path search --limit 3"),
        ("--workspace mcp install --client claude", "mcp install --client claude --workspace"),
        ("--json tools add x -- program --json", "tools add x --json -- program --json"),
    ],
)
def test_options_count_before_a_command_too(typed: str, same_as: str) -> None:
    assert parser().parse_args(typed.split()) == parser().parse_args(same_as.split())
