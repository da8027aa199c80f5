# ruff: noqa: ARG002 - fakes take what the port gives them
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from carrel.core.errors import Cancelled, ProviderError
from carrel.core.native import CancelToken
from carrel.engine.indexer import run_index_blocking

from .fakes import FakeEmbedder


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
