"""What the rules of the ranking prefer, on candidates that are alike but for one thing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.model.errors import InvalidInput
from carrel.model.native import Candidate, EditorContext, contributions, ranking_weights
from carrel.question.query_words import read
from carrel.search import ranking
from carrel.search.certainty import relevance
from carrel.search.ranking import RankingContext, rank


def candidate(path: str, *, doc: int = 0, start: int = 1, lines: int = 20, symbol: str = "", **signals: Any) -> Candidate:
    signals = {"dense": 0.5, "lexical": 0.5, "covered": 0.5, "file_words": 300} | signals
    return Candidate(doc, path, start, start + lines - 1, symbol=symbol, callable=True, **signals)


def as_editors_show_it(score: float) -> int:
    return int(100 * Decimal(score).quantize(Decimal("0.01"), ROUND_HALF_UP))


def order(candidates: Sequence[Candidate], question: str = "how is it stored", editor: EditorContext | None = None) -> list[str]:
    ranked = rank(candidates, RankingContext(read(question)), editor or EditorContext())
    return [f"{r.path}:{r.start_line}" for r in ranked]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"lexical": 0.6}, {}),
        ({"dense": 0.6}, {}),
        ({"dense_rank": 1, "lexical_rank": 1}, {"dense_rank": 1}),
        ({"dense_rank": 2}, {"dense_rank": 3}),
        ({"file_share": 0.8}, {}),
        ({"file_words": 3000}, {}),
        ({"lines": 40}, {"lines": 2}),
    ],
)
def test_more_of_one_signal_is_better(better: dict[str, Any], worse: dict[str, Any]) -> None:
    assert order([candidate("a.py", **worse), candidate("b.py", **better)]) == ["b.py:1", "a.py:1"]


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        ("how are sessions kept", "session.py", "other.py"),  # the file's name
        ("how are sessions kept", "session.py", "session_cookie_jar_export.py"),  # and all of it
        ("authentication of users", "auth.py", "other.py"),  # a word that begins like it
        ("the size of a file", "filesize.py", "other.py"),
        ("how is it stored", "store_it.py", "tests/store_it.py"),
        ("how is it stored", "a.py", "docs/a.py"),
        ("how is it stored", "a.py", "a.pyi"),
        ("fix(parser): wrong line", "parser/a.py", "lexer/a.py"),
    ],
)
def test_a_path_tells(question: str, better: str, worse: str) -> None:
    assert order([candidate(worse), candidate(better)], question)[0] == f"{better}:1"


def test_a_change_is_sought_where_its_words_are_a_question_where_the_name_fits() -> None:
    named, holds = candidate("session.py"), candidate("store.py", file_share=0.6)
    assert order([named, holds], "how are sessions kept")[0] == "session.py:1"
    assert order([named, holds], "keep the sessions")[0] == "store.py:1"


def test_what_the_question_asks_for_does_not_step_back() -> None:
    pair = [candidate("tests/test_a.py", lexical=0.6), candidate("a.py")]
    assert order(pair)[0] == "a.py:1"
    assert order(pair, "tests of how it is stored")[0] == "tests/test_a.py:1"


def test_a_definition_beats_its_uses() -> None:
    uses, defines = candidate("uses.py", lexical=0.9), candidate("b.py", symbol="SessionStore", defines=1.0)
    assert order([uses, defines], "SessionStore") == ["b.py:1", "uses.py:1"]


def test_files_in_view_come_first_among_equals_the_one_in_front_before_all() -> None:
    editor = EditorContext(active_path="c.py", open_paths=frozenset({"b.py", "c.py"}))
    assert order([candidate(f"{name}.py", dense=0.5) for name in "abc"], editor=editor) == ["c.py:1", "b.py:1", "a.py:1"]


def test_what_lies_close_to_the_active_file_comes_first_among_equals() -> None:
    paths = ["web/app/pages/a.py", "web/app/b.py", "web/c.py", "server/d.py"]
    editor = EditorContext(active_path="web/app/pages/active.py")
    assert order([candidate(path) for path in reversed(paths)], editor=editor) == [f"{path}:1" for path in paths]
    assert order([candidate(path) for path in ("b.py", "a/a.py")], editor=EditorContext(active_path="active.py"))[0] == "b.py:1"


def test_what_is_tied_to_the_active_file_comes_first_among_equals() -> None:
    assert order([candidate("a.py"), candidate("b.py", relatedness=0.2), candidate("c.py", relatedness=0.6)]) == [
        "c.py:1",
        "b.py:1",
        "a.py:1",
    ]


def test_a_file_with_many_candidates_is_lifted_once() -> None:
    many = [candidate("many.py", start=start, lexical=0.49) for start in (1, 40, 80)]
    one = candidate("one.py")
    assert order([*many, one])[:2] == ["many.py:1", "one.py:1"]  # the second of many.py counts half


def test_a_file_that_hands_on_steps_back_but_its_own_code_does_not() -> None:
    handed_on = Candidate(0, "__init__.py", 1, 20, dense=0.5, lexical=0.5, covered=0.5, file_words=300)
    assert order([handed_on, candidate("a.py")])[0] == "a.py:1"
    assert order([candidate("__init__.py", lexical=0.6), candidate("a.py")])[0] == "__init__.py:1"


def test_rules_say_what_they_did() -> None:
    ranked = candidate("tests/store.py", dense_rank=1)
    [ranked] = [
        r
        for r in rank([ranked, candidate("b.py")], RankingContext(read("how is it stored")), EditorContext())
        if r.path == ranked.path
    ]
    told = dict(ranked.boosts)
    assert told["path_penalty"] == pytest.approx(0.2)
    assert told["words"] > 0
    assert "name_match" not in told
    penalty, coherence = told.pop("path_penalty"), told.pop("coherence")
    assert ranked.score == pytest.approx(sum(told.values()) * penalty + coherence, abs=1e-3)


def test_ranking_changes_no_candidate() -> None:
    weak, strong = candidate("a.py"), candidate("b.py", lexical=0.9)
    ranked = rank([weak, strong, strong], RankingContext(read("how is it stored")), EditorContext())
    assert [r.path for r in ranked] == ["b.py", "a.py"]
    assert ranked[0].score > 0
    assert (strong.score, strong.boosts) == (0.0, [])
    assert rank(ranked, RankingContext(read("how is it stored")), EditorContext())[0].score == ranked[0].score
    with pytest.raises(AttributeError):
        strong.defines = 1.0  # type: ignore[misc]


def test_without_any_weight_the_order_is_that_of_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "WEIGHTS", dict.fromkeys(ranking_weights(), 0.0) | {"whole_share": 1.0})
    ranked = rank([candidate("b.py", lexical=0.9), candidate("a.py")], RankingContext(read("q")), EditorContext())
    assert [(r.path, r.score) for r in ranked] == [("a.py", 0.0), ("b.py", 0.0)]
    assert rank([], RankingContext(read("q")), EditorContext()) == []


def test_a_weight_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "WEIGHTS", {"luck": 1.0})
    with pytest.raises(InvalidInput, match="luck"):
        RankingContext(read("q"))


def test_other_threads_go_on_while_candidates_are_ranked() -> None:
    candidates, context = [candidate(f"{n}.py", doc=n) for n in range(2_000)], RankingContext(read("how is it stored"))
    turn, ran = threading.Lock(), threading.Event()

    def other() -> None:
        with turn:
            ran.set()

    thread, interval = threading.Thread(target=other), sys.getswitchinterval()
    with turn:
        thread.start()
        sys.setswitchinterval(1_000)  # from here on it runs only where this thread lets it
    try:
        for _ in range(500):
            rank(candidates, context, EditorContext())
            if ran.is_set():
                break
        assert ran.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a.py", "tests/b.py", "docs/c.md", "src/store.py"]),
            st.floats(0, 1),
            st.floats(-0.2, 0.95),
            st.sampled_from([0.0, 0.5, 1.0]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_what_the_rules_contributed_adds_up_to_the_relevance(found: list[tuple[str, float, float, float]], pinned: bool) -> None:
    candidates = [
        Candidate(doc, path, 1 + 10 * doc, 9 + 10 * doc, dense=dense, dense_rank=doc + 1, lexical=lexical, defines=defines)
        for doc, (path, lexical, dense, defines) in enumerate(found)
    ]
    editor = EditorContext("src/store.py", frozenset(), frozenset({"a.py"} if pinned else ()))
    context = RankingContext(read("how is it stored"))
    for r in rank(candidates, context, editor):
        shown = relevance(r, context.question, 0.2)
        told = contributions(r, shown)
        assert round(100 * sum(share for _, share in told)) == as_editors_show_it(shown)
        assert all(share for _, share in told)
        if r.own_score > 0 and shown > 0.05:
            assert len(told) > 1


def test_a_path_that_is_seldom_meant_takes_from_the_relevance() -> None:
    [test] = rank([candidate("tests/store.py")], RankingContext(read("how is it stored")), EditorContext())
    assert dict(contributions(test, 0.5))["path_penalty"] < 0


def test_a_path_takes_nothing_from_what_alone_defines_the_name() -> None:
    def boosts(*others: Candidate) -> dict[str, float]:
        defines = candidate("tests/store.py", symbol="store_it", defines=1.0)
        ranked = rank([defines, *others], RankingContext(read("store_it")), EditorContext())
        return next(dict(r.boosts) for r in ranked if r.path == defines.path)

    assert "path_penalty" not in boosts(candidate("b.py"))
    assert "path_penalty" in boosts(candidate("b.py", symbol="store_it", defines=1.0)), "code defines it, too"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.9)), min_size=1, max_size=6), st.integers(0, 5))
def test_a_relevance_is_that_of_the_hit_whatever_else_is_there(found: list[tuple[float, float]], more: int) -> None:
    def relevances(count: int) -> dict[str, float]:
        candidates = [candidate(f"{n}.py", doc=n, dense=dense, lexical=lexical) for n, (lexical, dense) in enumerate(found)]
        candidates += [candidate(f"more/{n}.py", doc=100 + n) for n in range(count)]
        context = RankingContext(read("how is it stored"))
        return {r.path: relevance(r, context.question, 0.15) for r in rank(candidates, context, EditorContext())}

    assert relevances(0).items() <= relevances(more).items()


def test_a_question_for_documents_lifts_what_is_written_for_people_and_no_test() -> None:
    code = candidate("src/restart.py")
    document, test = (candidate(path, lexical=0.55) for path in ("docs/restart.md", "tests/test_restart.py"))
    assert order([code, document, test], "how is it stored") == [
        "src/restart.py:1",
        "docs/restart.md:1",
        "tests/test_restart.py:1",
    ]
    for asked in ("what does our runbook say", "how do I restart it after an upgrade", "what do I need to install first"):
        assert order([code, document, test], asked) == ["docs/restart.md:1", "src/restart.py:1", "tests/test_restart.py:1"]
    for asked in ("how do I call restart_all", "how do I add a parameter to the function", "how does it restart"):
        assert order([code, document, test], asked)[0] == "src/restart.py:1"
