"""The file that keeps what was learned: where it is, and what of it is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carrel.core.commit_memory import CommitMemory, HistoryAdapter, RememberedCommit
from carrel.core.errors import StoreError
from carrel.server.settings import Settings
from carrel.server.tuning import TuningFigures, TuningFile, TuningRecord

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


def test_what_was_written_is_read_and_forgotten(root: Path, settings: Settings) -> None:
    writer, reader = TuningFile(root, settings), TuningFile(root, settings)
    assert (reader.adapter("m"), reader.problem(), reader.delete()) == (None, None, False)
    writer.write(RECORD)
    adapter = reader.adapter("m")
    assert adapter is not None
    assert adapter.gains(["gizmo"]) == RECORD.adapter().gains(["gizmo"]) != {}
    assert reader.record() == RECORD
    assert reader.adapter("another model") is None
    assert writer.delete()
    assert (reader.adapter("m"), reader.record()) == (None, None)


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
    reader = TuningFile(root, settings)
    assert (reader.adapter("m"), reader.record()) == (None, None)
    assert "damaged" in str(reader.problem())
    assert "carrel tune" in str(reader.problem())
    file.write(RECORD)
    assert (reader.record(), reader.problem()) == (RECORD, None)


@pytest.mark.parametrize("words", [("w" * 300,), tuple("w" * 190 + str(n) for n in range(40))])
def test_what_could_not_be_read_again_is_not_kept(root: Path, settings: Settings, words: tuple[str, ...]) -> None:
    file = TuningFile(root, settings)
    file.write(RECORD)
    memory = CommitMemory([RememberedCommit(words, ("a.py",))] * 2_000)
    with pytest.raises(StoreError, match="can't be kept"):
        file.write(TuningRecord.of(HistoryAdapter(memory, 0.7), FIGURES, model="m", commit="c" * 40, at=1.0))
    assert (TuningFile(root, settings).record(), file.problem()) == (RECORD, None)


def test_a_workspace_cannot_bring_one(root: Path, settings: Settings, tmp_path: Path) -> None:
    elsewhere = TuningFile(root, settings)
    elsewhere.write(RECORD)
    own = TuningFile(root, Settings(cache_folder=str(tmp_path / "cache"), storage="workspace"))
    assert own.path == elsewhere.path  # also where the index itself is in the workspace
    inside = TuningFile(root, Settings(cache_folder=str(root / "cache")))
    inside.path.parent.mkdir(parents=True)
    inside.path.write_bytes(elsewhere.path.read_bytes())
    assert inside.adapter("m") is None
    assert "lies in the workspace" in str(inside.problem())
    with pytest.raises(StoreError, match="lies in the workspace"):
        inside.write(RECORD)
