"""`carrel models` and `carrel confirm` as a person types them, on a terminal and without one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.conftest import Run, one_json
from tests.services.embeddings import EmbeddingService, Fault, running


def settings_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "carrel" / "settings.toml"


def test_without_settings_the_bundled_model_is_all_there_is_and_it_answers(run: Run) -> None:
    code, out, _ = run("models", "check", "--json")
    answer = one_json(out)
    assert code == 0
    (model,) = answer["models"]
    assert (model["role"], model["provider"], model["destinations"]) == ("embedder", "bundled", [])
    assert model["answeredMs"] > 0
    assert set(answer["known"]) == {"embedder", "reranker", "chat", "planner"}
    assert {"openai", "ollama", "copilot", "cohere", "qdrant", "team"} <= set(answer["keys"])
    assert not {"bundled", "hashed words", "helicone"} & set(answer["keys"])


def test_a_model_is_chosen_and_given_up_again(run: Run, tmp_path: Path) -> None:
    code, _, err = run("models", "set", "embedder", "hashed words")
    assert code == 0
    assert str(settings_file(tmp_path)) in err
    assert "embedder: hashed words" in run("models", "list")[1]
    assert run("models", "set", "embedder", "bundled")[0] == 0
    assert "embedder: bundled" in run("models", "list")[1]


def test_what_is_set_of_a_model_stays_as_long_as_it_holds(run: Run, tmp_path: Path) -> None:
    def written() -> dict[str, Any]:
        chat: dict[str, Any] = tomllib.loads(settings_file(tmp_path).read_text())["models"]["chat"]
        return chat

    here = {"provider": "ollama", "baseUrl": "http://localhost:1/v1", "key": "env:ACME"}
    run("models", "set", "chat", "ollama", "a", "--base-url", here["baseUrl"], "--key", here["key"], "--window", "9000")
    settings_file(tmp_path).write_text(settings_file(tmp_path).read_text() + "tools = false  # slow\n")
    _, _, err = run("models", "set", "chat", "ollama", "a", "--window", "8000")
    assert "Kept as before: baseUrl, key, tools." in err
    assert written() == {**here, "model": "a", "window": 8000, "tools": False}
    assert "# slow" in settings_file(tmp_path).read_text()
    assert "Kept as before: baseUrl, key." in run("models", "set", "chat", "ollama", "b")[2]
    assert written() == {**here, "model": "b"}
    assert "Kept" not in run("models", "set", "chat", "ollama", "b", "--base-url", "http://localhost:2/v1")[2]
    assert written() == {"provider": "ollama", "model": "b", "baseUrl": "http://localhost:2/v1"}
    assert "Kept" not in run("models", "set", "chat", "openai", "c")[2]
    assert written() == {"provider": "openai", "model": "c"}


@pytest.mark.parametrize("wrong", ["nonsense = 5", "window = -3", 'baseUrl = "localhost:11434"'])
def test_a_wrong_entry_is_written_anew(run: Run, tmp_path: Path, wrong: str) -> None:
    run("models", "set", "chat", "ollama", "a")
    settings_file(tmp_path).write_text(settings_file(tmp_path).read_text() + f"{wrong}\n")
    assert run("models", "set", "chat", "ollama", "a")[0] == 0
    assert tomllib.loads(settings_file(tmp_path).read_text())["models"]["chat"] == {"provider": "ollama", "model": "a"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("set", "embedder", "nobody"), 'there is no provider "nobody" for embedder. There are: bundled'),
        (("set", "embedder", "hashed words", "--key", "sk-planted"), "A key itself doesn't belong into a settings file"),
        (("set", "embedder", "hashed words", "--base-url", "nowhere"), "must be a URL"),
        (("set", "poet", "x"), "invalid choice"),
    ],
)
def test_what_cannot_be_chosen_is_named_and_nothing_is_written(
    run: Run, tmp_path: Path, typed: tuple[str, ...], said: str
) -> None:
    code, _, err = run("models", *typed)
    assert (code, said in err) == (2, True), err
    assert "sk-planted" not in err
    assert not settings_file(tmp_path).exists()


def test_without_a_terminal_nobody_can_allow_anything(project: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "carrel", "confirm", "openai", "api.openai.com"],
        input="yes\n",
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 1
    assert "There is no terminal to ask a person on" in done.stderr
    assert "allowProviders" in done.stderr
    assert not (tmp_path / "data" / "carrel" / "permissions.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the console of Windows can't be played by a test")
@pytest.mark.parametrize("right", [True, False])
def test_a_person_types_the_code(project: Path, tmp_path: Path, right: bool) -> None:
    code, shown = typed_at_a_terminal(["confirm", "openai", "API.openai.com"], right)
    assert "host: api.openai.com" in shown
    kept = tmp_path / "data" / "carrel" / "permissions.json"
    if right:
        assert code == 0
        assert [(row["provider"], row["host"]) for row in json.loads(kept.read_text())["providers"]] == [
            ("openai", "api.openai.com")
        ]
    else:
        assert code == 1
        assert "Nothing was allowed" in shown
        assert not kept.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the console of Windows can't be played by a test")
def test_a_teams_server_that_is_set_waits_for_a_permission(project: Path, tmp_path: Path) -> None:
    settings_file(tmp_path).parent.mkdir(parents=True, exist_ok=True)
    settings_file(tmp_path).write_text('[team]\nurl = "https://qdrant.example.com:6333"\n')
    code, shown = typed_at_a_terminal(["confirm"], right=True)
    assert code == 0
    assert "host: qdrant.example.com:6333" in shown
    assert "encrypted: whoever has your team's secret can read them" in shown
    (row,) = json.loads((tmp_path / "data" / "carrel" / "permissions.json").read_text())["providers"]
    assert (row["provider"], row["host"]) == ("team", "qdrant.example.com:6333")


@pytest.mark.skipif(sys.platform == "win32", reason="the console of Windows can't be played by a test")
def test_a_permission_is_shown_and_withdrawn(project: Path, run: Run) -> None:
    typed_at_a_terminal(["confirm", "openai", "api.openai.com"], right=True)
    assert [row["host"] for row in one_json(run("confirm", "--list", "--json")[1])["providers"]] == ["api.openai.com"]
    assert run("confirm", "--withdraw", "openai", "api.openai.com")[0] == 0
    assert one_json(run("confirm", "--list", "--json")[1]) == {"providers": []}
    assert run("confirm", "--withdraw", "openai", "api.openai.com")[0] == 1


@pytest.mark.parametrize("typed", [("openai",), ("--withdraw",)])
def test_what_is_missing_is_named(run: Run, typed: tuple[str, ...]) -> None:
    code, _, err = run("confirm", *typed)
    assert code == 2
    assert "is missing" in err


def test_with_no_remote_model_set_there_is_nothing_to_confirm(run: Run) -> None:
    code, _, err = run("confirm")
    assert (code, "No model, store, team or repository that is set waits for a permission." in err) == (0, True)


def typed_at_a_terminal(arguments: list[str], right: bool, program: Sequence[str] = ("-m", "carrel")) -> tuple[int, str]:
    """Run the command with a terminal of its own; type the code that it shows, or another one."""
    import pty  # noqa: PLC0415 - not on Windows

    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, *program, *arguments])  # noqa: S606
    shown = b""
    typed = False
    while True:
        try:
            piece = os.read(terminal, 1000)
        except OSError:  # Linux says so that the other end is closed
            break
        if not piece:
            break
        shown += piece
        found = re.search(rb"Type (\w{4}) to allow", shown)
        if found and not typed:
            os.write(terminal, (found[1] if right else b"zzzz") + b"\n")
            typed = True
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_a_text_that_the_model_refuses_is_told_by_the_run_the_status_and_doctor(run: Run) -> None:
    with running(EmbeddingService(refused="def record_failure", keeps_connections=False)) as service:
        run("models", "set", "embedder", "openai", "--base-url", f"{service.url}/v1", "--key", "none", "--dimensions", "64")
        code, _, err = run("index")
        assert code == 0
        assert "1 file holds a text that openai@" in err
        assert "answers from now on" in err
        code, out, _ = run("index")
        assert (code, "0 failed, 1 with a refused text" in out) == (0, True), out
    answer = one_json(run("status", "--json")[1])
    assert (answer["failedFiles"], answer["refusedFiles"]) == (1, 1)
    assert answer["failed"][0]["path"] == "src/auth.py"
    assert "refused the request (400" in answer["failed"][0]["reason"]
    assert "refused: 1 file, of which the embedding model gave a text no vector\n  src/auth.py: " in run("status")[1]
    findings = one_json(run("doctor", "--json")[1])["findings"]
    (told,) = [finding for finding in findings if "src/auth.py" in finding["detail"]]
    assert (told["level"], "carrel index --force" in told["remedy"]) == ("warning", True)


def test_a_model_whose_vectors_find_nothing_does_not_answer(run: Run) -> None:
    for kind in ("zeros", "alike"):
        with running(EmbeddingService(always=Fault(kind), keeps_connections=False)) as service:
            run("models", "set", "embedder", "openai", "--base-url", f"{service.url}/v1", "--key", "none", "--dimensions", "64")
            assert "by which nothing can be found. Set `model`" in run("models", "check")[1]
            err = run("index")[2]
        assert "by which nothing can be found. Set `model`" in err
        assert "the bundled model answers" in err
        assert one_json(run("status", "--json")[1])["refusedFiles"] == 0
        told_that_it_is_not_used(run, "by which nothing can be found")


@pytest.mark.parametrize(
    ("service", "why"),
    [
        (EmbeddingService(always=Fault("status", 401)), "wants a key"),
        (EmbeddingService(refused="\n"), "gave less than half of the texts a vector, so it isn't used"),
    ],
)
def test_a_model_that_refuses_all_or_most_is_told_by_status_and_doctor_until_it_is_used(
    run: Run, service: EmbeddingService, why: str
) -> None:
    service.keeps_connections = False
    with running(service):
        chosen = ("embedder", "openai", "--base-url", f"{service.url}/v1", "--key", "none", "--dimensions", "64")
        run("index")
        run("models", "set", *chosen)
        told_that_it_is_not_used(run, "isn't used yet, since its index isn't whole")
        assert why in run("index")[2]
        before = len(service.requests)
        told_that_it_is_not_used(run, why)
        assert len(service.requests) == before, "nobody is asked"
        again = run("index")[2]
        assert again.count("the bundled model answers") == 1, "the last failure isn't told beside the present one"
        service.always, service.refused = None, ""
        assert "answers from now on" in run("index", "--force")[2]
    assert one_json(run("status", "--json")[1])["problems"] == []
    assert "Embedding model" not in run("doctor")[1]


def told_that_it_is_not_used(run: Run, why: str) -> None:
    problems = " ".join(one_json(run("status", "--json")[1])["problems"])
    assert why in problems
    assert "is set, but isn't used" in problems
    assert "`carrel models set embedder` chooses another one, and `carrel index` tries again, " in problems
    assert f"problem: {problems}" in run("status")[1]
    findings = one_json(run("doctor", "--json")[1])["findings"]
    (finding,) = [finding for finding in findings if finding["check"] == "Embedding model"]
    assert (finding["level"], why in finding["detail"]) == ("warning", True)
    assert "carrel index" in finding["remedy"]
    assert sum(why in finding["detail"] for finding in findings) == 1


def test_doctor_names_a_reranker_that_may_not_be_asked_or_has_no_key(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    settings_file(tmp_path).parent.mkdir(parents=True, exist_ok=True)
    chosen = 'reranker = {provider = "cohere"}, chat = {provider = "ollama", model = "qwen3"}'
    settings_file(tmp_path).write_text(f"models = {{{chosen}}}\n")

    def told() -> list[tuple[str, str]]:
        findings = one_json(run("doctor", "--json")[1])["findings"]
        return [(one["level"], one["detail"] + one["remedy"]) for one in findings if one["check"] in ("Reranker", "Chat")]

    (first, allow), (second, key), (third, chat) = told()
    assert (first, second, third) == ("warning", "warning", "ok")
    assert "not allowed yet, so it isn't askedAllow it: carrel confirm" in allow
    assert "no key foundSet COHERE_API_KEY, or keep it: carrel models key cohere" in key
    assert "ollama" in chat, "it is on this machine and needs no key"
    assert "needs no key" in run("models")[1]
    monkeypatch.setenv("COHERE_API_KEY", "a-key")
    assert [level for level, _ in told()] == ["warning", "ok"]
