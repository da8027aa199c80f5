"""What is learned of a repository's commits, and when it is used."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from tests.engine.texts import EMBEDDER, indexed

from carrel.core.commit_memory import CommitMemory, HistoryAdapter, RememberedCommit
from carrel.core.errors import Cancelled
from carrel.core.native import CancelToken
from carrel.core.types import Query
from carrel.engine.git import CommitRecord
from carrel.engine.prepare import prepare_blocking
from carrel.engine.retriever import retrieve
from carrel.engine.tune import Tuning, decide, fitted_weight, judge, learn

JARGON = {"gizmo": "src/bill.py", "widget": "src/mail.py", "doodad": "src/login.py", "thingy": "src/cache.py"}
"""Words that a team has for its files, and none of the files holds."""
VIEW = indexed(
    {path: f"def {path[4:-3]}_step(order):\n    value = order.first + 1\n    return value * 2\n" for path in JARGON.values()}
)


def letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def history(count: int, path_of: Callable[[str], str], *, author: str = "t") -> list[CommitRecord]:
    words = list(JARGON)
    made = ((number, words[number % len(words)]) for number in range(count))
    return [
        CommitRecord(f"{n:040}", f"Add the {word} to the order step of {letters(n)}", (path_of(word),), author)
        for n, word in made
    ]


def tuned(commits: Sequence[CommitRecord], seconds: float = 60.0, cancel: CancelToken | None = None) -> Tuning:
    return learn(
        VIEW, lambda query: prepare_blocking(query, EMBEDDER), commits, seconds, cancel or CancelToken(), lambda *_: None
    )


TELLING = history(120, JARGON.__getitem__)


def test_words_of_older_commits_find_what_no_text_holds() -> None:
    found = tuned(TELLING)
    assert found.adapter is not None
    assert found.judgement is not None
    assert (found.reason, found.complete, found.remembered) == ("", True, 120)
    assert found.judgement.questions >= 30
    assert found.judgement.gain >= found.judgement.low > 0.2
    again = tuned(TELLING)
    assert (again.judgement, again.weight) == (found.judgement, found.weight)
    assert again.adapter is not None
    assert again.adapter.gains(["gizmo"]) == found.adapter.gains(["gizmo"])

    def first(text: str, learned: HistoryAdapter | None) -> tuple[str, tuple[tuple[str, float], ...]]:
        hit = retrieve(VIEW, prepare_blocking(Query(text, learned=learned), EMBEDDER), CancelToken()).hits[0]
        return hit.chunk.path, hit.signals.boosts

    for word, path in JARGON.items():
        wish, question = f"Add a {word} to the order step", f"where is the {word} of the order step"
        best, boosts = first(wish, found.adapter)
        assert (best, "history" in dict(boosts)) == (path, True)
        assert first(question, found.adapter) == first(question, None)  # it asks for no change


def test_commits_that_tell_nothing_are_not_used() -> None:
    rng = random.Random(1)  # noqa: S311 - repeatable, no secret
    found = tuned(history(120, lambda _: rng.choice(list(JARGON.values()))))
    assert (found.adapter, bool(found.reason)) == (None, True)


@pytest.mark.parametrize(
    "commits",
    [
        TELLING[:60],
        [CommitRecord(c.sha, c.subject, c.paths, "renovate[bot]") for c in TELLING],
        [CommitRecord(c.sha, c.subject, (*c.paths, *(f"{n}.py" for n in range(12)))) for c in TELLING],
        [CommitRecord(c.sha, f"Merge {c.subject}", c.paths) for c in TELLING],
        [CommitRecord(c.sha, c.subject, ("gone.py",)) for c in TELLING],
        [CommitRecord(c.sha, "Add the gizmo again", c.paths) for c in TELLING],
    ],
    ids=["few", "bots", "sweeps", "merges", "gone", "repeated"],
)
def test_commits_that_cannot_be_asked_are_no_evidence(commits: list[CommitRecord]) -> None:
    found = tuned(commits)
    assert (found.adapter, found.judgement) == (None, None)
    assert "too few commits" in found.reason


def test_it_ends_when_the_time_is_up_or_it_is_cancelled() -> None:
    found = tuned(TELLING, seconds=0)
    assert (found.adapter, found.complete, "time was up" in found.reason) == (None, False, True)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        tuned(TELLING, cancel=cancel)


def test_a_gain_that_may_be_chance_is_none() -> None:
    assert decide(judge([(0.2, 0.6)] * 30)) == ""
    assert "may be chance" in decide(judge([(0.0, 1.0), (1.0, 0.0), (0.5, 0.6)] * 10))
    assert "doesn't help" in decide(judge([(0.6, 0.2)] * 30))


def test_of_weights_that_do_alike_the_smallest_is_taken() -> None:
    assert fitted_weight([[0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]] * 3) == 0.1
    assert fitted_weight([[0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.7]] * 3) == 1.0
    assert fitted_weight([[0.5] * 7] * 3) == 0.0


def test_a_commit_is_asked_only_with_older_ones() -> None:
    memory = CommitMemory([RememberedCommit(("pool",), ("new.py",)), RememberedCommit(("pool",), ("old.py",))])
    assert set(memory.files(["pool"])) == {"new.py", "old.py"}
    assert set(memory.files(["pool"], older_than=0)) == {"old.py"}
    assert memory.files(["pool"])["new.py"] > memory.files(["pool"])["old.py"]  # newer ones say more
    assert memory.files(["nothing"]) == memory.files([]) == CommitMemory([]).files(["pool"]) == {}


def test_a_secret_in_a_subject_is_not_remembered() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    marked = [CommitRecord("f" * 40, f"Remove the token {secret} of the gizmo", ("src/bill.py",)), *TELLING]
    adapter = tuned(marked).adapter
    assert adapter is not None
    assert not [
        word for commit in adapter.memory.commits for word in commit.words if word.lower() in secret.lower() and len(word) > 5
    ]
