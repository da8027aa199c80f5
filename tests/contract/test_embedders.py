"""What every local embedder promises (`model.ports.Embedder`), whichever model is behind it."""

from __future__ import annotations

import asyncio
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.model.errors import Cancelled, InvalidInput
from carrel.model.native import CancelToken, CutOptions, Store, WalkOptions
from carrel.providers import local
from carrel.providers.local import LocalEmbedder, bundled

EMBEDDERS = [bundled(), LocalEmbedder.hashed()]
AUTH = (
    "def verify_password(user, password):\n    digest = hash_password(user.salt + password)\n    return digest == user.digest\n"
)
SORT = "def merge_runs(left, right):\n    while left and right:\n        yield min(left, right).pop(0)\n"

every = pytest.mark.parametrize("embedder", EMBEDDERS, ids=lambda e: e.spec.id)


def embed_query(embedder: LocalEmbedder, text: str) -> bytes:
    return asyncio.run(embedder.embed([text], "query"))[0]


def floats(raw: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def memory_store(embedder: LocalEmbedder) -> Store:
    return Store.open(
        "", "", embedder_id=embedder.spec.id, dim=embedder.spec.dim, walk=WalkOptions(), cut=CutOptions(), in_memory=True
    )


def with_files(embedder: LocalEmbedder, files: dict[str, str]) -> Store:
    store = memory_store(embedder)
    for path, text in files.items():
        batch = store.cut_buffer(path, text, CancelToken())
        embedder.embed_batch(batch, CancelToken())
        store.commit_buffer(batch)
    return store


def test_models_are_told_apart_by_their_ids() -> None:
    assert len({embedder.spec.id for embedder in EMBEDDERS}) == len(EMBEDDERS)


@every
@given(text=st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_a_vector_has_length_one_or_none_and_is_the_same_again(embedder: LocalEmbedder, text: str) -> None:
    vector = floats(embed_query(embedder, text))
    assert len(vector) == embedder.spec.dim
    length = math.sqrt(sum(value * value for value in vector))
    assert length == 0 or math.isclose(length, 1, rel_tol=1e-4)
    assert floats(embed_query(embedder, text)) == vector


@every
def test_code_that_answers_is_nearer_than_code_that_does_not(embedder: LocalEmbedder) -> None:
    view = with_files(embedder, {"auth.py": AUTH, "sort.py": SORT}).snapshot()
    question = embed_query(embedder, "how is a user's password verified?")
    found = view.dense(question, 10, -1.0, None, CancelToken())
    paths = [info.path for info in view.describe([candidate.doc for candidate in found])]
    assert paths == ["auth.py", "sort.py"]
    assert found[0].score > embedder.spec.floor > found[1].score


@every
def test_nothing_is_found_for_a_question_without_words(embedder: LocalEmbedder) -> None:
    view = with_files(embedder, {"auth.py": AUTH}).snapshot()
    assert view.dense(embed_query(embedder, "?!"), 10, embedder.spec.floor, None, CancelToken()) == []


@every
def test_a_cancelled_batch_is_not_embedded(embedder: LocalEmbedder) -> None:
    batch = memory_store(embedder).cut_buffer("a.py", AUTH, CancelToken())
    stopped = CancelToken()
    stopped.cancel()
    with pytest.raises(Cancelled):
        embedder.embed_batch(batch, stopped)


def test_another_models_batch_is_refused(tmp_path: Path) -> None:
    store = Store.open("", "", embedder_id="other", dim=16, walk=WalkOptions(), cut=CutOptions(), in_memory=True)
    batch = store.cut_buffer("a.py", AUTH, CancelToken())
    with pytest.raises(InvalidInput, match="dimensions"):
        bundled().embed_batch(batch, CancelToken())


def test_without_its_file_the_model_gives_way_to_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local, "BUNDLED", tmp_path / "gone.bin")
    bundled.cache_clear()
    try:
        assert local.bundled().spec.id == LocalEmbedder.hashed().spec.id
    finally:
        bundled.cache_clear()
