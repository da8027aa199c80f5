"""`carrel agents`: what comes into the settings of terminal agents, and how it comes out again."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.cli.assistants.conftest import files, states

from carrel.frontends.agents import meeting_place
from carrel.frontends.cli import main, setup_arguments
from carrel.frontends.cli.assistants import setup as verbs
from carrel.frontends.cli.assistants.agents import AGENTS, HOOK, Place
from carrel.frontends.cli.assistants.clients import command_of
from carrel.frontends.cli.assistants.install import Change, apply, apply_all
from carrel.model.errors import CarrelError

EDITORS = [name for name, agent in AGENTS.items() if agent.only_by_name]
NEWLINES = pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
OWN_HOOK = '{"hooks": [{"type": "command", "command": "mine"}]}'
SETTINGS = f'{{ // mine\n  "hooks": {{\n    "UserPromptSubmit": [{OWN_HOOK}],\n    "Stop": []\n  }},\n  "theme": "dark",\n}}\n'
TOML = '# mine\nmodel = "gpt" # the nice one\n\n[mcp_servers.other]\ncommand = "other"\n\n[tui]\ntheme = "x"\n'


def own_settings(home: Path, newline: str) -> None:
    """Write what a person may have in each of the files."""
    jsonc = SETTINGS.replace("\n", newline)
    texts = {
        ".claude.json": '{"numStartups": 3, "mcpServers": {"carrel": {"command": "mine"}}}',
        ".claude/settings.json": jsonc,
        ".codex/config.toml": TOML.replace("\n", "\r\n" if newline == "\r" else newline),  # a CR alone is no line end in TOML
        ".codex/hooks.json": jsonc,
        ".gemini/settings.json": jsonc,
        ".copilot/hooks/carrel.json": '{"version": 1}',
        ".config/opencode/opencode.json": "",
        ".qwen/settings.json": jsonc,
        ".cursor/mcp.json": jsonc,
        ".cursor/rules/carrel.mdc": "my own rule",
        ".vscode/mcp.json": '{"servers": {"other": {"command": "x"}}, // mine' + newline + "}",
    }
    for name, text in texts.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())


@NEWLINES
@pytest.mark.parametrize("scope", ["--global", "--workspace"])
def test_uninstall_leaves_every_file_as_it_was(home: Path, tmp_path: Path, newline: str, scope: str) -> None:
    own_settings(home, newline)
    before = files(tmp_path)
    where = [scope, "--path", str(home)]
    for name in ("all", *EDITORS):
        assert main(["agents", "install", name, "--yes", *where]) == 0
    installed = files(tmp_path)
    for name in ("all", *EDITORS):
        assert main(["agents", "install", name, "--yes", *where]) == 0
    assert files(tmp_path) == installed
    assert main(["agents", "uninstall", *where]) == 0
    assert files(tmp_path) == before


def test_an_agent_that_is_not_here_is_not_here_after_uninstall(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name, agent in AGENTS.items() if not agent.only_by_name]
    for name in names:
        assert main(["agents", "install", name, "--yes"]) == 0
    assert main(["agents", "uninstall"]) == 0
    assert {name: state for name, (state, _) in states(capsys).items() if name in names} == dict.fromkeys(names, "not here")


def test_a_persons_own_hooks_and_settings_stand_beside_it(home: Path) -> None:
    own_settings(home, "\n")
    assert main(["agents", "install", "--yes"]) == 0
    for name in (".claude/settings.json", ".codex/hooks.json", ".qwen/settings.json"):
        text = (home / name).read_text()
        assert OWN_HOOK in text
        assert text.startswith("{ // mine\n")
    assert (home / ".codex/config.toml").read_text().startswith(TOML)
    config = tomllib.loads((home / ".codex/config.toml").read_text())
    assert set(config["mcp_servers"]) == {"other", "carrel"}
    assert f'UserPromptSubmit": [{OWN_HOOK}, {{"hooks": [{json.dumps(HOOK)}]}}]' in (home / ".codex/hooks.json").read_text()


def test_after_the_program_wrote_its_settings_anew_only_carrels_goes(home: Path) -> None:
    own_settings(home, "\n")
    main(["agents", "install", "--yes"])
    settings = home / ".claude.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "numStartups": 4}))
    config = home / ".codex/config.toml"
    config.write_text(config.read_text() + '\n[projects."/x"]\ntrust_level = "trusted"\n')
    assert main(["agents", "uninstall"]) == 0
    assert json.loads(settings.read_text()) == {"numStartups": 4, "mcpServers": {"carrel": {"command": "mine"}}}
    assert config.read_text() == TOML + '\n[projects."/x"]\ntrust_level = "trusted"\n'


OWN_SERVER = '{"mcpServers": {"carrel": {"command": "my-own", "args": ["serve"]}}}'


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude-code", ".claude.json", json.dumps(json.loads(OWN_SERVER), indent=2) + "\n"),
        ("gemini", ".gemini/settings.json", '{"theme":1,"mcpServers":{"carrel":{"command":"my-own"}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.carrel]\ncommand = "own"\n'),
        ("qwen", ".qwen/settings.json", OWN_SERVER),
    ],
)
def test_uninstall_leaves_a_server_of_the_persons_own(home: Path, agent: str, name: str, text: str) -> None:
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_bytes(text.encode())
    before = files(home)
    server = ["mcp", "uninstall", "--client", AGENTS[agent].client]
    for uninstall in (["agents", "uninstall", agent], server):
        assert main(uninstall) == 0
        assert files(home) == before
    assert main(["agents", "install", agent, "--yes"]) == 0
    for uninstall in (["agents", "uninstall", agent], ["agents", "uninstall"], server):
        assert main(uninstall) == 0
        assert files(home) == before


def test_a_server_that_a_person_put_in_its_place_stays(home: Path) -> None:
    settings = home / ".qwen/settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    main(["agents", "install", "qwen", "--yes"])
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **json.loads(OWN_SERVER)}))
    assert main(["agents", "uninstall", "qwen"]) == 0
    assert json.loads(settings.read_text()) == json.loads(OWN_SERVER)


def test_the_backup_stays_where_only_it_has_a_persons_own(home: Path) -> None:
    settings = home / ".qwen/settings.json"
    settings.parent.mkdir()
    settings.write_text(OWN_SERVER)
    main(["agents", "install", "qwen", "--yes"])
    settings.write_text(json.dumps({"hooks": json.loads(settings.read_text())["hooks"]}))
    assert main(["agents", "uninstall", "qwen"]) == 0
    assert (home / ".qwen/settings.json.carrel-backup").read_text() == OWN_SERVER


@pytest.mark.parametrize(
    ("agent", "name"), [("copilot", ".copilot/hooks/carrel.json"), ("opencode", ".config/opencode/plugin/carrel.js")]
)
def test_a_whole_file_that_a_person_changed_is_theirs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, name: str
) -> None:
    file = home / name
    assert main(["agents", "install", agent, "--yes"]) == 0
    monkeypatch.setattr(verbs, "program", lambda: tmp_path / "a newer" / "carrel-hook")
    assert main(["agents", "install", agent]) == 0
    assert "a newer" in file.read_text()
    assert list(file.parent.iterdir()) == [file], "another path of the program is no change of a person's"
    own = file.read_text() + "\n// mine: carrel-hook\n"
    file.write_text(own)
    assert main(["agents", "install", agent, "--yes"]) == 0
    assert file.with_name(file.name + ".carrel-backup").read_text() == own
    for _ in range(2):
        assert main(["agents", "uninstall", agent]) == 0
        assert file.read_text() == own
    assert list(file.parent.iterdir()) == [file]


def test_the_server_and_the_hook_of_one_file_come_and_go_apart(home: Path) -> None:
    settings = home / ".gemini/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"a": 1}')
    client = ["--client", "gemini"]
    assert main(["mcp", "install", *client]) == 0
    served = settings.read_text()
    assert main(["agents", "install", "gemini", "--yes"]) == 0
    assert main(["mcp", "uninstall", *client]) == 0
    assert set(json.loads(settings.read_text())) == {"a", "hooks"}
    assert main(["mcp", "install", *client]) == 0
    assert main(["agents", "uninstall", "gemini"]) == 0
    assert files(settings.parent) == {"settings.json": b'{"a": 1}'}
    assert '"mcpServers"' in served


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (".gemini/settings.json", '{\n  "a": 1,\n  "hooks" {}\n}', "line 3"),
        (".gemini/settings.json", '{\r  "hooks": {"BeforeAgent": {}}\r}', "hooks.BeforeAgent.*a list"),
        (".codex/config.toml", 'a = 1\nb = "\n', "line 2"),
        (".codex/config.toml", "a = 1\rb = 2\r", "line 1"),
        (".codex/config.toml", 'mcp_servers = {other = {command = "x"}}\n', "on one line"),
        (".codex/hooks.json", '{\n  "a": "\xff"}', "line 2: it isn't UTF-8"),
    ],
)
def test_a_broken_file_stays_and_so_do_the_agents_others(
    home: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, line: str
) -> None:
    own_settings(home, "\n")
    (home / name).write_bytes(text.encode("latin-1"))
    before = files(home)
    agent = name[1:].partition("/")[0]
    assert main(["agents", "install", agent, "--yes", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["agents"]
    assert re.search(f"{name}.*{line}.*left as it is", row["error"].replace("\\", "/"))
    assert files(home) == before
    assert main(["agents", "install", "--yes"]) == 1
    assert {key for key, value in files(home).items() if before.get(key) == value} >= {name}
    assert "prompt_context" in (home / ".claude/settings.json").read_text(), "the others are set up all the same"


def test_what_was_written_before_a_failure_is_put_back(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "file/two.json"
    one.write_bytes(b"{}")
    (tmp_path / "file").write_bytes(b"")
    changes = [Change(one, b"{}", b"[]"), Change(tmp_path / "new.json", None, b"1"), Change(other, None, b"2")]
    before = files(tmp_path)
    with pytest.raises(CarrelError, match=r"can't be (read|written)"):
        apply_all(changes)
    assert files(tmp_path) == before


def test_an_agent_that_writes_its_own_settings_meanwhile_loses_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, disk, numbers = home / ".claude.json", os.fsync, iter("12")
    own.write_text('{"n": 0}')

    def syncing(handle: int) -> None:
        disk(handle)
        if number := next(numbers, ""):
            own.write_text(f'{{"n": {number}}}')

    monkeypatch.setattr(os, "fsync", syncing)
    assert main(["agents", "install", "claude-code", "--yes"]) == 0
    read = json.loads(own.read_text())
    assert (read["n"], list(read["mcpServers"])) == (2, ["carrel"])
    assert main(["agents", "uninstall", "claude-code"]) == 0
    assert own.read_text() == '{"n": 2}'


def test_a_read_only_file_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own_settings(home, "\n")
    before = files(home)
    (home / ".codex/hooks.json").chmod(0o444)
    assert main(["agents", "install", "codex", "--yes"]) == 1
    assert "hooks.json is read-only; it was left as it is. Make it writable" in capsys.readouterr().err
    assert files(home) == before
    (home / ".codex/hooks.json").chmod(0o644)


def test_nobody_is_asked_without_a_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "install", "gemini"]) == 2
    assert "--dry-run" in capsys.readouterr().err
    assert files(home) == {}
    assert main(["agents", "install", "gemini", "--dry-run"]) == 0
    assert '+        "command"' not in (shown := capsys.readouterr().out)
    assert '"BeforeAgent"' in shown
    assert main(["agents", "install", "gemini", "--yes"]) == 0
    assert main(["agents", "install", "gemini"]) == 0, "what was agreed to once may be renewed"


@pytest.mark.parametrize("typed", ["y\n", "n\n", ""])
def test_a_person_is_shown_what_is_written_and_agrees(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    monkeypatch.setattr("sys.stdin", _Terminal(typed))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    agreed = typed == "y\n"
    assert main(["agents", "install", "qwen"]) == (0 if agreed else 1)
    shown, file = capsys.readouterr().err.splitlines(), home / ".qwen/settings.json"
    assert shown[:4] == [f"--- {file}", f"+++ {file}", "@@ -0,0 +1,24 @@", "+{"]
    assert sum("carrel-hook" in line for line in shown) == 1
    assert bool(files(home)) == agreed


class _Terminal:
    def __init__(self, typed: str) -> None:
        self._typed = typed

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._typed


def test_an_unknown_agent_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "install", "claud-code"]) == 2
    assert "did you mean" in capsys.readouterr().err.lower()


def test_without_its_program_no_hook_is_written(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(verbs, "program", missing)
    assert main(["agents", "install", "gemini", "--yes"]) == 1
    assert "make build" in capsys.readouterr().err
    assert files(home) == {}


def test_without_the_sdk_its_absence_is_told(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("carrel.frontends.mcp.server_info.find_spec", lambda _: None)
    assert main(["agents", "install", "codex", "--yes"]) == 0
    assert "needs the official SDK" in capsys.readouterr().err


def missing() -> Path:
    raise CarrelError("The program is missing", "Run `make build`.")


def test_every_name_is_known_everywhere() -> None:
    assert tuple(AGENTS) == setup_arguments.AGENTS == (*meeting_place.AGENTS, *EDITORS)


def test_a_folders_file_that_leads_out_of_it_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".gemini").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert main(["agents", "install", "gemini", "--yes", "--workspace", "--path", str(folder)]) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folders_files_name_no_path_of_a_person(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert main(["agents", "install", "codex", "--yes", "--workspace", "--path", str(folder)]) == 0
    config = tomllib.loads((folder / ".codex/config.toml").read_text())
    assert command_of(config["mcp_servers"]["carrel"]) == ["carrel", "mcp"]
    assert files(home) == {}


def test_a_change_that_needs_nothing_touches_nothing(tmp_path: Path) -> None:
    place = Place("global", "", {}, str(tmp_path))
    assert place.hook(AGENTS["copilot"]) == tmp_path / ".copilot/hooks/carrel.json"
    assert apply_all([Change(tmp_path / "deep/none.json", None, None)]) == []
    assert files(tmp_path) == {}
    assert apply(Change(tmp_path / "deep/new.json", None, b"1")) is None
