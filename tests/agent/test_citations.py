"""Citations of answers: which are found, in which forms, which hold, and what only looks like one."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.hits import hit

from carrel.agent.citations import MARK, Citation, check, cited
from carrel.model.types import ContextItem

AUTH = "def login(user, password):\n    '''Let a user in.'''\n    return verify(user, password, attempts=3)\n"


def item(path: str, start: int, text: str, symbol: str = "") -> ContextItem:
    return ContextItem(hit(path, start, text, symbol=symbol), text)


GIVEN = [
    item("src/auth.py", 10, AUTH, "Service.login"),
    item("src/pool.ts", 1, "export class Pool {\n}\n", "Pool"),
    item("app/[id]/my page.tsx", 5, "const page = 1;\n"),
    item("Makefile", 1, "all:\n\tmake test\n"),
    item("a/same.py", 1, "one = 1\n"),
    item("b/same.py", 7, "two = 2\n"),
]


def places(text: str) -> list[tuple[str, int, int, bool]]:
    return [(c.path, c.start_line, c.end_line, c.ok) for c in check(text, GIVEN).citations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is in src/auth.py:10.", ("src/auth.py", 10, 10)),
        ("It is in src/auth.py:10-12, as said.", ("src/auth.py", 10, 12)),
        ("(src/auth.py:10\u201312)", ("src/auth.py", 10, 12)),
        ("`src/auth.py:10-12`", ("src/auth.py", 10, 12)),
        ("**src/auth.py:L10-L12**", ("src/auth.py", 10, 12)),
        ("src/auth.py:11:5 fails", ("src/auth.py", 11, 11)),
        ("see src/auth.py#L10-L12", ("src/auth.py", 10, 12)),
        ("see src/auth.py#L10-12", ("src/auth.py", 10, 12)),
        ("src/auth.py (lines 10-12) says", ("src/auth.py", 10, 12)),
        ("`src/auth.py` (line 11)", ("src/auth.py", 11, 11)),
        ("`src/auth.py`, lines 10 to 12", ("src/auth.py", 10, 12)),
        ("lines 10-12 of `src/auth.py`", ("src/auth.py", 10, 12)),
        ("Line 11 in src/auth.py does it.", ("src/auth.py", 11, 11)),
        ("[the login](src/auth.py#L10-L12)", ("src/auth.py", 10, 12)),
        ("[auth.py:10-12](src/auth.py#L10-L12)", ("src/auth.py", 10, 12)),
        ("[`src/auth.py:10`](./src/auth.py)", ("src/auth.py", 10, 10)),
        ("./src/auth.py:10", ("src/auth.py", 10, 10)),
        ("auth.py:10", ("src/auth.py", 10, 10)),
        ("project/src/auth.py:10", ("src/auth.py", 10, 10)),
        ("src\\auth.py:10", ("src/auth.py", 10, 10)),
        ("app/[id]/my page.tsx:5", ("app/[id]/my page.tsx", 5, 5)),
        ("Makefile:1-2", ("Makefile", 1, 2)),
        ("same.py:7", ("b/same.py", 7, 7)),
    ],
)
def test_every_usual_form_is_understood(text: str, expected: tuple[str, int, int]) -> None:
    assert places(text) == [(*expected, True)]
    assert check(text, GIVEN).text == text


def test_several_lines_of_one_file() -> None:
    assert places("src/auth.py:10,11-12 and src/pool.ts:1") == [
        ("src/auth.py", 10, 10, True),
        ("src/auth.py", 11, 12, True),
        ("src/pool.ts", 1, 1, True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Open http://localhost:8080/src/auth.py:99 or https://example.com:443.",
        "The server runs on localhost:8080, db.example.com:5432 and 127.0.0.1:6379.",
        "At 12:30 and at 9:15-10:45 on 2024-01-02T10:20:30Z.",
        "Python 3.11:2, v1.2.3:4, nginx:1.25, python:3-slim, ratio 16:9.",
        "C:\\work\\src\\auth.py:10 and C:/work/src/auth.py:10 are elsewhere, as is /home/me/src/auth.py:10.",
        "std::vec:12, Foo::bar:3, a:1, key: 12, see: 10-12",
        "```python\n# src/auth.py:99\n```",
        "~~~\nsrc/auth.py:99\n~~~\ntext",
        "```\nsrc/auth.py:99 in a block that never ends",
        "   ```\n   src/gone.py:1\n   ```",
        "me@example.py:3",
        "```\nhttp://a.b/c http://d.e/f http://g.h/i\nsrc/auth.py:99\n```",
        "",
    ],
)
def test_what_only_looks_like_a_citation_is_none(text: str) -> None:
    assert check(text, GIVEN) == check(text, [])
    assert places(text) == []
    assert check(text, GIVEN).text == text


@pytest.mark.parametrize(
    ("text", "marked", "reason"),
    [
        ("In src/gone.py:3.", f"In src/gone.py:3{MARK}.", "the file was not given"),
        ("In gone.py:3", f"In gone.py:3{MARK}", "the file was not given"),
        ("In `src/auth.py:10-13` it is", f"In `src/auth.py:10-13`{MARK} it is", "line 13 was not given"),
        ("[x](src/auth.py#L1)", f"[x](src/auth.py#L1){MARK}", "line 1 was not given"),
        ("[src/auth.py:9](src/auth.py)", f"[src/auth.py:9](src/auth.py){MARK}", "line 9 was not given"),
        ("src/auth.py:12-10", f"src/auth.py:12-10{MARK}", "there are no such lines"),
        ("src/auth.py:0", f"src/auth.py:0{MARK}", "there are no such lines"),
        ("src/auth.py:1-9999999", f"src/auth.py:1-9999999{MARK}", "line 1 was not given"),
        ("`logout` (src/auth.py:10-12)", f"`logout` (src/auth.py:10-12{MARK})", "'logout' doesn't stand in these lines"),
        (
            'It says "never let anybody in" (src/auth.py:10-12).',
            f'It says "never let anybody in" (src/auth.py:10-12{MARK}).',
            "'never let anybody in' doesn't stand in these lines",
        ),
        (
            "src/auth.py:12: `return check(user)`",
            f"src/auth.py:12{MARK}: `return check(user)`",
            "'return check(user)' doesn't stand in these lines",
        ),
    ],
)
def test_what_does_not_hold_is_marked_with_its_reason(text: str, marked: str, reason: str) -> None:
    checked = check(text, GIVEN)
    assert (checked.text, [c.reason for c in checked.unsupported]) == (marked, [reason])


@pytest.mark.parametrize(
    "text",
    [
        "`login` (src/auth.py:10-12)",
        "`Service.login()` in src/auth.py:11",
        "`verify` at `src/auth.py:12`",
        'It says "Let a user in." (src/auth.py:10-12)',
        "`return verify(user, ... attempts=3)` (src/auth.py:12)",
        "src/auth.py:12: `return  verify(user, password,  attempts=3)`",
        'the "login" (src/auth.py:10)',
        "`src/pool.ts:1` and src/auth.py:10",
        "`anything` is elsewhere; the rest is what src/auth.py:10 does",
    ],
)
def test_quotations_that_stand_there_or_belong_elsewhere_hold(text: str) -> None:
    assert all(ok for *_, ok in places(text))
    assert places(text)


@pytest.mark.parametrize("symbol", ["Server (header)", "start, stop, Server.wait, …"])
def test_the_heading_of_a_place_is_no_quotation(symbol: str) -> None:
    given = [item("src/server.py", 1, "class Server:\n    port = 80\n", symbol)]
    assert not check(f"`{symbol}` in `src/server.py:1-2`", given).unsupported
    assert check(f"`{symbol} twice` in `src/server.py:1-2`", given).unsupported


def test_of_a_shortened_piece_its_heading_and_its_lines_hold() -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(1, 41))
    whole = hit("long.py", 1, text, symbol="")
    given_items = [ContextItem(whole, "line_9 = 9\nline_10 = 10\n", elided=True, shown=((9, 10),))]
    assert [c.ok for c in check("long.py:1-40 long.py:9-10 long.py:9 long.py:8-10", given_items).citations] == [
        *(True, True, True),
        False,
    ]
    assert not check("`line_30` (long.py:1-40)", given_items).citations[0].ok


def test_of_an_earlier_answer_the_places_that_held_are_known() -> None:
    text = f"In src/auth.py:3-4, `b/c.md:7`{MARK} and [x](d.py#L1).\n```\nsrc/no.py:1\n```\nAgain src/auth.py:3-4."
    assert cited(text) == (("src/auth.py", 3, 4), ("d.py", 1, 1))


def test_the_same_place_is_listed_once_and_marked_each_time() -> None:
    checked = check("src/auth.py:99 and again src/auth.py:99", GIVEN)
    assert checked.citations == (Citation("src/auth.py", 99, 99, ok=False, reason="line 99 was not given"),)
    assert checked.text.count(MARK) == 2


PATHS = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=3).map("/".join)
FORMS = st.sampled_from(
    [
        *("{p}:{a}-{b}", "`{p}:{a}-{b}`", "{p}#L{a}-L{b}", "{p} (lines {a}-{b})", "[x]({p}#L{a}-L{b})", "**{p}:{a}\u2013{b}**"),
        *("`{p}` (lines {a}-{b})", "lines {a}-{b} of {p}", "[{p}:{a}-{b}]({p})"),
    ]
)


@settings(max_examples=200)
@given(PATHS, st.sampled_from([".py", ".ts", ".md", ".rs"]), st.integers(1, 500), st.integers(1, 30), FORMS, st.integers(-40, 40))
def test_a_citation_holds_exactly_where_its_lines_were_given(
    path: str, ending: str, start: int, count: int, form: str, moved: int
) -> None:
    path += ending
    text = "".join(f"x{n}\n" for n in range(count))
    first, last = max(0, start + moved), max(0, start + moved) + count - 1
    checked = check(f"Look at {form.format(p=path, a=first, b=last)}, please.", [item(path, start, text)])
    assert [(c.path, c.start_line, c.end_line) for c in checked.citations] == [(path, first, last)]
    assert checked.citations[0].ok == (first == start)
    assert (MARK in checked.text) == (first != start)


PIECES = st.sampled_from(
    [
        *(
            "src/auth.py:10",
            "src/gone.py:1-2",
            "```\n",
            "~~~",
            "`",
            "``",
            "[x](",
            ")",
            "](",
            "https://a.b:80/",
            "lines 1-2 of ",
            '"',
            "\u201c",
        ),
        *("\n", " ", "12:30", ":", "#L3", "**", "Makefile:1", "\u2028", "\ud83d", "...", "(", "a.b.c:3", "\\", "login", MARK),
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
def test_whatever_the_text_it_stays_but_for_the_marks(text: str) -> None:
    checked = check(text, GIVEN)
    pieces = re.split(re.escape(MARK), checked.text)
    assert "".join(pieces) == text.replace(MARK, "")
    added = checked.text.count(MARK) - text.count(MARK)
    assert bool(added) == bool(checked.unsupported)
    assert all(replace(c, ok=True, reason="") and c.path for c in checked.citations)


def test_long_texts_take_no_long_time() -> None:
    for text in (
        "a/" * 100_000,
        "`" * 200_000,
        "```\n" * 50_000,
        "lines 1 " * 25_000,
        "a.py:1," * 30_000,
        "[](" * 60_000,
        "a." * 100_000,
    ):
        check(text, GIVEN)


HOSTILE = {
    "lines without paths": ":1 " * 2_000,
    "long words": "a" * 290 + ":1 ",
    "backticks": "` `` " * 1_000,
    "backticks that never close": "`a ``b ```c ",
    "citations in code": "`src/auth.py:10` ",
    "lists of lines": "src/auth.py:10" + ",11" * 1_000 + " ",
    "unknown files": "x/{0}.py:3 ",
    "lines before": "line 3 of ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_the_work_grows_with_the_answer_and_no_faster(unit: str) -> None:
    def calls(characters: int) -> int:
        """Count the calls of functions, those of C too."""
        many = characters // len(unit) + 1
        text, count = "".join(unit.replace("{0}", str(number)) for number in range(many))[:characters], 0

        def seen(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(seen)
        try:
            check(text, known)
        finally:
            sys.setprofile(None)
        return count

    known = [*GIVEN, *(item(f"src/given{number}.py", 1, "one = 1\n") for number in range(300))]
    before, after = calls(20_000), calls(40_000)
    assert after < 2.5 * before + 3_000
    assert after < 40 * 40_000
