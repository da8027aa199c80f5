"""A real index of a few texts, in memory, for tests of what is found in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.types import Query
from carrel.providers.local import bundled
from carrel.question.prepare import prepare_blocking
from carrel.search.retriever import Retrieval, retrieve

EMBEDDER = bundled()


def indexed(files: Mapping[str, str], cut: CutOptions | None = None) -> Snapshot:
    """The index of these texts by path."""
    spec, cut = EMBEDDER.spec, cut or CutOptions()
    store = Store.open("", "", embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=cut, in_memory=True)
    for path, text in files.items():
        batch = store.cut_buffer(path, text, CancelToken())
        EMBEDDER.embed_batch(batch, CancelToken())
        store.commit_buffer(batch)
    return store.snapshot()


def ask(view: Snapshot, text: str, **query: Any) -> Retrieval:
    """What is found for a text."""
    return retrieve(view, prepare_blocking(Query(text, **query), EMBEDDER), CancelToken())


def paths(found: Retrieval) -> list[str]:
    """The files of the hits, best first, each once."""
    return list(dict.fromkeys(hit.chunk.path for hit in found.hits))
