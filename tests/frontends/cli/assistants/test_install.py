"""Configuration files of assistants: what Carrel doesn't own stays byte for byte."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from tests.frontends.cli.assistants.test_jsonc_edits import ENTRY, LINE_ENDS, ZED, plan

from carrel.frontends.cli import main
from carrel.frontends.cli.assistants import jsonc
from carrel.frontends.cli.assistants.clients import CLIENTS, System, command_of, configuration
from carrel.frontends.cli.assistants.install import apply
from carrel.frontends.cli.setup_arguments import MCP_CLIENTS
from carrel.model.errors import CarrelError, InvalidInput

OWN = [
    {"command": "mine", "args": ["--fast"]},
    {"command": "/opt/carrel", "args": ["mcp", "--root", "/x"]},
    {"type": "http", "url": "http://127.0.0.1:1/mcp"},
    "switched off",
    {"command": "carrel", "args": None},
]


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("newline", LINE_ENDS)
@pytest.mark.parametrize("edited", [False, True])
def test_an_entry_of_the_persons_own_comes_back(tmp_path: Path, own: object, newline: str, edited: bool) -> None:
    file = tmp_path / "mcp.json"
    text = f'{{\n  "servers": {{ // mine\n    "carrel": {json.dumps(own)}, // by hand\n    "b": 1\n  }}\n}}\n'.replace(
        "\n", newline
    )
    file.write_bytes(text.encode())
    assert apply(plan(file, "servers", {"command": "older", "args": ["mcp"]}))
    apply(plan(file, "servers", ENTRY))
    if edited:
        file.write_bytes(jsonc.put(file.read_bytes().decode(), ("servers", "c"), 2).encode())
    apply(plan(file, "servers", None))
    left = file.read_bytes().decode()
    assert jsonc.parse(left).value == {"servers": {"carrel": own, "b": 1, **({"c": 2} if edited else {})}}
    assert edited or left == text
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


def test_an_entry_that_was_written_after_an_uninstall_comes_back_too(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"servers": {}}')
    apply(plan(file, "servers", ENTRY))
    file.write_text(jsonc.put(file.read_text(), ("servers", "b"), 1))
    apply(plan(file, "servers", None))
    text = jsonc.put(file.read_text(), ("servers", "carrel"), {"command": "mine"})
    file.write_text(text)
    apply(plan(file, "servers", ENTRY))
    apply(plan(file, "servers", None))
    assert file.read_text() == text


@pytest.mark.parametrize(
    "text", ['{"servers":{"carrel":{"command":"mine","args":["mcp"]}}}', '{"servers": {"carrel": {"command": ["x", "mcp"]}}}//\n']
)
def test_a_file_that_a_person_wrote_is_never_deleted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    backup = apply(plan(file, "servers", None))
    assert backup
    assert backup.read_text() == text
    assert jsonc.parse(file.read_text()).value == {}


@pytest.mark.parametrize(("name", "stays"), [(".vscode", False), (".cursor", False), ("project", True)])
def test_uninstall_leaves_no_empty_folder_of_an_assistant(tmp_path: Path, name: str, stays: bool) -> None:
    folder = tmp_path / name
    for other in (False, True):
        if stays:
            folder.mkdir(exist_ok=True)
        apply(plan(folder / "mcp.json", "servers", ENTRY))
        if other:
            (folder / "settings.json").write_text("{}")
        apply(plan(folder / "mcp.json", "servers", None))
        assert folder.exists() == (stays or other)


@pytest.mark.parametrize(
    ("before", "edited", "after"),
    [
        ("{}", {"a": 1}, {"a": 1}),
        ('{"servers": {}}', {"a": 1}, {"servers": {}, "a": 1}),
        ('{"a": 1}', {}, {"a": 1}),
        ('{"servers": {}, "a": 1}', {"a": None}, {"servers": {}, "a": None}),
    ],
)
def test_after_other_edits_only_what_install_added_goes(
    tmp_path: Path, before: str, edited: dict[str, object], after: dict[str, object]
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(before)
    apply(plan(file, "servers", ENTRY))
    file.write_text(json.dumps({**json.loads(file.read_text()), **edited}))
    apply(plan(file, "servers", None))
    assert json.loads(file.read_text()) == after
    assert list(tmp_path.iterdir()) == [file], "no copy stays behind of what may hold a token"


@pytest.mark.parametrize("entry", [ENTRY, None])
def test_a_read_only_file_is_refused(tmp_path: Path, entry: dict[str, object] | None) -> None:
    file = tmp_path / "mcp.json"
    text = '{"servers": {"carrel": {"command": "older"}}}'
    file.write_text(text)
    file.chmod(0o444)
    with pytest.raises(CarrelError, match=r"read-only.*writable"):
        apply(plan(file, "servers", entry))
    assert file.read_text() == text
    assert len(list(tmp_path.iterdir())) == 1
    file.chmod(0o644)  # Windows deletes no other


def test_a_new_file_comes_and_goes(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "mcp.json"
    assert apply(plan(file, "servers", ENTRY)) is None
    assert json.loads(file.read_text()) == {"servers": {"carrel": ENTRY}}
    apply(plan(file, "servers", None))
    assert not file.exists()


def test_a_backup_a_link_and_the_mode_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_text("\ufeff" + ZED, "utf-8")
    real.chmod(0o600)
    link.symlink_to(real)
    backup = apply(plan(link, "context_servers", ENTRY))
    assert backup
    assert backup.read_text("utf-8") == "\ufeff" + ZED
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == backup.stat().st_mode & 0o777 == 0o600
    assert real.read_text("utf-8").startswith("\ufeff//")


def test_somebody_elses_change_in_between_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    change = plan(file, "servers", ENTRY)
    file.write_text('{"a": 1}')
    with pytest.raises(CarrelError, match="somebody else"):
        apply(change)
    assert file.read_text() == '{"a": 1}'


@pytest.mark.parametrize("entry", [ENTRY, None])
def test_nor_is_one_that_comes_while_the_new_file_is_written(
    tmp_path: Path, entry: dict[str, object] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, disk = tmp_path / "mcp.json", os.fsync
    file.write_text("{}")
    if not entry:
        apply(plan(file, "servers", ENTRY))
    change = plan(file, "servers", entry)
    backup = file.with_name("mcp.json.carrel-backup").exists()

    def syncing(handle: int) -> None:
        disk(handle)
        file.write_text('{"a": 1}')

    monkeypatch.setattr(os, "fsync", syncing)
    with pytest.raises(CarrelError, match="somebody else"):
        apply(change)
    assert file.read_text() == '{"a": 1}'
    assert file.with_name("mcp.json.carrel-backup").exists() is backup


PLACES: list[tuple[System, dict[str, str], str, dict[str, str]]] = [
    (
        "linux",
        {},
        "/home/u",
        {
            "vscode": "/home/u/.config/Code/User/mcp.json",
            "claude": "/home/u/.claude.json",
            "cursor": "/home/u/.cursor/mcp.json",
            "zed": "/home/u/.config/zed/settings.json",
            "jetbrains": "/home/u/.config/github-copilot/intellij/mcp.json",
            "copilot-cli": "/home/u/.copilot/mcp-config.json",
            "codex": "/home/u/.codex/config.toml",
            "gemini": "/home/u/.gemini/settings.json",
            "opencode": "/home/u/.config/opencode/opencode.json",
            "qwen": "/home/u/.qwen/settings.json",
        },
    ),
    (
        "darwin",
        {},
        "/Users/u",
        {
            "vscode": "/Users/u/Library/Application Support/Code/User/mcp.json",
            "zed": "/Users/u/.config/zed/settings.json",
            "jetbrains": "/Users/u/.config/github-copilot/intellij/mcp.json",
        },
    ),
    (
        "win32",
        {"APPDATA": r"D:\Roam", "COPILOT_HOME": r"D:\cop"},
        r"C:\Users\u",
        {
            "vscode": r"D:\Roam\Code\User\mcp.json",
            "claude": r"C:\Users\u\.claude.json",
            "zed": r"D:\Roam\Zed\settings.json",
            "jetbrains": r"C:\Users\u\AppData\Local\github-copilot\intellij\mcp.json",
            "copilot-cli": r"D:\cop\mcp-config.json",
        },
    ),
]


@pytest.mark.parametrize(("system", "env", "home", "expected"), PLACES, ids=["linux", "darwin", "win32"])
def test_where_each_client_keeps_its_configuration(
    system: System, env: dict[str, str], home: str, expected: dict[str, str]
) -> None:
    assert {name: str(configuration(name, "global", "", system, env, home)) for name in expected} == expected


def test_a_root_that_the_editor_fills_in_is_said_to_be_the_editors() -> None:
    assert CLIENTS["cursor"].entry("carrel")["args"] == ["mcp", "--root", "${workspaceFolder}", "--roots-by-editor"]
    assert CLIENTS["claude"].entry("carrel")["args"] == ["mcp"]


def test_jetbrains_has_no_workspace_file() -> None:
    with pytest.raises(InvalidInput, match="--global"):
        configuration("jetbrains", "workspace", "/x", "linux", {}, "/home/u")


def test_the_command_line_knows_every_client() -> None:
    assert tuple(CLIENTS) == MCP_CLIENTS


def opened(client: str) -> list[str]:
    variable = CLIENTS[client].folder_variable
    return ["--root", variable, "--roots-by-editor"] if variable else []


@pytest.mark.parametrize("client", [name for name in CLIENTS if CLIENTS[name].workspace])
def test_the_commands(client: str, tmp_path: Path) -> None:
    arguments = ["--client", client, "--workspace", "--path", str(tmp_path)]
    file = tmp_path / (CLIENTS[client].workspace or "")
    assert main(["mcp", "install", *arguments]) == 0
    written = (tomllib if file.suffix == ".toml" else json).loads(file.read_text())
    assert command_of(written[CLIENTS[client].section]["carrel"]) == ["carrel", "mcp", *opened(client)]
    assert main(["mcp", "uninstall", *arguments]) == 0
    assert not file.exists()


def test_a_workspaces_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".mcp.json").symlink_to(tmp_path / "mine.json")
    assert main(["mcp", "install", "--client", "claude", "--workspace", "--path", str(folder)]) == 1
    assert (tmp_path / "mine.json").read_text() == "{}"
