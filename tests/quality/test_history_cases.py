from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.history_cases import BUDGETS, Case, Figures, cases, measure, ndcg, summarize
from tests.support.fakes import FakeChunk, FakeEmbedder, FakeView
from tests.support.repositories import CommitRecord

from carrel.model.errors import Cancelled
from carrel.model.native import CancelToken
from carrel.model.types import Budget, Query
from carrel.pack.compare import compare
from carrel.providers.tokenizers import ApproximateTokenizer
from carrel.question.prepare import prepare_blocking

TOKENS = ApproximateTokenizer()


def test_only_commits_that_ask_for_a_few_files_of_code_are_cases() -> None:
    indexed = {"src/a.py", "src/b.py", "tests/test_a.py", "README.md", *(f"many/{n}.py" for n in range(20))}
    history = [
        CommitRecord("1", "Close the pool when idle (#12)", ("src/a.py", "tests/test_a.py", "gone.py")),
        CommitRecord("2", "Fix it", ("src/a.py",)),
        CommitRecord("3", "Rename everything in many files", tuple(f"many/{n}.py" for n in range(20))),
        CommitRecord("4", "Describe the pool's settings", ("README.md",)),
        CommitRecord("5", "Bump the version of everything", ("src/b.py",)),
        CommitRecord("6", "Read settings from the environment", ("src/b.py",)),
    ]
    chosen = cases(history, indexed, 10)
    assert [(case.sha, case.question, sorted(case.paths)) for case in chosen] == [
        ("1", "Close the pool when idle", ["src/a.py"]),
        ("6", "Read settings from the environment", ["src/b.py"]),
    ]
    assert len(cases(history, indexed, 1)) == 1


@given(st.lists(st.sampled_from("abcdefgh"), max_size=14), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_ndcg_is_one_for_the_best_order_only(hits: list[str], wanted: set[str]) -> None:
    value = ndcg(hits, wanted)
    assert 0 <= value <= 1 + 1e-9
    best = hits[: len(wanted)]
    assert math.isclose(value, 1) == (len(set(best)) == len(wanted) and set(best) == wanted)


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    assert ndcg(["x", "a", "a", "b"], {"a", "b"}) == pytest.approx((1 / 1.58496 + 1 / 2.32193) / (1 + 1 / 1.58496), abs=1e-5)
    assert ndcg([*"0123456789", "a"], {"a"}) == 0, "ten places count"


def test_a_question_is_judged_by_ranks_and_by_what_packs_show() -> None:
    view: Any = FakeView(
        [FakeChunk("a.py", 1, "alpha\n", dense=0.9, lexical=0.9), FakeChunk("b.py", 1, "beta\n", dense=0.5, lexical=0.5)]
    )

    def ask(case: Case) -> Figures:
        return measure(view, prepare_blocking(Query(case.question, limit=50), FakeEmbedder()), TOKENS, case, CancelToken())

    right = ask(Case("1", "alpha", frozenset({"a.py"})))
    wrong = ask(Case("2", "beta", frozenset({"b.py", "c.py"})))
    assert (right.ndcg, right.recall, right.first) == (1, 1, True)
    assert (wrong.recall, wrong.first) == (0.5, False)
    assert right.recall_at == dict.fromkeys(BUDGETS, 1)
    summary = summarize([right, wrong])
    assert summary.questions == 2
    assert summary.hit1 == 0.5
    assert [miss.case.sha for miss in summary.misses] == ["2"]


def test_chunks_are_compared_with_the_whole_files_that_they_are_from() -> None:
    view: Any = FakeView([FakeChunk("a.py", 1, "alpha\n", dense=0.9, lexical=0.9), FakeChunk("gone.py", 1, "b\n", dense=0.5)])
    view.texts = {"a.py": "alpha\n" * 1000}
    both = compare(view, prepare_blocking(Query("alpha"), FakeEmbedder()), TOKENS, Budget(500, "tokens"), CancelToken())
    assert both.whole_files.files == ("a.py",)
    assert both.unread == ("gone.py",)
    assert both.reasons == ("a file has 1,000 lines",)
    assert both.chunks.tokens < TOKENS.count("alpha\n" * 1000) <= both.whole_files.tokens
    stopped = CancelToken()
    stopped.cancel()
    with pytest.raises(Cancelled):
        compare(view, prepare_blocking(Query("alpha"), FakeEmbedder()), TOKENS, Budget(500, "tokens"), stopped)
