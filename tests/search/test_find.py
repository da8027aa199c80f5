"""One search over a real index: how often it asks it, and what it takes and gives by chunk ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.texts import EMBEDDER, ask, indexed

from carrel.model.errors import InvalidInput
from carrel.model.native import CancelToken, CutOptions, Snapshot, Store, WalkOptions
from carrel.model.ports import ChunkId
from carrel.model.types import Filters, Lines, Query
from carrel.question.prepare import PreparedQuery, prepare_blocking
from carrel.search.retriever import Retrieval, retrieve

FILES = {
    "shop/orders.py": "def place_order(basket):\n    return check_basket(basket)\n\n\ndef cancel_order(order):\n    pass\n",
    "shop/basket.py": "def check_basket(basket):\n    return basket.items\n\n\nclass Basket:\n    items = ()\n",
    "shop/stock.py": "def items_left(stock):\n    return stock.count\n\n\ndef order_more(stock):\n    stock.count += 1\n",
    "tests/test_orders.py": "def test_placing_an_order():\n    assert place_order(Basket())\n",
    "notes.md": "# Notes\n\nThe weather was fine.\n",
}
ISSUE = """Placing an order with an empty basket fails

I call `place_order` with an empty `Basket`:

Traceback (most recent call last):
  File "shop/orders.py", line 2, in place_order
    return check_basket(basket)
  File "shop/basket.py", line 2, in check_basket
    return basket.items
AttributeError: 'NoneType' object has no attribute 'items'

