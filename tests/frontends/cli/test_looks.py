"""What a person sees of a command: hits told apart, lines that fit, nothing that pads, and what to type next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.frontends.cli.conftest import Run, one_json
from tests.frontends.cli.terminal import on_terminal, posix_only

from carrel.frontends import cli


@posix_only
def test_hits_on_a_terminal_are_coloured_told_apart_and_cut_to_its_width(run: Run, project: Path) -> None:
    (project / "wide.py").write_text(f"def count_wombats(herd):\n    return {' + '.join(['len(herd)'] * 30)}\n")
    (project / "narrow.py").write_text("def feed_wombats(herd):\n    for wombat in herd:\n        wombat.feed(herd)\n")
    piped = run("search", "wombats herd", "--limit", "2")[1]
    assert "\x1b" not in piped
    assert "\n\n" not in piped
    shown = on_terminal("search", "wombats herd", "--limit", "2", columns=60).decode().replace("\r\n", "\n")
    assert "\x1b[1;35mwide.py" in shown
    assert shown.count("\n\n") == 1
    plain = on_terminal("search", "wombats herd", "--limit", "2", columns=60, NO_COLOR="1").decode().replace("\r\n", "\n")
    assert "\x1b[1;35m" not in plain
    assert "\x1b[3" not in plain
    lines = [line for line in plain.split("\n") if "len(herd)" in line]
    assert [(len(line), line[-1]) for line in lines] == [(60, "…")]


def test_a_question_that_shares_nothing_with_the_folder_gets_no_places(run: Run, project: Path) -> None:
    shutil.copytree(Path(cli.__file__).parent, project / "cli")  # enough for some of it to be near anything
    code, out, err = run("search", "xyzzy frobnicate quux plugh")
    assert (code, out) == (0, "")
    assert "Nothing in the project fits this question." in err
    assert one_json(run("search", "xyzzy frobnicate quux plugh", "--json")[1])["hits"] == []
    assert run("search", "and is not return")[1], "words that the folder holds are found, whatever they say"
    for command in ("files", "localize"):
        assert run(command, "xyzzy frobnicate quux plugh")[1:] == ("", "Nothing in the project fits this question.\n")
        assert run(command, "and is not return")[1]


@pytest.mark.parametrize(
    ("command", "usual"),
    [("models", "list"), ("sources", "list"), ("tools", "list"), ("store", "status"), ("agents", "status")],
)
def test_a_command_without_an_action_shows_what_there_is(run: Run, command: str, usual: str) -> None:
    assert run(command) == run(command, usual)
    assert one_json(run(command, "--json")[1]) == one_json(run(command, usual, "--json")[1])
    assert run(command, "--help")[1] != run(command, usual, "--help")[1]


def test_the_status_of_a_folder_without_an_index_says_so_and_how_it_gets_one(run: Run, project: Path) -> None:
    code, out, _ = run("status")
    assert code == 0
    assert out.startswith(f"not indexed: {project}")
    assert "carrel index" in out
    run("index")
    assert "not indexed" not in run("status")[1]
    run("clear")
    assert run("status")[1] == out


def test_a_model_that_cannot_be_reached_costs_its_help_and_is_said_once(run: Run) -> None:
    run("models", "set", "chat", "ollama", "qwen3", "--base-url", "http://127.0.0.1:1")
    code, out, err = run("search", "who verifies a password", "--assess")
    assert (code, out.startswith("src/auth.py:")) == (0, True)
    assert err.count("assessed") == 1
    assert "Ollama can't be reached at 127.0.0.1:1. Start it, or check `baseUrl`." in err
    code, out, told = run("ask", "who verifies a password")
    assert (code, out, told.count("\n")) == (1, "", 1)
    assert "Error" not in err + told, "no names of Carrel's own classes"
