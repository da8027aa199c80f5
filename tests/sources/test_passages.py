"""A pack is filled with the lines that answer, wherever in their file they stand."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.pack.test_context import HITS
from tests.support.hits import hit
from tests.support.texts import EMBEDDER, indexed

from carrel.model.lines import rows_of
from carrel.model.native import CancelToken, CutOptions, Snapshot
from carrel.model.types import Budget, ContextPack, Filters, Hit, Lines, Query
from carrel.pack.context import TOO_MANY, TOO_WEAK, further_places, pack_answer, pack_passages
from carrel.pack.filling import DOES_NOT_FIT
from carrel.providers.tokenizers import ExactTokenizer
from carrel.question.prepare import prepare_blocking
from carrel.search.explain import explain_ranked
from carrel.search.passages import Choice, Passage
from carrel.search.retriever import Retrieval, find, read

TOKENS = ExactTokenizer()
DECIDING = "    if lease.expired(now):\n        revoke(lease)\n"
STEPS = "".join(f"    step_{n}(state, {n})\n" for n in range(60))
LONG = f"def tick(state, lease, now):\n{STEPS}{DECIDING}{STEPS}"
OTHERS = {f"other_{n}.py": f"def lease_{n}(now):\n    return make_lease(now, {n})\n" for n in range(6)}


def packed(view: Snapshot, text: str, amount: int, **query: Any) -> tuple[ContextPack, Retrieval]:
    asked, token = Query(text, **{"limit": 20, **query}), CancelToken()
    ranking = find(view, prepare_blocking(asked, EMBEDDER), token)
    found = read(ranking, asked, token)
    budget, dropped = Budget(amount, "tokens"), found.dropped

    def lines(path: str, first: int, last: int) -> str | None:
        return None if asked.leaves_out(path, first, last) else view.lines(path, first, last)

    return pack_answer(ranking, found.hits, asked, budget, TOKENS, token, dropped=dropped, read_lines=lines), found


def test_the_deciding_lines_are_shown_before_the_head_of_a_long_function() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, _ = packed(view, "when is an expired lease revoked", 300)
    best = result.items[0]
    assert best.runs[0][0] == 1
    assert best.runs[1][0] > 20
    assert DECIDING.strip() in best.text
    assert result.tokens <= 300


def test_several_places_of_the_best_file_come_before_other_files() -> None:
    parts = "\n\n".join(f"def revoke_{n}(lease):\n    lease.revoked = expired({n})" for n in range(5))
    view = indexed({"revoke.py": parts, **OTHERS})
    result, _ = packed(view, "how is an expired lease revoked", 400)
    assert all(f"def revoke_{n}" in result.text for n in range(5))
    assert len({item.hit.chunk.path for item in result.items}) < len(OTHERS)


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


def test_a_limit_is_the_most_places_however_many_runs_of_lines_they_show() -> None:
    both = f"def tick(state, lease, now):\n{STEPS}{DECIDING}{STEPS}{STEPS}{DECIDING}{STEPS}"
    view = indexed({"tick.py": both, **OTHERS})
    result, found = packed(view, "when is an expired lease revoked", 1_200, limit=2)
    assert len(result.items) == 2
    assert result.items[0].text.count(DECIDING) == 2
    assert len(result.items[0].runs) > 2
    assert len(found.hits) == 2
    assert result.dropped == ()


def test_the_first_hit_is_shown_whatever_says_more_for_its_size() -> None:
    filler = "".join(f"    # {n}: counts rows and columns of the table again\n" for n in range(28))
    small = {f"lease_{n}.py": f"def revoke_expired_{n}(lease):\n    revoke(lease)\n" for n in range(8)}
    view = indexed({"lease.py": f"def revoke_expired_lease(table):\n{filler}", **small})
    for budget in (120, 400):
        result, found = packed(view, "where does revoke_expired_lease count", budget, limit=3)
        assert result.items[0].hit.chunk.path == found.hits[0].chunk.path == "lease.py"


def test_places_stand_in_the_order_of_their_scores() -> None:
    view = indexed({"tick.py": LONG, "revoke.py": "def revoke(lease):\n    lease.expired = True\n", **OTHERS})
    for amount in (200, 600, 2_000):
        result, _ = packed(view, "when is an expired lease revoked", amount)
        scores = [item.hit.score for item in result.items]
        assert len(scores) > 1
        assert scores == sorted(scores, reverse=True)


def test_what_is_left_of_a_budget_shows_the_lines_around() -> None:
    before = "".join(f"def before_{n}():\n    return {n}\n\n\n" for n in range(4))
    view = indexed({"tick.py": f"{before}def revoke_expired(lease):\n    revoke(lease)\n"}, cut=CutOptions(min_chars=1))
    question = "how is an expired lease revoked"
    result, _ = packed(view, question, 500, limit=1)
    assert "before_3" in result.text
    only, _ = packed(view, question, 500, limit=1, filters=Filters(symbol="revoke_expired"))
    assert "before_3" not in only.text
    without, _ = packed(view, question, 500, limit=1, left_out=(Lines("tick.py", 13, 13),))
    assert "before_3" not in without.text


def test_neither_noise_nor_a_place_too_many_is_said_not_to_fit() -> None:
    noise = {f"noise_{n}.py": f"def count_rows_{n}(table):\n    return table.holders\n" for n in range(3)}
    view = indexed({"tick.py": LONG, "revoke.py": "def revoke_expired(lease):\n    revoke(lease)\n", **noise})
    question = "when is the expired lease of holders revoked by revoke_expired"
    result, found = packed(view, question, 8_000, limit=4)
    assert {hit.chunk.path for hit in found.hits} > {item.hit.chunk.path for item in result.items}
    assert {drop.reason for drop in result.dropped} == {TOO_WEAK}
    passages = [passage(hit(f"{name}.py", text="x = 1\n"), 0, 1) for name in "abc"]
    hits = [one.hit for one in passages]
    few = pack_passages(Choice((), tuple(passages)), hits, Budget(4_000, "tokens"), TOKENS, most=2)
    assert [(drop.path, drop.reason) for drop in few.dropped] == [("c.py", TOO_MANY)]
    assert further_places(few, TOKENS) == "Not shown for want of room: 1 more place in c.py"
    assert not further_places(replace(few, budget=Budget(few.tokens, "tokens")), TOKENS)
    tight = pack_passages(Choice((), tuple(passages)), hits, Budget(60, "tokens"), TOKENS, most=3)
    assert {drop.reason for drop in tight.dropped} == {DOES_NOT_FIT}


def test_what_a_pack_shows_is_explained_as_given() -> None:
    view = indexed({"tick.py": LONG, **OTHERS})
    result, found = packed(view, "when is an expired lease revoked", 2_000, limit=1)
    shown = {item.hit.chunk.path for item in result.items}
    assert {told.path for told in explain_ranked(found, result.items) if told.verdict.startswith("given")} == shown


def passage(of: Hit, first: int, count: int) -> Passage:
    return Passage(of, first, count)


def test_a_chunk_is_one_place_with_the_lines_of_its_head_as_they_are_written() -> None:
    text = LONG.replace("def tick(state, lease, now):", "@timed\ndef tick(\n    state,\n    lease,\n    now,\n):")
    of = hit("a.py", 11, text, signature="def tick( state, lease, now, ):", symbol="tick")
    passages = [passage(of, 60, 10), passage(of, 68, 12), passage(of, 30, 5)]
    result = pack_passages(Choice((), tuple(passages)), [of], Budget(4_000, "tokens"), TOKENS, most=1)
    [item] = result.items
    assert item.runs == ((11, 16), (41, 45), (71, 90))
    rows = text.splitlines()
    shown = [row for first, last in item.runs for row in rows[first - 11 : last - 10]]
    assert [row for row in item.text.splitlines() if "left out" not in row] == shown
    assert [row.strip() for row in item.text.splitlines() if "left out" in row] == [
        "… (lines 17-40 left out)",
        "… (lines 46-70 left out)",
        "… (lines 91-138 left out)",
    ]
    assert result.dropped == ()


def test_chunks_that_stand_side_by_side_are_one_place() -> None:
    hits = [hit("a.py", 10, "ten\neleven\n", symbol="f"), hit("a.py", 13, "thirteen\n", score=0.7, symbol="g")]
    passages = tuple(passage(one, 0, len(rows_of(one.chunk.text))) for one in hits)

    def lines(_path: str, first: int, last: int) -> str:
        return "".join(f"line {n}\n" for n in range(first, last + 1))

    result = pack_passages(Choice((), passages), hits, Budget(4_000), TOKENS, most=1, read_lines=lines)
    assert [(item.text, item.hit.score, item.hit.chunk.symbol) for item in result.items] == [
        ("ten\neleven\nline 12\nthirteen\n", 0.7, "f, g")
    ]
    apart = pack_passages(Choice((), passages), hits, Budget(4_000), TOKENS, most=2)
    assert len(apart.items) == 2

    def long_line(_path: str, _first: int, _last: int) -> str:
        return "x" * 5_000 + "\n"

    full = pack_passages(Choice((), passages), hits, Budget(4_000), TOKENS, most=1, read_lines=long_line)
    assert [item.hit.chunk.symbol for item in full.items] == ["f"]
    assert [drop.reason for drop in full.dropped] == [DOES_NOT_FIT]


def test_attached_lines_are_not_shown_twice() -> None:
    of = hit(text=LONG, signature="def tick(state, lease, now):", symbol="tick")
    chosen = replace(hit(start=62, text=DECIDING, symbol="tick", score=1.0), attached=True)
    result = pack_passages(Choice((), (passage(of, 55, 20),)), [of], Budget(4_000, "tokens"), TOKENS, most=1, attached=[chosen])
    assert [item.runs for item in result.items] == [((62, 63),), ((1, 1), (56, 61), (64, 75))]
    assert result.text.index(DECIDING.rstrip()) < result.text.index("def tick")
    assert result.text.count(DECIDING.rstrip()) == 1


@settings(max_examples=40, deadline=None)
@given(HITS, st.integers(0, 900), st.floats(0, 0.99), st.integers(1, 9))
def test_the_budget_is_never_exceeded(hits: list[Hit], amount: int, share: float, lines: int) -> None:
    passages = []
    hits = list({one.chunk.id: one for one in hits}.values())
    for one in hits:
        count = len(rows_of(one.chunk.text))
        first = int(share * count)
        if count:
            passages += [passage(one, first, min(lines, count - first)), passage(one, 0, min(2, count))]
    choice = Choice(tuple(passages[:2]), tuple(passages))

    def around(_path: str, first: int, last: int) -> str:
        return "x\n" * (last - first + 1)

    result = pack_passages(choice, hits, Budget(amount, "tokens"), TOKENS, most=8, read_lines=around, last_line=lambda _: 80)
    assert result.tokens == TOKENS.count(result.text) <= amount
    assert len(result.items) <= 8
