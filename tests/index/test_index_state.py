from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from carrel.composition.composition import Composition
from carrel.model.errors import Cancelled
from carrel.model.native import CancelToken
from carrel.settings.settings import Settings
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner


def indexed(root: Path, settings: Settings) -> None:
    index = Composition().open_index(root, settings)
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    index.store.close()


def test_an_index_in_the_project_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def alpha(value):\n    return value + 1  # long enough to be a chunk\n")
    changed_ns = 1_700_000_000_123_456_700
    os.utime(tmp_path / "a.py", ns=(changed_ns, changed_ns))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()
    indexed(tmp_path, Settings(storage="workspace"))
    state = json.loads((tmp_path / ".carrel" / "rag-state.json").read_text())
    assert (state["version"], state["lastCommitSha"]) == (1, head)
    assert list(state["files"]) == ["a.py"]
    assert state["files"]["a.py"]["lastModified"] == 1700000000123.4567, "as `fs.statSync(…).mtimeMs` of Node.js says"
    assert len(state["files"]["a.py"]["chunkIds"]) == 1
    assert not list((tmp_path / ".carrel").glob("*.tmp"))
    index = Composition().open_index(tmp_path, Settings(storage="workspace"))
    index.clear()
    index.store.close()
    assert not (tmp_path / ".carrel" / "rag-state.json").exists()


def test_files_saved_before_a_clear_do_not_begin_the_index_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def alpha(value):\n    return value + 1  # long enough to be a chunk\n")
    index = Composition().open_index(tmp_path, Settings(cache_folder=str(tmp_path / "cache")))
    saved = Work(paths={"a.py"})
    assert IndexRunner().run_blocking(index, saved, CancelToken(), lambda *_: None).added == 0
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    index.clear()
    IndexRunner().run_blocking(index, saved, CancelToken(), lambda *_: None)
    assert (index.begun, index.store.snapshot().files) == (False, 0)
    index.store.close()


def test_an_index_in_the_cache_writes_nothing_into_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    indexed(root, Settings(cache_folder=str(tmp_path / "cache")))
    assert [entry.name for entry in root.iterdir()] == ["a.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_that_a_project_brings_leads_no_file_out_of_it(tmp_path: Path) -> None:
    project, outside, nowhere = tmp_path / "project", tmp_path / "outside.txt", tmp_path / "nowhere.txt"
    (project / ".carrel").mkdir(parents=True)
    outside.write_text("precious")
    (project / ".carrel" / "CACHEDIR.TAG").symlink_to(nowhere)
    index = Composition().open_index(project, Settings(storage="workspace"))
    for name in ("rag-state.json", f"rag-state.{os.getpid()}.tmp"):  # a checkout may bring them at any time
        (project / ".carrel" / name).symlink_to(outside)
    IndexRunner().run_blocking(index, Work(full=True), CancelToken(), lambda *_: None)
    index.store.close()
    assert outside.read_text() == "precious"
    assert not nowhere.exists()
    assert not (project / ".carrel" / "rag-state.json").is_symlink()


def test_the_error_of_a_cancelled_run_keeps_nothing_of_what_was_read(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / f"{i}.py").write_text(f"def alpha_{i}(value):\n    return value + {i}  # long enough to be a chunk\n")
    token = CancelToken()
    index = Composition().open_index(tmp_path, Settings(cache_folder=str(tmp_path / "cache")))
    with pytest.raises(Cancelled) as caught:
        IndexRunner().run_blocking(index, Work(full=True), token, lambda *_: token.cancel())
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb) if frame.f_code.co_filename.endswith("indexer.py")]
    assert frames
    assert not any(frame.f_locals for frame in frames)
    index.store.close()
