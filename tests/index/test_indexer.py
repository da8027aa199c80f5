# ruff: noqa: ARG002 - fakes take what the port gives them
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.fakes import FakeEmbedder
from tests.support.indexing import run_index_blocking

from carrel.model.errors import Cancelled, ProviderError
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions


class FakeBatch:
    def __init__(self, names: list[str]) -> None:
        self.names, self.failed = names, ""
        self.files = len(names)

    def paths(self) -> list[str]:
        return self.names

    def fail(self, paths: list[str], reason: str) -> None:
        self.failed = reason


class FakeStore:
    """Two batches of two files; notes what was committed."""

    def __init__(self) -> None:
        self.waiting = [FakeBatch(["a", "b"]), FakeBatch(["c", "d"])]
        self.committed: list[FakeBatch] = []
        self.scope: object = None
        self.compacted = False

    def _plan(self, scope: object) -> Any:
        self.scope = scope
        return SimpleNamespace(pending=4, unchanged=7, skipped=1)

    def scan(self, cancel: Any) -> Any:
        return self._plan("scan")

    def force(self, cancel: Any) -> Any:
        return self._plan("force")

    def check(self, paths: list[str], cancel: Any) -> Any:
        return self._plan(paths)

    def cut(self, plan: Any, cancel: Any, max_bytes: int) -> FakeBatch | None:
        if cancel.cancelled:
            raise Cancelled
        return self.waiting.pop(0) if self.waiting else None

    def commit(self, batch: FakeBatch, cancel: Any) -> Any:
        self.committed.append(batch)
        done = 0 if batch.failed else batch.files
        counts = {"changed": 0, "removed": 0, "unchanged": 0, "skipped": 0}
        return SimpleNamespace(added=done, failed=batch.files - done, chunks=3 * done, trivial=done, **counts)

    def compact(self, cancel: Any) -> bool:
        self.compacted = True
        return True


def test_a_run_commits_batch_by_batch_and_counts_files() -> None:
    store: Any = FakeStore()
    seen: list[tuple[int, int, str]] = []
    report = run_index_blocking(store, FakeEmbedder(), CancelToken(), progress=lambda *step: seen.append(step))
    assert (report.added, report.unchanged, report.skipped, report.failed) == (4, 7, 1, 0)
    assert (report.chunks, report.trivial) == (12, 4)
    assert seen == [(0, 4, ""), (2, 4, "b"), (4, 4, "d"), (4, 4, "")]
    assert store.compacted


@pytest.mark.parametrize(("scope", "asked"), [("all", "scan"), ("force", "force"), (["x.py"], ["x.py"])])
def test_the_scope_says_what_is_looked_at(scope: Any, asked: object) -> None:
    store: Any = FakeStore()
    run_index_blocking(store, FakeEmbedder(), CancelToken(), scope=scope)
    assert store.scope == asked


def test_a_batch_that_can_not_be_embedded_is_failed_and_the_next_goes_on() -> None:
    class Flaky(FakeEmbedder):
        def embed_batch(self, batch: Any, cancel: Any) -> None:
            if "a" in batch.names:
                raise ProviderError("429")

    store: Any = FakeStore()
    report = run_index_blocking(store, Flaky(), CancelToken())
    assert (report.added, report.failed) == (2, 2)
    assert [batch.failed for batch in store.committed] == ["429", ""]


def test_a_cancel_keeps_what_was_committed() -> None:
    store: Any = FakeStore()
    token = CancelToken()
    with pytest.raises(Cancelled):
        run_index_blocking(store, FakeEmbedder(), token, progress=lambda done, *_: token.cancel() if done == 2 else None)
    assert [batch.names for batch in store.committed] == [["a", "b"]]


def test_files_that_failed_are_told_with_the_reason_until_they_are_indexed(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/a.py").write_text("def answer():\n    return 42\n", encoding="utf-8")
    folders = str(tmp_path / "index"), str(tmp_path / "code")
    store = Store.open(*folders, embedder_id="fake", dim=1, walk=WalkOptions(), cut=CutOptions(min_chars=1))
    batch = store.cut(store.scan(CancelToken()), CancelToken())
    assert batch
    batch.fail(batch.paths(), "429")
    store.commit(batch, CancelToken())
    assert store.failed() == [("a.py", "429")]
    batch = store.cut(store.scan(CancelToken()), CancelToken())
    assert batch
    batch.set_vectors(b"\0\0\0\0" * len(batch.texts()))
    store.commit(batch, CancelToken())
    assert store.failed() == []
    store.close()


class SmallestEmbedder(FakeEmbedder):
    """Gives the vectors that a real store wants."""

    def embed_batch(self, batch: Any, cancel: Any) -> None:
        batch.set_vectors(b"\0\0\0\0" * len(batch.texts()))


def test_the_first_files_are_told_soon_and_the_rest_in_steps(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    for name in range(300):
        (root / f"m{name}.py").write_text(
            "\n".join(f"def function_{name}_{i}(value):\n    return value * {i}" for i in range(80))
        )
    model = SmallestEmbedder()
    folders = str(tmp_path / "index"), str(root)
    store = Store.open(*folders, embedder_id="fake", dim=1, walk=WalkOptions(), cut=CutOptions())
    seen: list[int] = []
    run_index_blocking(store, model, CancelToken(), progress=lambda done, *_: seen.append(done))
    store.close()
    steps = sorted(set(seen))
    assert steps[0] == 0
    assert steps[1] <= 100  # of 1 MB in all
    assert len(steps) >= 4
