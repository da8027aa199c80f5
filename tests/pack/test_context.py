from __future__ import annotations

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hits import hit

from carrel.model.types import Budget, Dropped, Format, Hit
from carrel.pack.context import pack
from carrel.providers.tokenizers import ApproximateTokenizer, ExactTokenizer

TOKENS = ApproximateTokenizer()
HITS = st.lists(
    st.builds(
        hit,
        path=st.sampled_from(["a.py", "b/c.rs", 'odd "<name>.ts', "数据.go"]),
        start=st.integers(1, 60),
        text=st.text(alphabet=st.sampled_from("ab (){}\n\t😀é中<>/-_\r"), min_size=1, max_size=400),
        score=st.floats(0, 1),
        signature=st.sampled_from(["", "def f(x)", "fn g() -> u8"]),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(HITS, st.integers(0, 900), st.sampled_from(["xml", "tool", "source"]), st.sampled_from(["chars", "tokens"]))
def test_the_budget_is_never_exceeded(hits: list[Hit], amount: int, form: Format, unit: Literal["chars", "tokens"]) -> None:
    tokenizer = ExactTokenizer()
    result = pack(hits, Budget(amount, unit), tokenizer, form=form)
    assert (len(result.text) if unit == "chars" else tokenizer.count(result.text)) <= amount
    assert result.tokens == tokenizer.count(result.text)
    shown = {
        (i.hit.chunk.path, line)
        for i in result.items
        for line in range(i.hit.chunk.span.start_line, i.hit.chunk.span.end_line + 1)
    }
    for given_hit in hits:  # nothing vanishes silently
        span = given_hit.chunk.span
        named = any(d.path == given_hit.chunk.path and d.start_line <= span.start_line <= d.end_line for d in result.dropped)
        assert named or (given_hit.chunk.path, span.start_line) in shown


def test_a_hit_that_does_not_fit_lets_a_smaller_one_enter() -> None:
    hits = [hit("big.py", text="x" * 500), hit("small.py", text="y = 1\n")]
    result = pack(hits, Budget(200), TOKENS)
    assert [i.hit.chunk.path for i in result.items] == ["small.py"]
    assert result.dropped == (Dropped("big.py", 1, 1, "does not fit the budget"),)


def test_a_body_gives_way_to_its_signature_before_it_is_dropped() -> None:
    body = "def f(a, b):\n" + "    call(a, b)\n" * 60
    result = pack([hit(text=body, signature="def f(a, b):")], Budget(165), TOKENS)
    assert result.items[0].elided
    assert "def f(a, b):\n    … (lines 2-61 left out)" in result.text
    assert 'elided="true"' in result.text


def test_overlaps_are_dropped_and_neighbours_joined() -> None:
    hits = [hit("a.py", 10, "ten\neleven\n"), hit("a.py", 11, "eleven\n"), hit("a.py", 14, "fourteen\n"), hit("a.py", 6, "six\n")]
    lines = {("a.py", 12, 13): "twelve\nthirteen\n"}
    result = pack(hits, Budget(4_000), TOKENS, read_lines=lambda *key: lines.get(key))
    assert [(i.hit.chunk.span.start_line, i.hit.chunk.span.end_line) for i in result.items] == [(10, 14), (6, 6)]
    assert result.items[0].text == "ten\neleven\ntwelve\nthirteen\nfourteen\n"
    assert [d.reason for d in result.dropped] == ["overlaps lines 10-11"]
    assert result.text.index('lines="6-6"') < result.text.index('lines="10-14"')  # the reader's order


def test_nothing_fits_into_nothing() -> None:
    assert pack([hit()], Budget(0), TOKENS).text == ""
    assert pack([hit()], Budget(20), TOKENS, form="tool").text == ""
    assert pack([], Budget(4_000), TOKENS).text == ""


def test_a_best_hit_larger_than_the_budget_shows_its_beginning() -> None:
    body = "def f():\n" + "".join(f"    step({n})\n" for n in range(200))
    result = pack([hit(text=body, signature="def f():"), hit("b.py", text="y = 1\n")], Budget(600), TOKENS)
    first = result.items[0]
    assert first.elided
    assert first.text.startswith("def f():\n    step(0)\n    step(1)\n")
    assert first.text.splitlines()[-1] == f"    … (lines {len(first.text.splitlines())}-201 left out)"
    assert [item.hit.chunk.path for item in result.items] == ["a.py", "b.py"]


def test_a_hit_between_two_others_makes_one_piece_of_the_three() -> None:
    hits = [hit("a.py", 7, "seven\n", score=0.5), hit("a.py", 1, "one\n", score=0.9), hit("a.py", 4, "four\n")]
    result = pack(
        hits, Budget(4_000), TOKENS, read_lines=lambda _path, first, last: "".join(f"{n}\n" for n in range(first, last + 1))
    )
    assert [(i.text, i.hit.score) for i in result.items] == [("one\n2\n3\nfour\n5\n6\nseven\n", 0.5)]


def test_neighbours_are_joined_only_where_the_lines_between_fit() -> None:
    hits = [hit("a.py", 1, "one\n"), hit("a.py", 3, "three\n")]
    result = pack(hits, Budget(200), TOKENS, read_lines=lambda *_: "x" * 300)
    assert [i.text for i in result.items] == ["one\n", "three\n"]


def test_a_text_is_measured_once() -> None:
    class Counting(ApproximateTokenizer, frozen=True):
        measured = 0

        def count(self, text: str) -> int:
            Counting.measured += len(text)
            return ApproximateTokenizer.count(self, text)

    hits = [hit("a.py", 1 + 10 * n, "call(a, b)\n" * 10, symbol=f"f{n}") for n in range(200)]
    result = pack(hits, Budget(100_000, "tokens"), Counting())
    assert len(result.items) == 1
    assert Counting.measured < 8 * len(result.text)
