"""Entries in files of JSON with comments: layout, comments and line ends stay."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.cli.assistants import install, jsonc
from carrel.frontends.cli.assistants.clients import CLIENTS
from carrel.frontends.cli.assistants.edits import Entry
from carrel.frontends.cli.assistants.install import Change, apply
from carrel.model.errors import CarrelError

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
