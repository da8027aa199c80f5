"""Index runs without a queue, for tests."""

from __future__ import annotations

from carrel.index.indexer import IndexReport, Scope, native_steps, run_index
from carrel.model.local_index import IndexStore, Progress
from carrel.model.native import CancelToken
from carrel.model.ports import Embedder, Tokenizer
from carrel.model_calls.embedding import run_with


def run_index_blocking(
    store: IndexStore,
    embedder: Embedder,
    cancel: CancelToken,
    *,
    scope: Scope = "all",
    progress: Progress = lambda *_: None,
    tokenizer: Tokenizer | None = None,
) -> IndexReport:
    """Do `run_index` from a thread, whether or not it has an event loop."""
    native = native_steps(embedder, cancel)
    run = run_index(store, embedder, cancel, scope=scope, progress=progress, native=native, tokenizer=tokenizer)
    return run_with(embedder, run, cancel)
