"""The file that keeps what was learned: where it is, and what of it is believed."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from tests.shop import SHOP, write_files

from carrel.core.commit_memory import CommitMemory, HistoryAdapter, RememberedCommit
from carrel.core.errors import StoreError
from carrel.core.types import Budget, Query
from carrel.frontends.common.uris import longest_match
from carrel.providers.tokenizers import ExactTokenizer
from carrel.server import queries, settings_files
from carrel.server.composition import Composition
from carrel.server.context_request import ContextRequest
from carrel.server.context_service import context
from carrel.server.session import Session
from carrel.server.settings import Settings
from carrel.server.tuning import TUNING_FILE, TuningFigures, TuningFile, TuningRecord

FIGURES = TuningFigures(questions=40, without=0.5, with_it=0.6, gain=0.1, low=0.05, high=0.15)
RECORD = TuningRecord.of(
    HistoryAdapter(CommitMemory([RememberedCommit(("gizmo",), ("a.py", "b.py"))]), 0.7),
    FIGURES,
    model="m",
    commit="c" * 40,
    at=1_800_000_000.0,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache_folder=str(tmp_path / "cache"))


def looked(file: TuningFile) -> TuningFile:
    file.refresh()
    return file


def test_what_was_written_is_read_and_forgotten(root: Path, settings: Settings) -> None:
    writer, reader = TuningFile(root, settings), looked(TuningFile(root, settings))
    assert (reader.adapter("m"), reader.problem, reader.delete()) == (None, None, False)
    writer.write(RECORD)
    adapter = looked(reader).adapter("m")
    assert adapter is not None
    assert adapter.gains(["gizmo"]) == RECORD.adapter().gains(["gizmo"]) != {}
    assert reader.record == RECORD
    assert reader.adapter("another model") is None
    assert writer.delete()
    reader.refresh()
    assert reader.adapter("m") is None
    assert reader.record is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"{",
        lambda _: b"\xff\x00",
        lambda _: b"[" * 100_000,
        lambda _: b" " * 9_000_000,
        lambda record: json.dumps({**record, "version": 2}).encode(),
        lambda record: json.dumps({**record, "weight": 1e9}).encode(),
        lambda record: json.dumps({**record, "weight": float("nan")}).encode(),
        lambda record: json.dumps({**record, "weight": -1}).encode(),
        lambda record: json.dumps({**record, "paths": []}).encode(),
        lambda record: json.dumps({**record, "commits": []}).encode(),
        lambda record: json.dumps({**record, "commits": record["commits"] * 2_001}).encode(),
        lambda record: json.dumps({**record, "commits": [[["w"] * 41, [0]]]}).encode(),
        lambda record: json.dumps({**record, "commits": [[["w"], [-1]]]}).encode(),
        lambda record: json.dumps({**record, "commits": [[["w" * 300], [0]]]}).encode(),
        lambda record: json.dumps({**record, "more": 1}).encode(),
        lambda record: json.dumps(record).replace('"figures": {', '"figures": {"x": ' + "[" * 5_000).encode(),
    ],
)
def test_a_damaged_file_counts_as_none_and_is_told(root: Path, settings: Settings, damage) -> None:  # type: ignore[no-untyped-def]
    file = TuningFile(root, settings)
    file.write(RECORD)
    file.path.write_bytes(damage(json.loads(file.path.read_bytes())))
    reader = looked(TuningFile(root, settings))
    assert (reader.adapter("m"), reader.record) == (None, None)
    assert "damaged" in str(reader.problem)
    assert "carrel tune" in str(reader.problem)
    file.write(RECORD)
    assert (looked(reader).record, reader.problem) == (RECORD, None)


@pytest.mark.parametrize("words", [("w" * 300,), tuple("w" * 190 + str(n) for n in range(40))])
def test_what_could_not_be_read_again_is_not_kept(root: Path, settings: Settings, words: tuple[str, ...]) -> None:
    file = TuningFile(root, settings)
    file.write(RECORD)
    memory = CommitMemory([RememberedCommit(words, ("a.py",))] * 2_000)
    with pytest.raises(StoreError, match="can't be kept"):
        file.write(TuningRecord.of(HistoryAdapter(memory, 0.7), FIGURES, model="m", commit="c" * 40, at=1.0))
    assert (looked(TuningFile(root, settings)).record, file.problem) == (RECORD, None)


def test_a_workspace_cannot_bring_one(root: Path, settings: Settings, tmp_path: Path) -> None:
    elsewhere = TuningFile(root, settings)
    elsewhere.write(RECORD)
    own = TuningFile(root, Settings(cache_folder=str(tmp_path / "cache"), storage="workspace"))
    assert own.path == elsewhere.path  # also where the index itself is in the workspace
    inside = TuningFile(root, Settings(cache_folder=str(root / "cache")))
    inside.path.parent.mkdir(parents=True)
    inside.path.write_bytes(elsewhere.path.read_bytes())
    assert looked(inside).adapter("m") is None
    assert "lies in the workspace" in str(inside.problem)
    with pytest.raises(StoreError, match="lies in the workspace"):
        inside.write(RECORD)


async def test_no_question_touches_the_disk_on_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "settings.toml"
    own.write_text(f"cacheFolder = '{tmp_path / 'cache'}'\nragEnabled = true\n", "utf-8")
    monkeypatch.setattr(settings_files, "user_files", lambda: (own, tmp_path / "none.json"))
    session = Session(Composition(), longest_match)
    session.configure({})
    root = write_files(tmp_path / "shop", SHOP)
    workspace = session.add_folder(str(root), root.as_uri())
    query, budget = Query("where is the function authenticate_user", 5), Budget(2_000)
    await queries.search(workspace, query, 60_000)
    loop, on_loop, seen, stat = threading.current_thread(), list[str](), list[str](), Path.stat
    step = "search"

    def watched(path: Path, **more: bool) -> os.stat_result:
        if path.name == TUNING_FILE:
            (on_loop if threading.current_thread() is loop else seen).append(step)
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", watched)
    try:
        await queries.search(workspace, query, 60_000)
        step = "files"
        await queries.files(workspace, query, 20, 60_000)
        step = "compare"
        await queries.compare(workspace, query, budget, ExactTokenizer(), 60_000)
        step = "explain"
        await queries.explain_line(workspace, query, "src/auth.py", 1)
        step = "context"
        await context(workspace, ContextRequest(query.text, 5, budget, trigger="explicit"))
        step = "status"
        await workspace.status()
        workspace.brief()
    finally:
        await session.close()
    assert (on_loop, set(seen)) == ([], {"search", "files", "compare", "explain", "context", "status"})