I expected a message.
"""


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return indexed(FILES, CutOptions(min_chars=1))


class Counted:
    """An index that counts the calls of each of its methods."""

    def __init__(self, view: Snapshot) -> None:
        self.view = view
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.view, name)


@pytest.mark.parametrize(
    "query",
    [
        Query("where is a basket checked"),
        Query("place_order", active_path="shop/basket.py", pinned=("notes.md",)),
        Query("return check_basket(basket)", left_out=(Lines("shop/orders.py", 1, 2),)),
    ],
)
def test_a_question_asks_the_index_twice(view: Snapshot, query: Query) -> None:
    counted: Any = Counted(view)
    assert retrieve(counted, prepare_blocking(query, EMBEDDER), CancelToken()).hits
    assert counted.calls == {"find": 1, "read_best": 1}  # and `rank` between them, which needs no index


def test_all_parts_of_an_issue_are_searched_for_at_once(view: Snapshot) -> None:
    counted: Any = Counted(view)
    found = retrieve(counted, prepare_blocking(Query(ISSUE), EMBEDDER), CancelToken())
    assert found.files[0].path in {"shop/orders.py", "shop/basket.py"}
    trace = {"files_called": 1, "file_chunks": 2, "evidence": 1}
    assert counted.calls == {"find": 1, "exact_definitions": 1, "read_best": 1, **trace}


def with_scores(prepared: PreparedQuery, scores: list[tuple[ChunkId, float]]) -> PreparedQuery:
    """The same question, its dense search done elsewhere."""
    texts = {name: replace(text, vector=b"", dense=scores) for name, text in prepared.texts.items()}
    return replace(prepared, texts=texts)


def told(found: Retrieval) -> list[Any]:
    """What is seen of an answer."""
    ranked = [(r.id, r.score, r.dense, r.dense_rank, r.lexical_rank, r.boosts) for r in found.ranked]
    return [ranked, [(hit.chunk.id, hit.score, hit.signals) for hit in found.hits]]


@pytest.mark.parametrize(
    "query",
    [
        Query("where is a basket checked", limit=3),
        Query("place_order", pinned=("notes.md",)),
        Query("how many items are left", filters=Filters(exclude=("tests",), metadata={"kind": "function"})),
    ],
)
def test_cosines_from_elsewhere_rank_as_those_found_here(view: Snapshot, query: Query) -> None:
    prepared = prepare_blocking(query, EMBEDDER)
    here = retrieve(view, prepared, CancelToken())
    chunks = [info.doc for path in view.paths() for info in view.file_chunks(path)]
    every = view.evidence(prepared.texts[""].parsed(quotes=False), chunks)
    scores = [(ChunkId(candidate.id), candidate.dense) for candidate in reversed(every)]
    gone = (ChunkId("0" * 32), 0.99)
    assert told(retrieve(view, with_scores(prepared, [gone, *scores]), CancelToken())) == told(here)
    assert here.hits


@pytest.mark.parametrize("text", ["items", "check_basket(basket)", "place_order", "Basket", "stock.count", "orders"])
def test_a_filter_changes_no_relevance(view: Snapshot, text: str) -> None:
    found = ask(view, text).hits
    assert found
    for hit in found:
        filtered = ask(view, text, filters=Filters(path_globs=(hit.chunk.path,))).hits
        assert hit.score in [one.score for one in filtered if one.chunk.id == hit.chunk.id]


def test_chunks_without_a_cosine_from_elsewhere_are_found_by_their_words(view: Snapshot) -> None:
    prepared = prepare_blocking(Query("place_order"), EMBEDDER)
    [basket] = [info for info in view.file_chunks("shop/basket.py") if info.symbol == "Basket"]
    found = retrieve(view, with_scores(prepared, [(ChunkId(basket.id), 0.9)]), CancelToken())
    by_symbol = {candidate.symbol: candidate for candidate in found.ranked}
    assert by_symbol["Basket"].dense == pytest.approx(0.9)
    assert (by_symbol["Basket"].dense_rank, by_symbol["place_order"].dense_rank) == (1, None)
    assert by_symbol["place_order"].dense == 0


def test_ids_name_chunks_whatever_segment_they_are_in(view: Snapshot) -> None:
    chunks = [info for path in view.paths() for info in view.file_chunks(path)]
    assert view.resolve([info.id for info in chunks]) == [info.doc for info in chunks]
    assert view.resolve([chunks[0].id.upper(), "f" * 32]) == [chunks[0].doc, None]
    for malformed in ("", "f" * 31, "f" * 33, "+" + "f" * 31, "g" * 32):
        with pytest.raises(InvalidInput, match="hexadecimal"):
            view.resolve([malformed])


def test_a_chunk_of_a_closed_buffer_has_no_id_any_more() -> None:
    spec = EMBEDDER.spec
    store = Store.open("", "", embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=CutOptions(), in_memory=True)
    batch = store.cut_buffer("a.py", FILES["shop/orders.py"], CancelToken())
    EMBEDDER.embed_batch(batch, CancelToken())
    store.commit_buffer(batch)
    before = store.snapshot()
    ids = [info.id for info in before.file_chunks("a.py")]
    store.close_buffer("a.py")
    assert None not in before.resolve(ids)
    assert set(store.snapshot().resolve(ids)) == {None}


def test_what_overlaps_or_is_not_wanted_makes_room_for_the_next() -> None:
    lines = "\n".join(f"basket number {number}" for number in range(1, 13))
    view = indexed({"a.txt": lines, "b.txt": "a basket\n"}, CutOptions(min_chars=1, always_lines=(4, 2)))
    found = ask(view, "basket number", limit=20)
    spans = [hit.chunk.span for hit in found.hits if hit.chunk.path == "a.txt"]
    assert not [(a, b) for a in spans for b in spans if a is not b and a.overlaps(b)]
    reasons = {drop.reason for drop in found.dropped}
    assert reasons
    assert all(reason.startswith("overlaps lines ") for reason in reasons)
    first = spans[0]
    again = ask(view, "basket number", limit=20, left_out=(Lines("a.txt", first.end_line, first.end_line), Lines("c.txt", 1, 9)))
    assert not [hit for hit in again.hits if hit.chunk.path == "a.txt" and hit.chunk.span.overlaps(first)]
    assert ("a.txt", first.start_line, "left out of this question") in {(d.path, d.start_line, d.reason) for d in again.dropped}
    assert len(ask(view, "basket number", limit=1).hits) == 1
