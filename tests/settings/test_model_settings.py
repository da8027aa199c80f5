"""The settings of models and limits: what is taken, what is refused and in which words, and how they are written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from carrel.model.errors import SettingsError
from carrel.settings.model_settings import LimitSettings, ModelSettings
from carrel.settings.settings import Layer, Settings, resolve
from carrel.settings.settings_writer import set_model, set_tool_source

CHAT = {"provider": "ollama", "model": "qwen3", "baseUrl": "http://localhost:11434"}


def taken(**options: Any) -> tuple[Settings, str]:
    settings, problems = resolve(Layer("editor", options, report_unknown=True))
    return settings, "; ".join(map(str, problems))


def test_models_and_limits_are_taken() -> None:
    settings, problems = taken(
        models={"chat": CHAT}, limits={"costPerDay": 2, "requestsPerMinute": 60}, httpProxy="http://p:3128"
    )
    assert problems == ""
    assert settings.models.chat == ModelSettings(provider="ollama", model="qwen3", base_url="http://localhost:11434")
    assert settings.models.embedder == ModelSettings()
    assert settings.limits == LimitSettings(cost_per_day=2, requests_per_minute=60)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": {"chat": {"provder": "x"}}}, "chat.provder: there is no such field; there are provider, model"),
        ({"models": {"chats": {}}}, "chats: there is no such field; there are embedder, reranker, chat, planner"),
        ({"models": {"chat": {"window": "many"}}}, "chat.window"),
        ({"models": {"chat": {"baseUrl": "localhost:1"}}}, "must be a URL that begins with https://"),
        ({"models": {"chat": {"baseUrl": "https://me:pw@x/v1"}}}, "must hold no user name or password"),
        ({"models": 3}, "models"),
        ({"limits": {"costPerDay": -1}}, "costPerDay"),
        ({"limits": {"perDay": 1}}, "there is no such field"),
        ({"httpProxy": "proxy:3128"}, "must be a URL"),
    ],
)
def test_what_cannot_be_used_is_named_and_the_default_stands(options: dict[str, Any], said: str) -> None:
    settings, problems = taken(**options)
    assert said in problems
    assert settings == Settings()


def test_a_key_written_into_the_settings_is_refused_and_not_repeated() -> None:
    settings, problems = taken(models={"chat": {"provider": "openai", "key": "sk-planted-0123"}})
    assert "A key itself doesn't belong into a settings file" in problems
    assert "sk-planted" not in problems
    assert settings == Settings()


def test_a_workspace_chooses_no_model_and_no_proxy() -> None:
    options = {"models": {"chat": CHAT}, "limits": {"costPerDay": 100}, "httpProxy": "http://evil.example"}
    settings, problems = resolve(Layer(".carrel.toml", options, workspace=True))
    assert settings == Settings()
    assert [problem.key for problem in problems] == ["models", "limits", "httpProxy"]


def test_an_editor_that_may_have_its_settings_from_the_project_sends_text_nowhere() -> None:
    evil = {"models": {"chat": CHAT}, "limits": {"costPerDay": 100}, "httpProxy": "http://evil.example"}
    evil |= {"store": {"kind": "qdrant", "url": "https://evil.example"}, "audit": {"enabled": False}}
    own = Layer("own", {"models": {"chat": {**CHAT, "model": "mine"}}, "httpProxy": "http://mine.example"}, personal=True)
    sent = {**evil, "ragTopK": 3}
    settings, problems = resolve(own, Layer("editor", sent, perhaps_project=True))
    assert settings == dataclasses.replace(resolve(own)[0], rag_top_k=3)
    assert {problem.key for problem in problems} == set(evil)
    same = Layer("editor", {**own.options, "audit": {}}, perhaps_project=True)
    assert resolve(own, same) == resolve(own), "what says the same is no problem"
    assert resolve(own, Layer("editor", sent))[0].http_proxy == "http://evil.example", "the person's own settings count"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        "carrel.settings.settings_writer.user_file", lambda: next(tmp_path.glob("settings.*"), tmp_path / "settings.toml")
    )
    return tmp_path


def test_a_model_is_written_beside_what_is_there(folder: Path) -> None:
    file = folder / "settings.toml"
    file.write_text('# mine\nragTopK = 7 # few\n\n[models.embedder]\nprovider = "openai" # paid\n')
    set_model("chat", CHAT)
    assert file.read_text().startswith('# mine\nragTopK = 7 # few\n\n[models.embedder]\nprovider = "openai" # paid\n')
    set_model("chat", {"provider": "openai"})
    set_model("embedder", None)
    assert read(file) == {"ragTopK": 7, "models": {"chat": {"provider": "openai"}}}
    set_model("chat", None)
    assert read(file) == {"ragTopK": 7}
    assert "# mine" in file.read_text()


@pytest.mark.parametrize(
    "text",
    [
        '[models]\nchat.provider = "ollama"\nchat.window = 9000\nchat.model = "a"\nplanner.provider = "openai"\n',
        'models.chat.window = 9\nmodels.chat.provider = "ollama"\nmodels.chat.model = "a"\n# rest\nragTopK = 7\n',
        '[models.chat]\nwindow = 9000\nmodel = "a"\nprovider = "ollama"\ntools = true\n[models.planner]\nprovider = "openai"\n',
    ],
)
@pytest.mark.parametrize("fields", [{"provider": "ollama", "model": "b"}, {"provider": "ollama"}, {"model": "c", "window": 1}])
def test_fields_of_a_model_go_in_whatever_form_it_is_written(folder: Path, text: str, fields: dict[str, Any]) -> None:
    file = folder / "settings.toml"
    file.write_text(text)
    wanted = tomllib.loads(text)
    wanted["models"]["chat"] = fields
    may_refuse = text.startswith("models.chat")
    with contextlib.suppress(SettingsError) if may_refuse else contextlib.nullcontext():
        set_model("chat", fields)
    assert read(file) == wanted or (may_refuse and file.read_text() == text)
    assert re.findall("#.*", file.read_text()) == re.findall("#.*", text)


@pytest.mark.parametrize("role", ["chat", "planner"])
@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('# mine\nmodels.chat.provider = "ollama" # here\n# small\nmodels.chat.model = "a" # fast\n# rest\nragTopK = 7\n', True),
        ('[models]\n# mine\nchat.provider = "ollama" # here\nchat.model = "a" # fast\n# footer', True),
        ('# mine\n[models.chat]\nprovider = "ollama" # here\nmodel = "a"\n\n# footer', True),
        ("[tools]\n\n# footer", True),
        ("# footer", True),
        ('models = {chat = {provider = "ollama"}} # mine\n# rest\nragTopK = 7\n', False),
    ],
)
def test_a_model_is_written_in_the_form_that_is_there_and_comments_stay_where_they_are(
    folder: Path, text: str, same: bool, role: str
) -> None:
    file = folder / "settings.toml"
    file.write_text(text)
    wanted = tomllib.loads(text)
    wanted.setdefault("models", {})[role] = {"provider": "ollama", "model": "b"}
    with contextlib.nullcontext() if same else contextlib.suppress(SettingsError):
        set_model(role, wanted["models"][role])
    written = file.read_text()
    assert read(file) == wanted or (not same and written == text)
    assert re.findall("#.*", written) == re.findall("#.*", text)
    if text.endswith("# footer"):
        assert re.search(r"# footer(\n\n|$)", written), "a footer isn't about the table that was added"


def test_a_json_file_stays_one(folder: Path) -> None:
    file = folder / "settings.json"
    file.write_text('{"ragTopK": 7, "exclude": ["ü"]}')
    assert set_model("chat", CHAT) == file
    assert json.loads(file.read_text("utf-8")) == {"ragTopK": 7, "exclude": ["ü"], "models": {"chat": CHAT}}


def test_the_first_model_makes_the_file_and_only_its_owner_reads_it(folder: Path) -> None:
    file = set_model("chat", CHAT)
    assert read(file) == {"models": {"chat": CHAT}}
    assert file.stat().st_mode & 0o077 == 0 or file.drive


@pytest.mark.parametrize(
    ("name", "text"),
    [("settings.toml", "models = ["), ("settings.toml", "models = 3"), ("settings.json", "[]"), ("settings.json", "{")],
)
def test_a_file_that_cannot_be_read_stays_as_it_is(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(SettingsError):
        set_model("chat", CHAT)
    assert (folder / name).read_text() == text


def read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text())


def test_removing_the_last_source_of_tools_leaves_every_comment(folder: Path) -> None:
    path = folder / "settings.toml"
    kept = ["# about tools\n[tools]\n# before servers\n\n", "\n# about models\n\n# footer\n"]
    path.write_text('[tools.servers.other]\ncommand = ["x"]\n'.join(kept))
    set_tool_source("servers", "other", None)
    text = path.read_text()
    assert [line for line in text.splitlines() if line] == [line for line in "".join(kept).splitlines() if line]
