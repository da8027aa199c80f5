"""A pack is filled with the lines that answer, wherever in their file they stand."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.core.native import CancelToken, Snapshot
from carrel.core.types import Budget, ContextPack, Filters, Hit, Lines, Query
from carrel.engine.context import LEAST_HITS, pack_answer, pack_passages
from carrel.engine.explain import explain_ranked
from carrel.engine.passages import Passage, rows_of
from carrel.engine.prepare import prepare_blocking
from carrel.engine.retriever import Retrieval, find, read
from carrel.providers.tokenizers import ExactTokenizer

from .hits import hit
from .test_context import HITS
from .texts import EMBEDDER, indexed

TOKENS = ExactTokenizer()
DECIDING = "    if lease.expired(now):\n        revoke(lease)\n"
STEPS = "".join(f"    step_{n}(state, {n})\n" for n in range(60))
LONG = f"def tick(state, lease, now):\n{STEPS}{DECIDING}{STEPS}"
OTHERS = {f"other_{n}.py": f"def lease_{n}(now):\n    return make_lease(now, {n})\n" for n in range(6)}


def packed(view: Snapshot, text: str, amount: int, **query: Any) -> tuple[ContextPack, Retrieval]:
    asked, token = Query(text, **{"limit": LEAST_HITS, **query}), CancelToken()
    ranking = find(view, prepare_blocking(asked, EMBEDDER), token)
    found = read(ranking, asked, token)
    budget, dropped = Budget(amount, "tokens"), found.dropped
    return pack_answer(ranking, found.hits, asked, budget, TOKENS, token, dropped=dropped, read_lines=view.lines), found


def test_the_deciding_lines_are_shown_before_the_head_of_a_long_function() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, _ = packed(view, "when is an expired lease revoked", 300)
    best = result.items[0]
    assert best.shown is not None
    assert best.shown[0] > 20
    assert DECIDING.strip() in best.text
    assert result.tokens <= 300


def test_several_places_of_the_best_file_come_before_other_files() -> None:
    parts = "\n\n".join(f"def revoke_{n}(lease):\n    lease.revoked = expired({n})" for n in range(5))
    view = indexed({"revoke.py": parts, **OTHERS})
    result, _ = packed(view, "how is an expired lease revoked", 250)
    assert all(f"def revoke_{n}" in result.text for n in range(5))


def test_nothing_that_was_filtered_or_left_out_is_shown() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    question = "when is an expired lease revoked"
    only, _ = packed(view, question, 2_000, filters=Filters(exclude=("tick.py",)))
    assert "tick.py" not in only.text
    without, _ = packed(view, question, 2_000, left_out=(Lines("tick.py", 62, 63),))
    assert "revoke(lease)" not in without.text
    assert only.items
    assert without.items


def test_a_wish_for_a_change_shows_many_files() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, found = packed(view, "make expired leases be revoked later", 1_500)
    assert {item.hit.chunk.path for item in result.items} == {hit.chunk.path for hit in found.hits}


def test_a_limit_is_the_most_pieces() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, _ = packed(view, "when is an expired lease revoked", 4_000, limit=2)
    assert 0 < len(result.items) <= 2


def test_what_a_pack_shows_is_explained_as_given() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, found = packed(view, "when is an expired lease revoked", 2_000, limit=1)
    shown = {item.hit.chunk.path for item in result.items}
    assert {told.path for told in explain_ranked(found, result.items) if told.verdict.startswith("given")} == shown


def passage(of: Hit, first: int, count: int) -> Passage:
    return Passage(of, first, count)


def test_passages_of_one_chunk_that_touch_are_one_piece() -> None:
    of = hit(text=LONG, signature="def tick(state, lease, now):", symbol="tick")
    passages = [passage(of, 60, 10), passage(of, 68, 12), passage(of, 5, 5)]
    result = pack_passages(passages, [of], Budget(4_000, "tokens"), TOKENS, most=10)
    assert [item.shown for item in result.items] == [(61, 80), (6, 10)]
    lines = LONG.splitlines()
    assert "\n".join(lines[60:80]) in result.items[0].text
    assert result.dropped == ()


@settings(max_examples=40, deadline=None)
@given(HITS, st.integers(0, 900), st.floats(0, 0.99), st.integers(1, 9))
def test_the_budget_is_never_exceeded(hits: list[Hit], amount: int, share: float, lines: int) -> None:
    passages = []
    hits = list({one.chunk.id: one for one in hits}.values())
    for one in hits:
        count = len(rows_of(one.chunk))
        first = int(share * count)
        if count:
            passages += [passage(one, first, min(lines, count - first)), passage(one, 0, min(2, count))]
    result = pack_passages(passages, hits, Budget(amount, "tokens"), TOKENS, most=8)
    assert result.tokens == TOKENS.count(result.text) <= amount
    assert len(result.items) <= 8
