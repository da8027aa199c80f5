"""A session isn't given what it has, and is given again what changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from carrel.model.types import Chunk, ContextItem, Hit, Signals, Span
from carrel.search.pieces import some_lines
from carrel.service import prompt_context
from carrel.service.prompt_context import GivenLines


def hit(first: int, rows: list[str], path: str = "a.py") -> Hit:
    chunk = Chunk(id="1", path=path, span=Span(first, first + len(rows) - 1), text="".join(f"{row}\n" for row in rows))
    return Hit(chunk, 0.9, Signals())


def item(first: int, rows: list[str], path: str = "a.py") -> ContextItem:
    found = hit(first, rows, path)
    return ContextItem(found, found.chunk.text)


ROWS = [f"line {number}" for number in range(9)]


def test_what_a_session_has_is_not_new_to_it_alone() -> None:
    had = GivenLines()
    had.add("s", "/p", [item(1, ROWS)])
    assert had.new("s", "/p", [item(1, ROWS), item(3, ROWS[2:5])]) == ()
    for session, folder in (("t", "/p"), ("s", "/q"), ("", "/p")):
        assert had.new(session, folder, [item(1, ROWS)]) == (item(1, ROWS),)
    assert had.new("s", "/p", [item(1, ROWS, "b.py")]) == (item(1, ROWS, "b.py"),)


def test_a_session_that_was_cut_short_gets_what_it_had_again() -> None:
    had = GivenLines()
    for mark in ("", "one", "two"):
        had.cut("s", mark)
        assert had.new("s", "/p", [item(1, ROWS)])
        had.add("s", "/p", [item(1, ROWS)])
        for same in ("", mark):
            had.cut("s", same)
            had.cut("t", "three")
            assert not had.new("s", "/p", [item(1, ROWS)])


def test_a_changed_line_and_many_new_ones_make_a_place_new() -> None:
    had = GivenLines()
    had.add("s", "/p", [item(1, ROWS)])
    changed = [*ROWS[:4], "other", *ROWS[5:]]
    assert had.new("s", "/p", [item(1, changed)])
    had.add("s", "/p", [item(1, changed)])
    assert not had.new("s", "/p", [item(1, changed)])
    assert had.new("s", "/p", [item(1, ROWS)])
    assert not had.new("s", "/p", [item(1, [*changed, "one more"])])
    assert had.new("s", "/p", [item(1, [*changed, *ROWS])])


@given(st.sets(st.integers(0, 8), min_size=1))
def test_lines_of_a_shortened_place_count_each(shown: set[int]) -> None:
    had = GivenLines()
    had.add("s", "/p", [item(1, ROWS)])
    assert had.new("s", "/p", [some_lines(hit(1, ROWS), [f"{row}\n" for row in ROWS], shown)]) == ()


def test_nameless_sessions_are_not_kept_and_what_is_kept_is_bounded() -> None:
    had = GivenLines()
    had.add("", "/p", [item(1, ROWS)])
    for number in range(prompt_context.MOST_SESSIONS + 5):
        had.add(f"s{number}", "/p", [item(1, ROWS)])
    assert len(had._sessions) == prompt_context.MOST_SESSIONS
    many = [f"row {number}" for number in range(prompt_context.MOST_LINES + 100)]
    had.add("long", "/p", [item(1, many)])
    assert len(had._sessions["long", "/p"]) == prompt_context.MOST_LINES
    assert not had.new("long", "/p", [item(len(many) - 8, many[-9:])])
