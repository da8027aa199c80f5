"""Configuration files of assistants: what Carrel doesn't own stays byte for byte."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.cli import main
from carrel.frontends.cli.assistants import install, jsonc
from carrel.frontends.cli.assistants.clients import CLIENTS, System, command_of, configuration
from carrel.frontends.cli.assistants.edits import Entry
from carrel.frontends.cli.assistants.install import Change, apply
from carrel.frontends.cli.setup_arguments import MCP_CLIENTS
from carrel.model.errors import CarrelError, InvalidInput

ENTRY: dict[str, object] = {"command": "carrel", "args": ["mcp"]}


def plan(path: Path, section: str, entry: dict[str, object] | None) -> Change:
    """Plan what has to change for an entry to stand in a file; None takes it out."""
    edit = Entry((section, "carrel"), entry or ENTRY, CLIENTS["vscode"].edit("carrel").mine)
    return install.plan(path, [edit], install=entry is not None)


ZED = """// Zed settings
{
  "theme": "One Dark", // the nice one
  /* fonts */
  "buffer_font_size": 15,
  "context_servers": {
    // what I use daily
    "other": {
      "command": "other", // keep
      "args": ["a", "b"],
    },
    // more to come
  },
  "vim_mode": true,
}
"""
VSCODE = '{\n\t"inputs": [],\n\t"servers": {\n\t\t"github": {"type": "http", "url": "https://example.com/{}"} // "x": 1\n\t}\n}\n'
FILES = {
    "zed": ZED,
    "vscode": VSCODE,
    "windows": VSCODE.replace("\n", "\r\n"),
    "no section": '{\n    "numStartups": 7,\n    "projects": {"/x": {"a": 1e3}}\n}',
    "one line": '{"servers": {"a": {}}}',
    "one line, no section": '{"a": 1}',
    "ends in a comment": '{\n  "a": 1 // last\n  // end\n}\n// after\n',
    "strange strings": '{\n  "a}\\"//": "/* , } \\u00e9 \\\\",\n  "b": [1, [2, {"c": null,},],],\n}\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("section", ["servers", "context_servers"])
def test_install_then_uninstall_gives_the_same_bytes(text: str, section: str) -> None:
    installed = jsonc.put(text, (section, "carrel"), ENTRY)
    before, after = jsonc.parse(text).value, jsonc.parse(installed).value
    assert after.pop(section) == {**before.pop(section, {}), "carrel": ENTRY}
    assert after == before
    assert jsonc.put(installed, (section, "carrel"), ENTRY) == installed
    assert jsonc.drop(installed, (section, "carrel")) == text


def test_comments_and_layout_stand_around_the_entry() -> None:
    installed = jsonc.put(ZED, ("context_servers", "carrel"), ENTRY)
    own = '    "carrel": {\n      "command": "carrel",\n      "args": [\n        "mcp"\n      ]\n    },\n'
    assert installed.replace("    // more to come\n" + own, "    // more to come\n") == ZED
    assert own in installed


def test_an_older_entry_is_replaced_in_its_place() -> None:
    text = '{"servers": {"carrel": {"command": "old"}, /* mine */ "b": {}}}'
    changed = jsonc.put(text, ("servers", "carrel"), ENTRY)
    assert changed.endswith(', /* mine */ "b": {}}}')
    assert jsonc.parse(changed).value["servers"] == {"carrel": ENTRY, "b": {}}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 2, "\t"]))
def test_any_json_survives(data: dict[str, object], indent: int | str | None) -> None:
    data.pop("servers", None)
    text = json.dumps(data, indent=indent)
    installed = jsonc.put(text, ("servers", "carrel"), ENTRY)
    assert json.loads(installed) == {**data, "servers": {"carrel": ENTRY}}
    assert jsonc.drop(installed, ("servers", "carrel")) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a" 1}',
        '{"a": 1} x',
        "[]",
        '{"servers": []}',
        '{"servers": {}, "servers": {}}',
        "{'a': 1}",
        "[" * 5000,
        "nonsense",
        '{"\\a": 1}',
    ],
)
def test_a_file_that_isnt_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(CarrelError, match="left as it is"):
        plan(file, "servers", ENTRY)
    assert file.read_text() == text


AS_THEY_WERE = [
    *FILES.values(),
    "",
    "\n \n",
    "{}",
    "{ }\r\n",
    '{"servers": {}}',
    '{\n  "servers": {\n  }\n}',
    '{"servers": { /* mine */ }}\n\n',
    '\ufeff{"servers": {}, "context_servers": {},}',
]


@pytest.mark.parametrize("text", AS_THEY_WERE)
@pytest.mark.parametrize("section", ["servers", "context_servers"])
def test_uninstall_leaves_the_file_as_it_was_before_install(tmp_path: Path, text: str, section: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode())
    apply(plan(file, section, {"command": "older", "args": ["mcp"]}))
    apply(plan(file, section, ENTRY))
    assert b'"carrel"' in file.read_bytes()
    apply(plan(file, section, None))
    assert file.read_bytes() == text.encode()
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]
    assert not plan(file, section, None).needed


LINE_ENDS = ("\n", "\r\n", "\r")
BLANK = st.lists(st.sampled_from(["\n", "  ", "\t", "// mine\n", "/* { */", "/* \n */", '// "servers": {\n']), max_size=4).map(
    "".join
)
NAME = st.sampled_from(['"a"', '"b"', '"//"', '"}"'])


@st.composite
def commented_objects(draw: st.DrawFn, inner: bool = True) -> str:
    """Draw the text of an object with comments and line ends wherever they may stand, perhaps with a section inside."""
    members = [(name, "1") for name in draw(st.lists(NAME, max_size=3, unique=True))]
    if inner and draw(st.booleans()):
        section = ('"servers"', draw(commented_objects(inner=False)))
        members.insert(draw(st.integers(0, len(members))), section)
    written = [f"{draw(BLANK)}{name}{draw(BLANK)}:{draw(BLANK)}{value}{draw(BLANK)}" for name, value in members]
    trailing: bool = draw(st.booleans())
    end = "," if written and trailing else ""
    return "{" + ",".join(written) + end + draw(BLANK) + "}"


@given(text=commented_objects(), newline=st.sampled_from(LINE_ENDS), around=BLANK)
def test_comments_and_every_line_end_survive(text: str, newline: str, around: str) -> None:
    text = (around + text).replace("\n", newline)
    before = jsonc.parse(text).value
    installed = jsonc.put(text, ("servers", "carrel"), ENTRY)
    after = jsonc.parse(installed).value
    assert after.pop("servers") == {**before.pop("servers", {}), "carrel": ENTRY}
    assert after == before
    assert set(re.findall(r"\r\n|\r|\n", installed)) <= ({newline} if re.search(r"[\r\n]", text) else {"\n"})
    left = jsonc.parse(jsonc.drop(installed, ("servers", "carrel"))).value
    assert {name: value for name, value in left.items() if name != "servers"} == before


@given(text=commented_objects(inner=False), newline=st.sampled_from(LINE_ENDS), name=NAME)
def test_a_member_goes_and_no_comment_swallows_what_follows(text: str, newline: str, name: str) -> None:
    text = f'{{"servers": {text}, "z": 2}}'.replace("\n", newline)
    before = jsonc.parse(text).value
    after = jsonc.parse(jsonc.drop(text, ("servers", json.loads(name)), keep=1)).value
    before["servers"].pop(json.loads(name), None)
    assert after == before


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
