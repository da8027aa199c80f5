"""The graph finds what an exact scan does, and is mended."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")
pytest.importorskip("usearch", reason="the extra usearch isn't installed")


from tests.contract.suites.common import chunk_id
from tests.contract.test_vector_stores import directions, recall, records

from carrel.extensions.stores.hnsw import HnswStore
from carrel.model.ports import Where

pytest.importorskip("lancedb", reason="the extra lancedb isn't installed")
pytest.importorskip("qdrant_client", reason="the extra qdrant isn't installed")
pytest.importorskip("usearch", reason="the extra usearch isn't installed")


async def test_the_graph_finds_what_an_exact_scan_does(tmp_path: Path) -> None:
    rows, queries = directions(6_000, 64), directions(50, 64, seed=2)
    store = HnswStore(tmp_path, 64, graph_from=2_000)
    await store.publish(records(rows))
    await store.settled()
    assert store.graph_size == len(rows)
    assert await recall(store, rows, queries) >= 0.98
    assert await recall(store, rows, queries[:20], Where({"even": (True,)})) >= 0.98
    store.close()


async def test_a_worn_graph_is_made_again_and_a_saved_one_is_taken_up(tmp_path: Path) -> None:
    rows = directions(3_000, 16)
    store = HnswStore(tmp_path, 16, graph_from=500)
    await store.publish(records(rows))
    await store.publish([], [chunk_id(n) for n in range(2_000)])
    await store.settled()
    assert store.graph_size == 1_000
    store.close()
    saved = (tmp_path / "graph.usearch").stat().st_mtime_ns
    again = HnswStore(tmp_path, 16, graph_from=500)
    await again.settled()
    assert again.graph_size == 1_000
    assert (await again.search(rows[2_500].tobytes(), 1))[0][0] == chunk_id(2_500)
    again.close()
    assert (tmp_path / "graph.usearch").stat().st_mtime_ns == saved, "nothing changed, so nothing is written"


@pytest.mark.parametrize("damage", [b"", b"not a graph at all", None])
async def test_a_graph_that_is_damaged_or_behind_is_mended(tmp_path: Path, damage: bytes | None) -> None:
    rows = directions(1_000, 16)
    store = HnswStore(tmp_path, 16, graph_from=100)
    await store.publish(records(rows[:600]))
    await store.settled()
    store.close()
    old = (tmp_path / "graph.usearch").read_bytes()
    store = HnswStore(tmp_path, 16, graph_from=100)
    await store.publish(records(rows[600:], first=600), [chunk_id(3)])
    store.close()
    (tmp_path / "graph.usearch").write_bytes(old if damage is None else damage)
    again = HnswStore(tmp_path, 16, graph_from=100)
    await again.settled()
    assert again.graph_size == 999
    assert (await again.search(rows[900].tobytes(), 1))[0][0] == chunk_id(900)
    assert chunk_id(3) not in {chunk for chunk, _ in await again.search(rows[3].tobytes(), 5)}
    again.close()


async def test_questions_are_answered_while_the_graph_is_made(tmp_path: Path) -> None:
    rows = directions(3_000, 64)
    store = HnswStore(tmp_path, 64, graph_from=1_000)
    await store.publish(records(rows))
    answered = 0
    while store.graph_size == 0 and answered < 10_000:
        assert (await store.search(rows[7].tobytes(), 1))[0][0] == chunk_id(7)
        answered += 1
    assert answered
    await store.settled()
    store.close()
