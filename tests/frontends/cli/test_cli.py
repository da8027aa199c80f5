"""The command line as people and scripts use it: what is printed where, and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.frontends.cli.conftest import AUTH, Run, one_json
from tests.waiting import wait_until

from carrel.frontends.cli import index as index_command
from carrel.frontends.cli import terminal
from carrel.frontends.cli.arguments import parser
from carrel.frontends.cli.typed_input import read_history
from carrel.model.native import count_tokens


def test_index_counts_files_and_a_second_run_finds_nothing_to_do(run: Run) -> None:
    code, out, _ = run("index", "--json")
    assert code == 0
    first = one_json(out)
    assert (first["added"], first["changed"], first["failed"]) == (2, 0, 0)
    again = one_json(run("index", "--json")[1])
    assert (again["added"], again["unchanged"]) == (0, 2)
    forced = one_json(run("index", "--force", "--json")[1])
    assert forced["chunks"] == first["chunks"]
    code, out, _ = run("index")
    assert out.startswith("2 files, ")


def test_index_counts_what_is_too_small_for_a_chunk(run: Run, project: Path) -> None:
    body = "    take('a line that fills it')\n" * 250  # with anything beside it too long for a chunk
    (project / "sums.py").write_text(f"def sums():\n{body}\n\nx = 100\n")
    assert one_json(run("index", "--json")[1])["trivial"] == 1
    assert " 1 trivial chunk left out" in run("index", "--force")[1]
    assert one_json(run("index", "--json")[1])["trivial"] == 0, "nothing was cut"


def test_search_indexes_first_and_finds_the_code(run: Run) -> None:
    code, out, _ = run("search", "how is a password verified?", "--json")
    assert code == 0
    best = one_json(out)["hits"][0]
    assert (best["path"], best["symbol"]) == ("src/auth.py", "verify_password")
    assert 0 < best["score"] <= 1
    code, out, err = run("search", "verify_password", "--limit", "1")
    assert out.startswith("src/auth.py:")
    assert "1 hit in" in err


def test_filters_narrow_a_search(run: Run) -> None:
    assert {
        hit["language"] for hit in one_json(run("search", "connection", "--language", "typescript", "--json")[1])["hits"]
    } == {"typescript"}
    assert one_json(run("search", "connection", "--glob", "*.py", "--json")[1])["hits"] == []


def test_a_follow_up_is_searched_for_with_what_was_said_before(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src" / "mail.py").write_text("def send_letter(to, text):\n    return deliver(to, text.encode())\n")
    (project / "src" / "newsletter.py").write_text(
        "def monthly(readers):\n    for one in readers:\n        send_letter(one, news())\n"
    )
    said = [
        {"role": "user", "content": "how does send_letter work?"},
        {"role": "assistant", "content": "It delivers `text` to `to`."},
    ]
    before = tmp_path / "said.json"
    before.write_text(json.dumps(said))

    def first_two(*more: str) -> set[str]:
        return {hit["path"] for hit in one_json(run("search", "and who calls it?", *more, "--json")[1])["hits"][:2]}

    assert first_two() != first_two("--history", str(before)) == {"src/mail.py", "src/newsletter.py"}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(before.read_bytes())))
    code, out, _ = run("context", "and who calls it?", "--history", "-")
    assert code == 0
    assert "src/newsletter.py" in out


def test_a_conversation_with_calls_of_tools_and_parts_is_read(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": [{"type": "text", "text": "how?"}, {"type": "image_url", "image_url": {"url": "data:"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "[]", "tool_call_id": "1"},
    ]
    before = tmp_path / "said.json"
    before.write_text(json.dumps(said))
    assert read_history(str(before)) == [{"role": "user", "content": "how?"}, {"role": "tool", "content": "[]"}]


def test_a_conversation_that_cant_be_read_is_refused_with_the_remedy(run: Run, tmp_path: Path) -> None:
    before = tmp_path / "said.json"
    deep = f'[{{"role": "user", "content": "x", "more": {"[" * 100_000}{"]" * 100_000}}}]'
    for text in ("", "how?", '{"role": "user"}', '[{"role": "user"}]', '[{"role": "user", "content": 3}]', deep):
        before.write_text(text)
        code, out, err = run("context", "and who calls it?", "--history", str(before))
        assert (code, out) == (2, "")
        assert f"{before} isn't a conversation: " in err
        assert "It is a JSON list of" in err
    assert "No such file" in run("search", "it", "--history", str(tmp_path / "none.json"))[2]
    assert "Put one of the two into a file" in run("search", "-", "--history", "-")[2]


def test_context_keeps_its_budget_in_each_format(run: Run) -> None:
    for form, start in (("xml", "<rag_context>"), ("source", "Source: "), ("tool", "--- src/auth.py (lines ")):
        code, out, _ = run("context", "verify a password", "--tokens", "150", "--format", form)
        assert code == 0
        assert out.startswith(start)
        assert count_tokens(out.removesuffix("\n"), "o200k_base") <= 150
    pack = one_json(run("context", "verify a password", "--chars", "400", "--json")[1])
    assert 0 < len(pack["text"]) <= 400
    assert pack["budgetChars"] == 400


def test_files_and_explain_name_the_file(run: Run) -> None:
    assert one_json(run("files", "login failures", "--json")[1])["files"][0]["path"] == "src/auth.py"
    code, out, _ = run("explain", "verify a password", "src/auth.py:8")
    assert code == 0
    assert "verify_password" in out
    shown = re.search(r"relevance: (\d\.\d\d)", out)
    shares = [float(share) for share in re.findall(r"^        ([+-]\d\.\d\d)  ", out, re.MULTILINE)]
    assert shown
    assert len(shares) > 1
    assert round(sum(shares), 2) == float(shown[1])
    assert "the last one of the file ends in line" in run("explain", "verify a password", "src/auth.py:9999")[1]


def test_a_question_may_be_piped_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    for command in ("search", "context", "files"):
        piped("how is a password verified \u00fcberhaupt?\n".encode())
        assert "src/auth.py" in run(command, "-")[1]
    piped(b" \n")
    code, _, err = run("search", "-")
    assert (code, err) == (2, "carrel: query: is empty. Pipe in what to look for.\n")


def test_a_search_says_where_it_is_all_but_sure_that_nothing_answers(run: Run) -> None:
    off_topic = "trains of the user to Hamburg, Berlin, Munich, Vienna and Prague on Sunday afternoon"
    assert "Not sure that anything here answers" not in run("search", "how is a password verified?")[2]
    assert "Not sure that anything here answers" in run("search", off_topic)[2]


def test_a_search_that_is_not_sure_shows_the_nearest_few_places(run: Run, project: Path) -> None:
    for name in "abcdef":
        (project / "src" / f"{name}.py").write_text(f"def bake_{name}(user, flour):\n    return user.rest(flour, '{name}')\n")
    words = "trains of the user to Hamburg, Berlin, Munich, Vienna and Prague on Sunday afternoon"
    assert len(one_json(run("search", words, "--json")[1])["hits"]) > 3
    assert "3 hits in " in run("search", words)[2]
    assert "3 hits in " not in run("search", words, "--limit", "10")[2]
    assert "3 hits in " not in run("search", words, "--format", "places")[2]


def test_a_search_for_one_word_says_how_many_places_hold_it(run: Run, project: Path) -> None:
    for name in "abcde":
        (project / "src" / f"{name}.py").write_text(f"def bake_{name}(flour):\n    return {name}.revoke(flour)\n")
    assert "; 5 places of the index hold the word\n" in run("search", "revoke", "--limit", "2")[2]
    assert "hold the word" not in run("search", "revoke", "--limit", "10")[2]
    assert "hold the word" not in run("search", "where is flour revoked", "--limit", "1")[2]


def test_a_budget_that_nothing_fits_shows_no_places(run: Run) -> None:
    code, out, err = run("context", "how is a password verified?", "--tokens", "3")
    assert (code, out.strip()) == (0, "")
    assert "Nothing fits the budget" in err
    assert "0 places" in err


def test_status_says_of_every_file_that_was_left_out_why(run: Run, project: Path) -> None:
    (project / "pictures").mkdir()
    for number in range(1_200):
        (project / f"pictures/{number:04}.png").write_bytes(b"\x89PNG\0")
    (project / "pictures/token.txt").touch()
    run("index")
    out = run("status")[1]
    assert "1,200 binary" in out
    assert {"  secret: .env", "  secret: pictures/token.txt"} <= set(out.splitlines())
    assert "1,190 more" in out
    skipped = one_json(run("status", "--json")[1])["skipped"]
    assert {"path": "pictures/1199.png", "reason": "binary"} in skipped


def test_a_folder_or_file_is_the_same_however_it_is_named(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(project)
    run("index")
    monkeypatch.chdir(project / "src")
    for folder, file in (
        ("..", "auth.py"),
        ("..", str(Path("src/auth.py"))),
        ("..", "./src/auth.py"),
        (str(tmp_path / "link"), str(project / "src/auth.py")),
    ):
        out = run("explain", "verify password", f"{file}:6", "--path", folder)[1]
        assert "src/auth.py:" in out.splitlines()[0], (folder, file)
        assert "given" in out
        hit = one_json(run("search", "verify password", "--path", folder, "--json")[1])["hits"][0]
        assert "/../" not in hit["uri"]
    assert "outside the workspace" in run("explain", "x", "/etc/passwd:1", "--path", "..")[1]
    assert len(list((tmp_path / "cache").rglob("workspace.json"))) == 1


def test_status_counts_masked_secrets(run: Run, project: Path) -> None:
    run("index")
    assert "masked in" not in run("status")[1]
    (project / "src" / "deploy.py").write_text("password = 'hunter2-Xq9vLm3T8'\n")
    run("index")
    assert "1 secret is masked in 1 file\n" in run("status")[1]
    (project / "src" / "more.py").write_text("password = 'hunter2-Xq9vLm3T8'\npassword_old = 'trombone-Zk4nBw7Yd'\n")
    run("index")
    assert "3 secrets are masked in 2 files\n" in run("status")[1]


@pytest.mark.parametrize("words", [("clear", ""), ("clear", "--path", ""), ("index", ""), ("search", "login", "--path", "")])
def test_an_empty_path_is_not_the_current_folder(run: Run, words: tuple[str, ...]) -> None:
    run("index")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "is empty: name a folder, or leave it out for the current one" in err
    assert one_json(run("status", "--json")[1])["files"] == 2


def test_background_indexing_says_nothing(run: Run, project: Path) -> None:
    (project / ".carrel.toml").write_text("exclde = []\n")
    assert run("index", "--background") == (0, "", "")
    assert one_json(run("status", "--json")[1])["files"] == 3
    assert run("index", "--background", "--json") == (0, "", "")


def test_secrets_of_a_folder_and_of_one_file(run: Run, project: Path) -> None:
    (project / "src" / "deploy.py").write_text("\npassword = 'hunter2-Xq9vLm3T8'\n")
    (project / "ignored.txt").write_text("password: hunter2-Xq9vLm3T8\n")
    (project / ".ignore").write_text("ignored.txt\n")
    found = {"path": "deploy.py", "line": 2, "kind": "password"}
    env = {"path": ".env", "line": None, "kind": "secret by its name"}
    assert one_json(run("secrets", "--json")[1])["secrets"] == [env, {**found, "path": "src/deploy.py"}]
    assert one_json(run("secrets", "src/deploy.py", "--json")[1])["secrets"] == [found]
    assert one_json(run("secrets", "--path", str(project / ".env"), "--json")[1])["secrets"] == [env]
    assert "ignored.txt:1: password, masked\n" in run("secrets", "ignored.txt")[1]
    assert run("secrets", "src/auth.py")[:2] == (0, "")
    (project / "data.bin").write_bytes(b"\0\1\2" * 100)
    code, _, err = run("secrets", "data.bin")
    assert code == 2
    assert "is not looked at: binary" in err


def test_an_older_index_is_told_with_its_remedy_and_while_it_is_rebuilt(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal._lines, "__kwdefaults__", {"every_s": 0.0})  # a line for each step, not every few seconds
    for n in range(30):
        (project / f"f{n}.py").write_text(f"def name_{n}(value):\n    # says what {n} is worth to the caller\n    return value\n")
    run("index")
    [database] = tmp_path.rglob("index.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 4")
    assert "problem: This index was made by an older version of Carrel" in run("status")[1]
    assert "`carrel index` does it now" in run("status")[1]
    code, out, err = run("search", "verify password")
    assert code == 0
    assert "src/auth.py" in out
    assert "made by an older version of Carrel" in err
    assert "Indexing project: " in err
    assert "of 32 files" in err
    assert "older" not in run("search", "verify password")[2]


def test_status_and_clear(run: Run) -> None:
    assert one_json(run("status", "--json")[1])["state"] == "empty"
    run("index")
    status = one_json(run("status", "--json")[1])
    assert (status["state"], status["files"], status["languages"]) == ("ready", 2, {"python": 1, "typescript": 1})
    assert {"path": ".env", "reason": "secret"}.items() <= next(s for s in status["skipped"] if s["path"] == ".env").items()
    assert one_json(run("clear", "--json")[1])["freedBytes"] > 0
    assert one_json(run("status", "--json")[1])["files"] == 0


def test_doctor_is_content_with_a_sound_installation(run: Run) -> None:
    code, out, _ = run("doctor", "--json")
    report = one_json(out)
    assert (code, report["ok"]) == (0, True)
    assert {"Python", "Native core", "Tokenizers", "Settings", "Index folder", "Index"} <= {
        f["check"] for f in report["findings"]
    }


def test_doctor_names_what_is_wrong_with_a_remedy(run: Run, project: Path, tmp_path: Path) -> None:
    settings = tmp_path / "config" / "carrel" / "settings.toml"
    settings.parent.mkdir(parents=True)
    blocked = tmp_path / "a file"
    blocked.touch()
    settings.write_text(f"ragTopK = 500\ncacheFolder = '{blocked / 'inside'}'\n")
    code, out, _ = run("doctor", "--json")
    findings = {f["check"]: f for f in one_json(out)["findings"] if f["level"] in ("warning", "error")}
    assert code == 1
    assert "ragTopK" in findings["Settings"]["detail"]
    assert findings["Index folder"]["level"] == "error"
    assert all(finding["remedy"] for finding in findings.values())


def test_doctor_of_no_folder_fails(run: Run) -> None:
    assert run("doctor", "nowhere")[0] == 1


def test_the_version_needs_none_of_the_heavy_modules() -> None:
    code = "import sys, carrel.frontends.cli as c; c.parser(); print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())
    assert not {"rich", "pygls", "msgspec", "lsprotocol", "asyncio", "platformdirs", "carrel._core"} & loaded


@pytest.mark.parametrize("arguments", [["mcp", "--help"], ["doctor", "."]])
def test_text_is_utf8_whatever_the_system_prefers(tmp_path: Path, env: dict[str, str], arguments: list[str]) -> None:
    command = [sys.executable, "-m", "carrel", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **env, "PYTHONIOENCODING": "cp1252"}, capture_output=True, check=False
    )
    assert ("…" if "mcp" in arguments else "✓") in done.stdout.decode()
    assert b"Traceback" not in done.stderr


def test_the_demo_shows_each_step_and_paints_a_picture_without_the_network(run: Run, project: Path, tmp_path: Path) -> None:
    shown = ("demo", str(project), "how is a password verified?", "--svg")
    code, _, err = run(*shown, str(tmp_path / "nowhere" / "demo.svg"))
    assert (code, err.partition("written: ")[2]) == (1, "No such file or directory. Name a file in a folder that can be.\n")
    code, out, _ = run(*shown, str(tmp_path / "demo.svg"))
    assert code == 0
    for part in ("serve --stdio", "2 files", "how is a password verified?", "src/auth.py", "<rag_context>", "tokens"):
        assert part in out
    assert "url(" not in (tmp_path / "demo.svg").read_text().replace("url(#", "")


def test_beside_an_editors_server_commands_answer_from_its_index(run: Run, request: pytest.FixtureRequest) -> None:
    run("index")
    request.getfixturevalue("editor")
    assert one_json(run("index", "--json")[1])["unchanged"] == 2
    assert one_json(run("search", "password", "--json")[1])["hits"]
    assert one_json(run("status", "--json")[1])["role"] == "follower"
    assert one_json(run("doctor", "--json")[1])["ok"]


def test_in_the_background_it_waits_for_the_other_writer(
    run: Run, project: Path, editor: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    nice = Mock()
    monkeypatch.setattr(os, "nice", nice, raising=False)  # these tests go on at their own priority
    waits = Mock(side_effect=lambda _: editor.communicate(timeout=30))  # the editor leaves while it is waited for
    monkeypatch.setattr(index_command, "time", SimpleNamespace(sleep=waits, monotonic=time.monotonic))
    assert run("index", "--background")[0] == 0
    nice.assert_called_once_with(19)
    waits.assert_called_once()
    assert one_json(run("status", "--json")[1])["files"] == 2


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_ctrl_c_ends_an_index_run_soon_and_keeps_what_was_finished(run: Run, project: Path) -> None:
    for number in range(1500):
        (project / f"module_{number}.py").write_text(AUTH.replace("verify_password", f"verify_password_{number}") * 20)
    process = subprocess.Popen([sys.executable, "-m", "carrel", "index"], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    index = Path(os.environ["XDG_CACHE_HOME"]) / "carrel" / "indexes"
    wait_until(lambda: [*index.glob("*/*.seg*"), *index.glob("*/segments/*")])
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert b"Cancelled" in err
    kept = one_json(run("status", "--json")[1])["files"]
    assert 0 < kept < 1502
    report = one_json(run("index", "--json")[1])
    assert report["added"] == 1502 - kept


def test_the_readme_names_every_command() -> None:
    text = Path(__file__).parents[3].joinpath("README.md").read_text("utf-8")
    (named,) = re.findall(r"^`carrel ([a-z |-]+)`; each has", text, re.MULTILINE)
    (commands,) = [action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    assert sorted(named.split(" | ")) == sorted(commands)
