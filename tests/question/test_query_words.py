from __future__ import annotations

import time

import pytest

from carrel.model.native import stem
from carrel.model.types import LONGEST_QUERY, Query
from carrel.question.query_words import read


@pytest.mark.parametrize(
    ("text", "words", "names", "is_symbol"),
    [
        ("how are commands parsed", ("command", "pars"), (), False),
        ("JoinSet", ("join", "set"), ("JoinSet",), True),
        ("Sinatra::Base", ("sinatra", "bas"), ("Base",), True),
        ("session", ("session",), ("session",), False),
        ("where is `load_config` called", ("load", "config", "call"), ("load_config",), False),
        ("the Index", ("index",), (), False),
        ("how does get_or_init work", ("init", "work"), ("get_or_init",), False),
        ("is it", ("is", "it"), (), False),
        ("vector-pattern?", ("vector", "pattern"), ("vector-pattern?",), False),
        ("swap!", ("swap",), ("swap!",), False),
        ("fold'", ("fold",), ("fold'",), False),
        ("'fold'", ("fold",), ("fold",), False),
        ("help!!!", ("help",), (), False),
    ],
)
def test_questions_are_taken_apart(text: str, words: tuple[str, ...], names: tuple[str, ...], is_symbol: bool) -> None:
    question = read(text)
    assert (question.words, question.names, question.is_symbol) == (words, names, is_symbol)


@pytest.mark.parametrize(
    ("text", "asked", "scope"),
    [
        ("fix(client): retry on timeouts", "client retry on timeouts", {"client"}),
        ("feat(`@trpc/upgrade`)!: codemods", "`@trpc/upgrade` codemods", {stem("upgrade")}),
        ("chore: quick tweak", "quick tweak", set()),
        ("test(parser): cover tabs", "parser cover tabs", {"parser"}),
        ("fix the parser: it loops", "fix the parser: it loops", set()),
        ("std::fix: x", "std::fix: x", set()),
        ("fix:", "fix:", set()),
    ],
)
def test_the_heading_of_a_change_names_a_part_of_the_project(text: str, asked: str, scope: set[str]) -> None:
    question = read(text)
    assert (question.text, set(question.scope)) == (asked, scope)


def test_a_change_to_tests_asks_for_tests() -> None:
    assert "test" in read("test(parser): cover tabs").plain


@pytest.mark.parametrize(
    "text",
    [
        "fix(client): retry on timeouts",
        "docs: how a plugin is written",
        "Add a flag that hides deleted notes",
        "Fixes crash when the last tab is closed",
        "please rename the export button",
        "Could you please make the sidebar resizable?",
        "don't follow links out of the workspace",
        "Do not ask twice for the same folder",
        "scheduler: avoid a wake-up for each job",
        "Issue #77: support nested tables",
        "[editor] Ensure the caret stays in view",
        "#1207 use one thread for all timers",
        "Properly handle empty archives",
        "Clean up what a failed upload leaves",
        "Hi, please fix the export button",
        "we need to add a search field",
        "I'd like you to rename the export button",
        "Let\u2019s drop the old importer",
        "add dark mode",
    ],
)
def test_a_wish_for_other_code_is_a_change(text: str) -> None:
    assert read(text).is_change


@pytest.mark.parametrize(
    "text",
    [
        "how do I add a flag",
        "where is the fix for closed tabs",
        "What happens when jobs are removed?",
        "support for nested tables",
        "use of threads in timers",
        "change of owner",
        "user updates",
        "moving average of the load",
        "addition of two matrices",
        "fixed-width columns",
        "delete a note",  # what code does: a place is sought
        "convert bytes to text",
        "validate an address",
        "Why doesn't the export button appear in the toolbar: use of a wrong icon?",
        "fix",
        "fix: load_config",  # nothing but a symbol is left of it
        "use_threads",
        "update loop",
        "use case of the importer",
        "move is the slowest part",
        "error: remove the old importer first",
        "Parser error: use another importer",
        "",
    ],
)
def test_a_question_is_none(text: str) -> None:
    assert not read(text).is_change


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("what is ORA-12154 for?", "ORA-12154"),
        ("I get `E0382` and do not know why", "E0382"),
        ("where does max_size come from?", "max_size"),
        ("explain getUser", "getUser"),
        ("what is a segment", "what is a segment"),  # a word of speech is in many texts
        ("where is the Index?", "where is the Index?"),
        ("ORA-12154 and E0382", "ORA-12154 and E0382"),
    ],
)
def test_a_question_about_one_code_quotes_it(text: str, quoted: str) -> None:
    assert read(text).quoted == quoted


def test_words_meet_their_other_forms() -> None:
    pairs = (("commands", "command"), ("parsing", "parse"), ("dependencies", "dependency"), ("running", "run"))
    for a, b in (*pairs, ("cached", "cache")):
        assert stem(a) == stem(b), (a, b)
    assert stem("class") == "class"


_HEADINGS = ("[" * 16_000, "a: " * 5_000, "please " * 2_000, "could you  " * 1_500, "fix" + " " * 16_000)


@pytest.mark.parametrize(
    "text", ["x" * 16_000, "!" * 16_000, "a" + "A" * 16_000 + "!", "`x" * 8_000, "a_" * 8_000, "a." * 8_000, *_HEADINGS]
)
def test_no_text_makes_reading_it_slow(text: str) -> None:
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 1.0


def test_both_ends_of_a_long_query_count() -> None:
    text = Query("why does parse_header fail? " + "log line\n" * 10_000 + "see decode_body").searched_text
    assert len(text) == LONGEST_QUERY
    assert {"parse_header", "decode_body"} <= set(read(text).names)
