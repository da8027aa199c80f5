"""Learn from a repository's own commits which files a change like them touches, and judge on newer ones whether that helps.

What is kept is a memory of commits (`CommitMemory`) and one number: how much its evidence counts in the ranking. That number
is fitted on older commits, each asked with only what is older than itself. The newest ones are held back: they are asked with
what is older than all of them, and the rule that decides was fixed before (`decide`). Subjects that read like a change are asked,
because only such texts get anything from the memory; merges, bots, routine and sweeps have no part in it.

The index has the code of today, with what each commit brought: its subject may match its own lines. Both sides of the comparison
have that advantage, so the difference says what the memory adds, but neither figure says how a wish for code that isn't there is
answered.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from carrel.core.commit_memory import CommitMemory, HistoryAdapter, RememberedCommit
from carrel.core.errors import Cancelled
from carrel.core.local_index import SnapshotView
from carrel.core.native import CancelToken, Candidate
from carrel.core.types import Query
from carrel.engine import query_words
from carrel.engine.candidates import search
from carrel.engine.evaluate import CUTOFF, Case, cases, is_routine, ndcg, question_of
from carrel.engine.git import CommitRecord
from carrel.engine.prepare import PreparedQuery
from carrel.engine.question_secrets import masked
from carrel.engine.ranking import RankingContext, editor_context, rank
from carrel.engine.retriever import find

Progress = Callable[[int, int, str], None]
Prepare = Callable[[Query], PreparedQuery]

MOST_REMEMBERED = 2_000
MOST_WORDS = 40
"""Words of one subject that are remembered."""
LONGEST_WORD = 60
"""Longer ones are left out: nobody asks for them, and the file that keeps them is bounded."""
MOST_PATHS = 12
"""A commit that changed more files is a sweep."""
MOST_HELD, MOST_FITTED = 150, 300
LEAST_HELD, LEAST_FITTED = 30, 60
"""With fewer commits the interval is so wide that chance decides."""
WEIGHTS = (0.1, 0.2, 0.3, 0.45, 0.7, 1.0)
PRICE = 0.005
"""What the gain must rise by for each 1 of weight: of weights that do alike, the smallest is taken."""
_FITTING = 0.6
"""Share of the time that fitting may take; judging has the rest."""
_DRAWS = 2_000
_BOT = re.compile(r"(?i)\[bot\]|\bbot\b|-bot$|^(?:dependabot|greenkeeper|pre-commit-ci|pyup|renovate|snyk)\b")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Means of NDCG@10 over held-back commits without and with the memory; 90 % of the gain's bootstrap lies between the ends."""

    questions: int
    without: float
    with_it: float
    gain: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was learned. `adapter` is None where it doesn't help, or can't be told; `reason` says why, for a person.

    `remembered` and `fitted` count commits. `complete` is False where the time was up before all were asked.
    """

    adapter: HistoryAdapter | None
    reason: str
    remembered: int
    fitted: int
    weight: float
    judgement: Judgement | None
    complete: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """A commit that was searched for, with what was found before any ranking."""

    case: Case
    candidates: list[Candidate]
    context: RankingContext
    query: Query

    def ndcg(self, history: dict[str, float]) -> float:
        """Judge the order in which files gain so much."""
        question = self.context.question
        context = RankingContext(question, list(self.context.rarity.values()), None, history)
        ranked = rank(self.candidates, context, editor_context(self.query))
        return ndcg([candidate.path for candidate in ranked[:CUTOFF]], self.case.paths)


@dataclass(frozen=True, slots=True)
class _History:
    """The commits that are remembered, newest first, and those that can be asked, with their places among the first."""

    commits: list[RememberedCommit]
    asked: list[tuple[int, Case]]


def learn(
    view: SnapshotView,
    prepare: Prepare,
    history: Sequence[CommitRecord],
    seconds: float,
    cancel: CancelToken,
    progress: Progress,
) -> Tuning:
    """Remember the commits of a history, newest first, and decide whether that helps. Raises `Cancelled`.

    The same history and index give the same, unless the time is up before all commits are asked.
    """
    began = time.monotonic()
    known = _read(history, frozenset(view.paths()))
    held_count = min(MOST_HELD, len(known.asked) // 3)
    held, older = known.asked[:held_count], known.asked[held_count : held_count + MOST_FITTED]
    if len(held) < LEAST_HELD or len(older) < LEAST_FITTED:
        reason = f"too few commits can be asked: {len(known.asked)}, of at least {LEAST_HELD * 3} that are needed"
        return Tuning(None, reason, len(known.commits), 0, 0.0, None, complete=True)
    newest_known = held[-1][0] + 1  # the place of the first commit that is older than all that are held back
    memory = CommitMemory(known.commits[newest_known:])
    total = len(older) + len(held)

    def clock(end: float, done: int, those: Sequence[tuple[int, Case]]) -> Iterator[tuple[int, Case]]:
        for number, (place, case) in enumerate(those):
            if cancel.cancelled:
                raise Cancelled
            if time.monotonic() > end:
                return
            progress(done + number, total, case.question)
            yield place, case

    rows = []
    for place, case in clock(began + _FITTING * seconds, 0, older):
        asked = _search(view, prepare, case, cancel)
        found = memory.files(asked.context.question.words, older_than=place - newest_known)
        rows.append([asked.ndcg({path: weight * share for path, share in found.items()}) for weight in (0.0, *WEIGHTS)])
    weight = fitted_weight(rows) if len(rows) >= LEAST_FITTED else 0.0
    if not weight:
        reason = "it doesn't help on the older commits" if len(rows) >= LEAST_FITTED else _NO_TIME
        return Tuning(None, reason, len(known.commits), len(rows), 0.0, None, complete=len(rows) == len(older))
    pairs = []
    trial = HistoryAdapter(memory, weight)
    for _, case in clock(began + seconds, len(older), held):
        pairs.append(judged(view, prepare(Query(case.question, limit=CUTOFF)), trial, case, cancel))
    complete = len(rows) == len(older) and len(pairs) == len(held)
    if len(pairs) < LEAST_HELD:
        return Tuning(None, _NO_TIME, len(known.commits), len(rows), weight, None, complete=complete)
    judgement = judge(pairs)
    reason = decide(judgement)
    # What is used knows the commits that were held back too: they say most of what comes next.
    adapter = None if reason else HistoryAdapter(CommitMemory(known.commits), weight)
    return Tuning(adapter, reason, len(known.commits), len(rows), weight, judgement, complete=complete)


_NO_TIME = "the time was up before enough commits were asked"


def fitted_weight(rows: Sequence[Sequence[float]]) -> float:
    """Return the weight whose mean figure is the best, its price paid; 0 where none pays. A row has the figures of one commit,
    without and with each of `WEIGHTS`."""
    means = [statistics.fmean(column) for column in zip(*rows, strict=True)]
    worth = {weight: mean - PRICE * weight for weight, mean in zip((0.0, *WEIGHTS), means, strict=True)}
    return max(worth, key=lambda weight: (round(worth[weight], 9), -weight))


def judge(pairs: Sequence[tuple[float, float]]) -> Judgement:
    """Sum up the figures of commits without and with the memory, paired; the bootstrap is seeded."""
    gains = [after - before for before, after in pairs]
    rng = random.Random(0)  # noqa: S311 - repeatable, no secret
    means = sorted(statistics.fmean(rng.choices(gains, k=len(gains))) for _ in range(_DRAWS))
    low, high = means[_DRAWS // 20], means[-1 - _DRAWS // 20]
    before, after = (statistics.fmean(side) for side in zip(*pairs, strict=True))
    return Judgement(len(pairs), round(before, 4), round(after, 4), round(after - before, 4), round(low, 4), round(high, 4))


def decide(judgement: Judgement) -> str:
    """Say why a memory isn't used; nothing where it is: where the low end of the gain's interval lies above 0."""
    if judgement.low > 0:
        return ""
    if judgement.gain <= 0:
        return "it doesn't help on the commits that were held back"
    return "its gain on the commits that were held back may be chance"


def _read(history: Sequence[CommitRecord], indexed: Collection[str]) -> _History:
    """Choose what is remembered, and what of it is asked: changes whose words no older commit has just so."""
    commits: list[RememberedCommit] = []
    records: list[CommitRecord] = []
    for record in history:
        subject = question_of(record.subject)
        paths = tuple(sorted({path for path in record.paths if path in indexed}))
        if not paths or len(record.paths) > MOST_PATHS or is_routine(subject) or _BOT.search(record.author):
            continue
        # The index has words of masked texts only; so has what is kept beside it.
        read = query_words.read(masked(subject)).words
        words = tuple(word for word in read if len(word) <= LONGEST_WORD)[:MOST_WORDS]
        if words:
            commits.append(RememberedCommit(words, paths))
            records.append(record)
        if len(commits) == MOST_REMEMBERED:
            break
    repeated = set[int]()
    seen = set[frozenset[str]]()
    for place in reversed(range(len(commits))):  # a commit that was made again would be found by its own words
        words_here = frozenset(commits[place].words)
        if words_here in seen:
            repeated.add(place)
        seen.add(words_here)
    place_of = {record.sha: place for place, record in enumerate(records)}
    asked = [
        (place_of[case.sha], case)
        for case in cases(records, indexed, len(records))
        if place_of[case.sha] not in repeated and query_words.read(case.question).is_change
    ]
    return _History(commits, asked)


def _search(view: SnapshotView, prepare: Prepare, case: Case, cancel: CancelToken) -> _Asked:
    query = Query(case.question, limit=CUTOFF)
    prepared = prepare(query)
    text = next(iter(prepared.texts.values()))
    candidates, context = search(view, text, query, prepared.model.floor, cancel)
    return _Asked(case, candidates, context, query)


def judged(
    view: SnapshotView, prepared: PreparedQuery, adapter: HistoryAdapter | None, case: Case, cancel: CancelToken
) -> tuple[float, float]:
    """Return the figures of a commit that is asked for through the whole search, without and with the memory."""

    def figure(learned: HistoryAdapter | None) -> float:
        ranking = find(view, replace(prepared, query=replace(prepared.query, learned=learned)), cancel)
        return ndcg([candidate.path for candidate in ranking.order.ranked[:CUTOFF]], case.paths)

    return figure(None), figure(adapter)
