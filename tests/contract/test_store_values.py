"""What the store keeps beside chunks: properties of files, places of secrets; and stores whose vectors are elsewhere."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrel.model.native import CancelToken, Candidate, CutOptions, Filter, ParsedQuery, Store, WalkOptions
from carrel.providers.local import LocalEmbedder

EMBEDDER = LocalEmbedder.hashed()
TOKEN = CancelToken()
Open = Callable[..., Store]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    root = tmp_path / "project"
    root.mkdir()
    (root / "login.py").write_text("def login():\n    password = 'hunter2-Xq9vLm3T8'\n    return password\n")

    def open_store(**more: Any) -> Store:
        spec = EMBEDDER.spec
        settings = {"embedder_id": spec.id, "dim": spec.dim, "walk": WalkOptions(), "cut": CutOptions(), **more}
        return Store.open(str(tmp_path / "index"), str(root), **settings)

    return open_store


def defining(store: Store, only: Filter | None = None) -> list[Candidate]:
    """Find the chunks that define `login`."""
    asked = ParsedQuery("login", "login", names=["login"])
    options: dict[str, Any] = {"pool": 5, "floor": 0.1, "filter": only, "pinned": None, "active_path": None, "cancel": TOKEN}
    [(found, _)] = store.snapshot().find([asked], **options)
    return [candidate for candidate in found if candidate.defines]


def index(store: Store, **properties: Any) -> None:
    plan = store.scan(TOKEN)
    while batch := store.cut(plan, TOKEN):
        if properties:
            batch.set_properties("login.py", **properties)
        EMBEDDER.embed_batch(batch, TOKEN)
        store.commit(batch, TOKEN)


def test_values_of_metadata_keep_their_types(opened: Open) -> None:
    said = {"collection": "docs", "pages": 12, "weight": 0.5, "final": True}
    store = opened()
    index(store, metadata=said, version="v7")
    store.close()
    store = opened()
    [chunk] = store.snapshot().file_chunks("login.py")
    assert (chunk.metadata, chunk.version) == (said, "v7")
    assert [type(value) for value in (chunk.metadata[key] for key in said)] == [str, int, float, bool]
    for key, value, hits in (("final", "true", 1), ("pages", "12", 1), ("pages", "13", 0), ("other", "12", 0)):
        only = Filter(metadata={key: [value]})
        assert len(defining(store, only)) == hits


def test_a_buffer_says_what_it_is_given_or_what_its_file_says(opened: Open) -> None:
    store = opened()
    index(store, metadata={"collection": "docs"})

    def typed(**properties: Any) -> dict[str, Any]:
        batch = store.cut_buffer("login.py", "def login():\n    return typed\n", TOKEN, **properties)
        EMBEDDER.embed_batch(batch, TOKEN)
        store.commit_buffer(batch)
        return store.snapshot().file_chunks("login.py")[0].metadata

    assert typed() == {"collection": "docs"}
    assert typed(metadata={"draft": True}) == {"draft": True}
    assert typed(metadata={}) == {}


def test_places_of_secrets_are_told(opened: Open) -> None:
    store = opened()
    index(store)
    assert store.snapshot().secrets("login.py") == [("password", 2, 2)]
    assert store.snapshot().secrets("other.py") == []
    assert store.masked == (1, 1)


def test_a_store_whose_vectors_are_elsewhere_takes_batches_without(opened: Open) -> None:
    store = opened(embedder_id="elsewhere", dim=0)
    plan = store.scan(TOKEN)
    batch = store.cut(plan, TOKEN)
    assert batch is not None
    assert store.commit(batch, TOKEN).added == 1
    [found] = defining(store)
    assert store.snapshot().vector(found.doc) == b""
    assert store.snapshot().dense(array("f", [0.1] * EMBEDDER.spec.dim).tobytes(), 5, 0.0, None, TOKEN) == []
