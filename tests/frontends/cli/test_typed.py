"""What people type that isn't quite a command: it works all the same, or they are told what would."""

from __future__ import annotations

import io
import sys
from argparse import _SubParsersAction
from importlib import import_module
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json

from carrel.frontends import cli
from carrel.frontends.cli.arguments import parser


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("command", [["index"], ["status"], ["doctor"], ["hook", "remove"], ["clear"]])
def test_a_folder_is_named_by_either_form(run: Run, project: Path, tmp_path: Path, command: list[str]) -> None:
    here, missing = str(project), str(tmp_path / "missing")
    assert run(*command, "--path", here)[0] == run(*command, here)[0]
    assert run(*command, "--path", missing)[::2] == run(*command, missing)[::2]
    code, _, err = run(*command, str(project), "--path", missing)
    assert code == 2
    assert "named twice" in err


def test_a_command_that_takes_a_folder_otherwise_says_how(run: Run, project: Path) -> None:
    for command in (["search", "foo"], ["context", "foo"], ["files", "foo"], ["compare", "foo"], ["explain", "foo", "a.py:1"]):
        code, _, err = run(*command, str(project))
        assert code == 2
        assert "A folder is named by --path here. A query of several words needs quotes." in err
    assert "A folder is named by --workspace here." in run("proxy", "--upstream", "http://localhost", str(project))[2]
    assert "usage: carrel search" in run("search", "foo", "bar")[2]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["serch", "foo"], "search"),
        (["search", "foo", "--lmit", "3"], "--limit"),
        (["search", "foo", "--langauge=python"], "--language"),
        (["context", "foo", "--format", "xlm"], "xml"),
        (["search", "foo", "--source", "cod"], "code"),
        (["search", "foo", "--language", "pyton"], "python"),
        (["search", "foo", "--language", "TS"], "typescript"),
        (["search", "foo", "--language", "rs"], "rust"),
        (["hook", "instal"], "install"),
        (["mcp", "unistall", "--client", "zed"], "uninstall"),
        (["mcp", "install", "--client", "vscde"], "vscode"),
        (["agents", "install", "codex", "--dryrun"], "--dry-run"),
        (["proxy", "--upstream", "http://localhost", "--worksapce", "."], "--workspace"),
        (["copilot-proxy", "install", "neovm"], "neovim"),
    ],
)
def test_what_was_meant_is_named(run: Run, typed: list[str], meant: str) -> None:
    code, _, err = run(*typed)
    assert code == 2
    assert err.strip().endswith(f"Did you mean {meant}?")


def test_nothing_is_named_that_is_not_near(run: Run) -> None:
    for typed in (["frobnicate"], ["search", "foo", "--zyzzyva"], ["search", "foo", "--language", "qqq"]):
        code, _, err = run(*typed)
        assert code == 2
        assert "Did you mean" not in err


@pytest.mark.parametrize("pattern", ["[z", "src/{a", "./x/[", "/[a"])
def test_a_pattern_is_told_as_it_was_typed(run: Run, pattern: str) -> None:
    code, _, err = run("search", "foo", "--glob", pattern)
    assert code == 2
    assert err.startswith(f'carrel: --glob: "{pattern}" is not a pattern: unclosed')


@pytest.mark.parametrize("query", ["", "  ", "\t\n"])
@pytest.mark.parametrize("command", [["search"], ["context"], ["files"], ["compare"], ["explain"]])
def test_an_empty_query_is_wrong_usage(run: Run, command: list[str], query: str) -> None:
    code, out, err = run(*command, query, *(["src/auth.py:1"] if command == ["explain"] else []))
    assert (code, out) == (2, "")
    assert "is empty" in err


def test_a_file_that_is_not_there_is_not_explained(run: Run, project: Path) -> None:
    for file in ("src/nothing.py", str(project / "nothing.py")):
        code, out, err = run("explain", "verify a password", f"{file}:3")
        assert (code, out) == (1, "")
        assert "nothing.py is not there" in err
    assert "error" in one_json(run("explain", "x", "nothing.py:3", "--json")[1])
    code, out, _ = run("explain", "x", ".env:1")
    assert (code, "secret" in out) == (0, True)


def test_a_home_or_disk_is_indexed_only_when_asked_for(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.setenv("USERPROFILE", str(project))
    for typed in (["index", str(project)], ["index", "/"], ["index", str(tmp_path)], ["search", "foo"]):
        code, out, err = run(*typed)
        assert (code, out) == (2, ""), typed
        assert "carrel index --yes" in err
    for typed in (["proxy", "--upstream", "http://127.0.0.1:9"], ["pipeline", "run", "search.json"]):
        (project / "search.json").write_text('{"steps": [{"tool": "search_code", "args": {"query": "password"}}]}')
        code, out, err = run(*typed)
        assert (code, out, "is your home folder" in err) == (1, "", True), (typed, err)
    assert run("index", "--background")[0] == 0
    assert one_json(run("status", "--json")[1])["files"] == 0
    asked = Terminal()
    monkeypatch.setattr(sys, "stderr", asked)
    for answer in ("n\n", "\n", ""):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        assert run("index")[:2] == (1, "")
    assert "is your home folder. Index all of its text? [y/N]" in asked.getvalue()
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run("index")[0] == 0


def test_whoever_agreed_is_not_asked_again(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.setenv("USERPROFILE", str(project))
    assert run("index", "--yes")[0] == 0
    assert run("index")[0] == 0
    assert run("search", "verify a password")[0] == 0


@pytest.mark.parametrize("client", ["vscode", "VSCode", "jetbrains", "zed"])
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_where_the_copilot_proxy_cannot_be_the_other_ways_are_told(run: Run, client: str, action: str) -> None:
    code, _, err = run("copilot-proxy", action, client)
    assert code == 1
    assert f"carrel mcp install --client {client.lower()}" in err


def test_every_command_has_its_function() -> None:
    (commands,) = (action.choices for action in parser()._actions if isinstance(action, _SubParsersAction))
    assert sorted(commands) == sorted(cli._COMMANDS)
    for place in set(cli._COMMANDS.values()):
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(f"carrel.frontends.cli.{module}"), function))
