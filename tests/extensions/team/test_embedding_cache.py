"""Vectors that are kept: nothing is asked for twice, and a cache that can't be used is none."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import pytest

from carrel.extensions.team.embedding_cache import CachedEmbedder, EmbeddingCache
from carrel.model.errors import ProviderError
from carrel.model.outbound import Destination
from carrel.model.ports import Embedder, EmbeddingSpec
from carrel.model.vectors import Vectors

DIM = 32


class Service:
    """A remote model that counts what it is asked."""

    destinations = (Destination("fake", "embeddings.example"),)

    def __init__(self, name: str = "fake-1") -> None:
        self.spec = EmbeddingSpec(name, DIM, leaves_machine=True)
        self.asked: list[str] = []
        self.fails = False

    async def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # noqa: ARG002 - it knows no kinds
        if self.fails:
            raise ProviderError("down")
        self.asked += texts
        return Vectors.unit([[1.0 + len(text), *range(DIM - 1)] for text in texts], DIM)

    async def check(self) -> None: ...

    async def learn_dim(self) -> int:
        return DIM

    def with_dim(self, dim: int) -> Self:  # noqa: ARG002 - its own is known
        return self

    async def aclose(self) -> None: ...


def embed(embedder: Embedder, texts: Sequence[str], kind: Literal["query", "document"]) -> Vectors:
    return asyncio.run(embedder.embed(texts, kind))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


def test_what_was_asked_for_once_is_never_asked_for_again_and_is_the_same(path: Path) -> None:
    first, second = Service(), Service()
    texts = ["def f(): ...", "half \ud800", "def f(): ...", ""]
    given = embed(CachedEmbedder(first, EmbeddingCache(path)), texts, "document")
    kept = embed(CachedEmbedder(second, EmbeddingCache(path)), texts[::-1], "document")
    assert second.asked == []
    assert list(kept)[::-1] == list(given)
    assert given.fault(DIM, 4) is None
    wanted = embed(Service(), texts, "document")
    assert all(abs(a - b) < 1e-3 for row in range(4) for a, b in zip(given.floats(row), wanted.floats(row), strict=True))


def test_only_what_is_missing_is_asked_for(path: Path) -> None:
    model = Service()
    cached = CachedEmbedder(model, EmbeddingCache(path))
    embed(cached, ["a", "bb"], "document")
    vectors = embed(cached, ["bb", "ccc", "a"], "document")
    assert model.asked == ["a", "bb", "ccc"]
    assert list(vectors) == list(embed(cached, ["bb", "ccc", "a"], "document"))
    assert cached.missing(["a", "dddd"]) == ["dddd"]
    embed(cached, ["a"], "query")  # a query may have another vector
    assert model.asked[3:] == ["a"]


def test_another_model_or_size_has_vectors_of_its_own(path: Path) -> None:
    one, other = Service(), Service("fake-2")
    for model in (one, other):
        embed(CachedEmbedder(model, EmbeddingCache(path)), ["a"], "document")
    assert (one.asked, other.asked) == (["a"], ["a"])


def test_it_keeps_hashes_and_no_text(path: Path) -> None:
    embed(CachedEmbedder(Service(), EmbeddingCache(path)), ["def planted_private_wombat(): ..."], "document")
    assert b"wombat" not in path.read_bytes()


def test_a_failure_and_a_wrong_answer_are_not_kept(path: Path) -> None:
    model = Service()
    cached = CachedEmbedder(model, EmbeddingCache(path))
    model.fails = True
    with pytest.raises(ProviderError):
        embed(cached, ["a"], "document")
    model.fails = False
    model.spec = EmbeddingSpec("fake-1", DIM + 1)
    assert (embed(cached, ["a"], "document")).dim == DIM  # who asked says what is wrong with it
    assert cached.missing(["a"]) == ["a"]


def test_refused_texts_are_remembered_for_a_model_and_its_settings(path: Path) -> None:
    def cached(name: str = "fake-1", settings: str = "maxTokens: 1") -> CachedEmbedder:
        return CachedEmbedder(Service(name), EmbeddingCache(path), settings=settings)

    cached().note_refused("half \ud800", "too long")
    cached().note_refused("b", "disliked")
    texts = ["a", "b", "half \ud800", "b"]
    assert cached().refused(texts) == {"half \ud800": "too long", "b": "disliked"}
    assert cached().with_dim(DIM).refused(texts) == {"half \ud800": "too long", "b": "disliked"}
    assert cached().missing(texts) == ["a"]
    for other in (cached("fake-2"), cached(settings="maxTokens: 2")):
        assert other.refused(texts) == {}
        assert other.missing(texts) == texts
    embed(cached(), ["b"], "document")  # all was asked for anew
    assert cached().refused(texts) == {"half \ud800": "too long"}


def test_too_many_refused_texts_make_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.extensions.team.embedding_cache._MOST_REFUSED", 3)
    cache = EmbeddingCache(path)
    for number in range(5):
        cache.refuse(bytes([number]), "too long")
    assert list(cache.read_refused([bytes([number]) for number in range(5)])) == [b"\2", b"\3", b"\4"]


def test_a_file_of_an_earlier_carrel_keeps_its_vectors_and_takes_refusals(path: Path) -> None:
    cached = CachedEmbedder(Service(), EmbeddingCache(path))
    embed(cached, ["a"], "document")
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE refused")
    database.close()
    assert cached.refused(["a", "b"]) == {}
    cached.note_refused("b", "too long")
    assert cached.refused(["a", "b"]) == {"b": "too long"}
    assert cached.missing(["a", "b"]) == []


def test_vectors_of_zeros_are_asked_for_again(path: Path) -> None:
    model, cache = Service(), EmbeddingCache(path)
    cached = CachedEmbedder(model, cache)
    cache.write({cached.keys(["a"], "document")[0]: bytes(2 * DIM)})
    assert cached.missing(["a"]) == ["a"]
    assert any(embed(cached, ["a"], "document").data)
    assert model.asked == ["a"]


def test_what_was_used_longest_ago_makes_room(path: Path) -> None:
    now = [1_000_000.0]
    cache = EmbeddingCache(path, most_bytes=200_000, clock=lambda: now[0])
    cached = CachedEmbedder(Service(), cache)
    embed(cached, ["used"], "document")
    for number in range(40):
        now[0] += 100_000
        embed(cached, [f"{number} {n}" for n in range(100)], "document")
        embed(cached, ["used"], "document")
    assert path.stat().st_size < 300_000
    assert cached.missing(["used", "0 0", "39 99"]) == ["0 0"]


@pytest.mark.parametrize("damage", [b"no database at all" * 1000, None])
def test_a_damaged_file_is_set_aside(path: Path, damage: bytes | None) -> None:
    cached = CachedEmbedder(Service(), EmbeddingCache(path))
    embed(cached, ["a"], "document")
    if damage:
        path.write_bytes(damage)
    else:
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE vectors")
        database.close()
    embed(cached, ["a"], "document")
    assert path.with_name(path.name + ".damaged").exists()
    embed(cached, ["a"], "document")
    assert cached.missing(["a"]) == []


def test_a_file_of_a_later_version_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()
    cached = CachedEmbedder(Service(), EmbeddingCache(path))
    assert len(embed(cached, ["a"], "document")) == 1
    assert cached.missing(["a"]) == ["a"]
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders that can't be written are made by permissions of POSIX")
def test_a_disk_that_cannot_be_written_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = Service()
    cached = CachedEmbedder(model, EmbeddingCache(tmp_path / "file" / "embeddings.sqlite"))
    for _ in range(2):
        assert len(embed(cached, ["a"], "document")) == 1
    assert model.asked == ["a", "a"]


def fill(path: Path, start: int) -> None:
    cache = EmbeddingCache(path)
    for number in range(start, start + 50):
        cache.write({number.to_bytes(16, "big"): bytes(64)})


def test_processes_share_it(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(path, 1000 * n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    keys = [(1000 * n + i).to_bytes(16, "big") for n in range(3) for i in range(50)]
    assert len(EmbeddingCache(path).read(keys)) == 150
