"""Changes in the workspace -> a new generation of the index, one transaction a batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from carrel.core.errors import NotWriter, ProviderError, StoreError
from carrel.core.local_index import CoreEmbedder, IndexStore, Progress
from carrel.core.native import Batch, CancelToken, Plan

log = logging.getLogger(__name__)

_WRITER_WAIT_S = 10.0
_READ_ONLY_REMEDY = "Make the folder writable, or set `cacheFolder` to one that is."
_WRITER_REMEDY = "Index there (an editor has a command for it), or close it and try again."


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one run did, in files; `chunks` counts those that were embedded, `trivial` pieces that were too small for one."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    chunks: int = 0
    trivial: int = 0
    elapsed_ms: float = 0.0


def run_index(
    store: IndexStore,
    embedder: CoreEmbedder,
    cancel: CancelToken,
    *,
    scope: Literal["all", "force"] | Sequence[str] = "all",
    progress: Progress = lambda *_: None,
) -> IndexReport:
    """Bring the index up to date with the whole workspace, or with the paths in `scope`.

    Raises `Cancelled` and `StoreError`; batches that were committed before stay. A batch that the embedder can't do is
    left as it was and counted as failed: the next run tries it again.
    """
    started = time.perf_counter()
    plan = _plan(store, scope, cancel)
    total, done = plan.pending, 0
    progress(0, total, "")
    counts = dict.fromkeys(("added", "changed", "removed", "unchanged", "skipped", "failed", "chunks", "trivial"), 0)
    counts["unchanged"], counts["skipped"] = plan.unchanged, plan.skipped
    while (batch := store.cut(plan, cancel)) is not None:
        paths = batch.paths()
        _embed(embedder, batch, cancel)
        commit = store.commit(batch, cancel)
        for name in counts:
            counts[name] += getattr(commit, name)
        done += len(paths)
        progress(min(done, total), total, paths[-1] if paths else "")
    if total:
        store.compact(cancel)
    progress(total, total, "")
    return IndexReport(**counts, elapsed_ms=round(1000 * (time.perf_counter() - started), 3))


def follow_index(store: IndexStore, cancel: CancelToken, *, force: bool) -> IndexReport:
    """What `run_index` is where another process writes the index: see that it is current, after waiting for the writer.

    Counts what a comparison with the workspace found. Raises `NotWriter` if the writer hasn't taken everything up in time, or
    at once where the index shall be built anew by `force`; `StoreError` where nobody can write it.
    """
    if force and store.read_only:
        raise StoreError(f"{store.directory} can't be written, so the index can't be built anew. {_READ_ONLY_REMEDY}")
    if force:
        raise NotWriter(f"Another Carrel process writes this index, so it can't be built anew here. {_WRITER_REMEDY}")
    started = time.perf_counter()
    while True:
        store.follow()
        plan = store.scan(cancel)
        behind = store.behind(plan, cancel)
        elapsed = time.perf_counter() - started
        if not behind:
            # What looked changed was as it is in the index, what looked new is no text.
            unchanged, skipped = plan.unchanged + plan.changed, plan.skipped + plan.added
            return IndexReport(unchanged=unchanged, skipped=skipped, elapsed_ms=round(1000 * elapsed, 3))
        waiting = "1 changed file waits" if behind == 1 else f"{behind} changed files wait"
        if store.read_only:
            raise StoreError(f"{store.directory} can't be written, and {waiting} for being indexed. {_READ_ONLY_REMEDY}")
        if elapsed > _WRITER_WAIT_S:
            raise NotWriter(f"Another Carrel process writes this index, and {waiting} for it. {_WRITER_REMEDY}")
        time.sleep(0.2)


def _plan(store: IndexStore, scope: Literal["all", "force"] | Sequence[str], cancel: CancelToken) -> Plan:
    if scope == "all":
        return store.scan(cancel)
    if scope == "force":
        return store.force(cancel)
    return store.check(list(scope), cancel)


def _embed(embedder: CoreEmbedder, batch: Batch, cancel: CancelToken) -> None:
    try:
        embedder.embed_batch(batch, cancel)
    except ProviderError as error:
        log.warning("A batch of %d files was not embedded and will be tried again: %s", batch.files, error)
        batch.fail(batch.paths(), str(error))
