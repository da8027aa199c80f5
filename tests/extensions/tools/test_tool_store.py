"""The file of tools and approvals, changed by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from carrel.extensions.tools import tool_catalogue as tool_store
from carrel.extensions.tools.tool_catalogue import ToolStore
from carrel.model.catalogue_tool import CatalogueTool, KeptTools
from carrel.model.errors import StoreError
from carrel.system.filesystem import locked

ROUNDS = 40
CHANGES = """
import sys, time
from pathlib import Path
from carrel.model.catalogue_tool import CatalogueTool, KeptTools
from carrel.extensions.tools.tool_catalogue import ToolStore

store, who = ToolStore(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    name = f"{who}{number}"
    tool = CatalogueTool(source=name, name="t", description="d", risk="safe", schema={})
    store.put(name, "origin", [tool])
    store.approve([tool])
    if number % 2:
        store.remove(name)
    time.sleep(0.001)  # who waits looks at the lock every 10 ms, and would starve beside one that never pauses
"""


def _tool(source: str) -> CatalogueTool:
    return CatalogueTool(source=source, name="t", description="d", risk="safe", schema={})


def test_two_processes_lose_none_of_each_others_changes(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", CHANGES, str(path), who, str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in "ab"
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    for program in programs:
        program.communicate(timeout=60)
        assert program.returncode == 0
    kept = ToolStore(path).kept()
    left = {f"{who}{number}" for who in "ab" for number in range(0, ROUNDS, 2)}
    assert set(kept.sources) == left
    assert {tool.source for tool in kept.approved.values()} == left


def test_a_source_that_was_removed_while_it_was_asked_about_is_not_approved(tmp_path: Path) -> None:
    mine, other = ToolStore(tmp_path / "tools.json"), ToolStore(tmp_path / "tools.json")
    mine.put("s", "origin", [_tool("s")])
    other.remove("s")
    mine.approve([_tool("s")])
    assert mine.kept().approved == {}


def test_another_origin_ends_what_was_approved(tmp_path: Path) -> None:
    store = ToolStore(tmp_path / "tools.json")
    store.put("s", "origin", [_tool("s")])
    store.approve([_tool("s")])
    store.put("s", "another", [_tool("s")])
    assert store.kept().approved == {}


def test_a_lock_that_is_never_let_go_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_store, "_LOCK_SECONDS", 0.05)
    with locked(tmp_path / "tools.json.lock", 1) as held:
        assert held
        with pytest.raises(StoreError, match="another process"):
            ToolStore(tmp_path / "tools.json").remove("s")


def test_what_a_newer_carrel_kept_is_neither_used_nor_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tools.json"
    path.write_text('{"version": 99, "tools": "otherwise"}')
    assert ToolStore(path).kept() == KeptTools()
    assert "a newer Carrel wrote it" in caplog.text
    with pytest.raises(StoreError, match="written by a newer Carrel"):
        ToolStore(path).put("s", "origin", [_tool("s")])
    assert "otherwise" in path.read_text()


@pytest.mark.parametrize("damage", ["{", "[]", '{"version": 1}', '{"version": "2"}', "\0"])
def test_a_damaged_file_is_put_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(damage)
    store = ToolStore(path)
    assert store.kept() == KeptTools()
    store.put("s", "origin", [_tool("s")])
    assert set(store.kept().sources) == {"s"}
    assert (tmp_path / "tools.json.damaged").read_text() == damage
