"""What comes into any file comes out of it: lists and tables as people write them."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.cli.assistants.agents import AGENTS
from carrel.frontends.cli.assistants.clients import CLIENTS
from carrel.frontends.cli.assistants.edits import Edit
from carrel.frontends.cli.assistants.install import apply, apply_all, plan
from carrel.model.errors import CarrelError

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
BLANK = st.lists(st.sampled_from(["\n", "  ", "// mine\n", "/* [ */", '// "hooks": [\n']), max_size=3).map("".join)
OWN = st.sampled_from(
    ['{"hooks": [{"type": "command", "command": "mine"}]}', '{"matcher": "*", "hooks": []}', "1", '"]"', "[{}]"]
)
NAMES = st.text("abc-", min_size=1, max_size=3)
TABLES = st.dictionaries(NAMES, st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2), max_size=3)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """Draw a person's settings with a list of hooks, perhaps an empty one, and comments wherever they may stand."""
    items = [f"{draw(BLANK)}{item}{draw(BLANK)}" for item in draw(st.lists(OWN, max_size=3))]
    trailing: bool = draw(st.booleans())
    comma = "," if items and trailing else ""
    events = f'"UserPromptSubmit"{draw(BLANK)}: [{",".join(items)}{comma}{draw(BLANK)}]'
    hooks = f'"hooks": {{{draw(BLANK)}{draw(st.sampled_from(["", events]))}{draw(BLANK)}}}'
    members = draw(st.permutations([hooks, '"a": 1'][: draw(st.integers(0, 2))]))
    text = f"{draw(BLANK)}{{{draw(BLANK)}{f',{draw(BLANK)}'.join(members)}{draw(BLANK)}}}{draw(BLANK)}"
    return text.replace("\n", draw(LINE_ENDS))


def in_and_out(edits: list[Edit], before: bytes, change: str = "") -> tuple[bytes, bytes]:
    """Return a file with edits in it, and the file after they were taken out again."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(before)
        apply(plan(file, edits, install=True))
        installed = file.read_bytes()
        assert not plan(file, edits, install=True).needed
        if change:
            file.write_bytes(installed + change.encode())
        apply(plan(file, edits, install=False))
        return installed, file.read_bytes()


@given(settings())
def test_a_server_and_a_hook_leave_any_settings_as_they_were(text: str) -> None:
    edits = [CLIENTS["qwen"].edit("carrel"), AGENTS["qwen"].hook("/bin/carrel-hook")]
    installed, after = in_and_out(edits, text.encode())
    assert after == text.encode()
    assert all(edit.standing(installed.decode()) == edit.value for edit in edits)
    edited, left = in_and_out(edits, text.encode(), " // more")
    assert left.decode().endswith(" // more")
    assert not any(edit.standing(left.decode()) for edit in edits)
    assert edited == installed


@given(st.dictionaries(NAMES, TABLES, max_size=3), st.booleans())
def test_a_table_leaves_any_toml_as_it_was(data: dict[str, Any], windows: bool) -> None:
    text = tomlkit.dumps({"top": 1, **data, "mcp_servers": {"other": {"command": "x"}}})
    text = text.replace("\n", "\r\n") if windows else text
    edit = CLIENTS["codex"].edit("carrel")
    installed, after = in_and_out([edit], text.encode())
    assert after == text.encode()
    assert tomllib.loads(installed.decode())["mcp_servers"]["carrel"]["args"] == ["mcp"]
    assert installed.startswith(text.encode())
    left = in_and_out([edit], text.encode(), "\n[projects]\nx = 1\n")[1]
    assert tomllib.loads(left.decode()) == {**tomllib.loads(text), "projects": {"x": 1}}


def test_a_hook_of_another_path_is_replaced_where_it_stands() -> None:
    text = '{"hooks": {"UserPromptSubmit": [1, {"hooks": [{"command": "\\"/old/carrel-hook\\" qwen"}]}, 2]}}'
    installed, after = in_and_out([AGENTS["qwen"].hook("/new/carrel-hook")], text.encode())
    items = json.loads(installed)["hooks"]["UserPromptSubmit"]
    assert (items[0], items[2]) == (1, 2)
    assert "/new/" in json.dumps(items[1])
    assert after == text.encode(), "it was there before"


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself", "below a file"])
def test_what_is_no_file_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "settings.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(path)  # whoever opened it would wait for ever
    elif kind == "link to itself":
        path.symlink_to(path)
    else:
        path.write_text("")
        path = path / "settings.json"
    before = sorted(tmp_path.rglob("*")), [os.lstat(found).st_mode for found in tmp_path.iterdir()]
    with pytest.raises(CarrelError, match=r"settings\.json can't be (read|written)"):
        apply_all([plan(path, [AGENTS["qwen"].hook("/bin/carrel-hook")], install=True)])
    assert (sorted(tmp_path.rglob("*")), [os.lstat(found).st_mode for found in tmp_path.iterdir()]) == before
