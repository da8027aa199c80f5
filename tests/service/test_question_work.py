"""The work that a context takes on a fixed project: counted, not timed, so that a machine's other work changes nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, cast

import pytest
from msgspec import UNSET
from tests.shop import write_files
from tests.support.workspaces import Open, indexed

from carrel.frontends.lsp.convert.convert_questions import from_answer
from carrel.model.native import ReadFiles, Snapshot, Store
from carrel.model.types import Budget
from carrel.pack import places
from carrel.providers.tokenizers import ExactTokenizer
from carrel.search.passages import MOST_CHUNKS
from carrel.search.pieces import head_of
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context

LIMIT = 10
BUDGET = Budget(1_000, "tokens")
CHARACTERS_A_TOKEN = 4
QUESTIONS = (
    "how is the total of an order rounded",
    "where are payments tried again when the bank refuses them",
    "total price of an order in another currency",
    "refund_invoice",
    "Which functions write the ledger of a customer?",
)
VERBS = ("charge", "refund", "round", "convert", "retry", "ship", "cancel", "archive")
THINGS = ("order", "payment", "invoice", "ledger", "customer")
BODY = """def {verb}_{thing}_{number}({thing}, currency, attempts=3):
    \"\"\"{Verb} the {thing} of a customer, and write the ledger of module {number}.\"\"\"
    total = sum(line.price * line.count for line in {thing}.lines)
    for attempt in range(attempts):
        answer = bank.{verb}({thing}, total, currency)
        if answer.refused:
            log.warning("the bank refused to {verb} %s in attempt %s", {thing}.id, attempt)
            continue
        ledger.write({thing}.customer, "{verb}", round(total, 2))
        return answer
    raise PaymentRefused({thing}.id)
"""
PROJECT = {
    f"shop/module_{number}.py": "\n\n".join(
        BODY.format(verb=verb, Verb=verb.title(), thing=thing, number=number) for verb in VERBS for thing in THINGS
    )
    for number in range(45)
}


class Work:
    """What was done since it was made."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()  # of the core, by name
        self.chunks = 0  # read for a hit or a passage
        self.paths: set[str] = set()  # of files of which something was read
        self.uncached = 0  # reads of a file that nothing remembers
        self.files: list[ReadFiles] = []
        self.heads = 0  # chunks whose signature was looked for among their lines
        self.measured = 0  # texts whose tokens were counted
        self.characters = 0  # of those

    @property
    def reads(self) -> int:
        """Files that were read as a whole, a file as often as it was."""
        return self.uncached + sum(files.reads for files in self.files)


class CountedView:
    """A snapshot whose calls are counted."""

    def __init__(self, view: Snapshot, work: Work) -> None:
        self._view, self._work = view, work

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._view, name)
        return self._counted(name, value) if callable(value) else value

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        work = self._work

        def counted(*given: Any, **named: Any) -> Any:
            work.calls[name] += 1
            files = named.get("files")
            if files is not None and all(files is not known for known in work.files):
                work.files.append(files)
            answer = call(*given, **named)
            if name in ("read_current", "read_best"):
                work.chunks += len(answer)
                work.paths.update(read.info.path for read in answer if not isinstance(read, str))
                work.uncached += len(answer) if files is None else 0
            elif name in ("lines", "text"):
                work.paths.add(given[0])
                work.uncached += files is None
            return answer

        return counted


class CountedStore:
    """A store whose snapshots are counted."""

    def __init__(self, store: Store, work: Work) -> None:
        self._store, self._work = store, work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def snapshot(self) -> CountedView:
        return CountedView(self._store.snapshot(), self._work)


async def work_of(open_workspace: Open, monkeypatch: pytest.MonkeyPatch, questions: Sequence[str]) -> list[Work]:
    """Ask each question for a context, and return what each took."""
    workspace = open_workspace("large")
    write_files(workspace.root, PROJECT)
    await indexed(workspace)
    index = await workspace.ready(explicit=True, wait_ms=30_000)
    store, count = index.store, ExactTokenizer.count
    done: list[Work] = []

    def counted(self: ExactTokenizer, text: str) -> int:
        done[-1].measured += 1
        done[-1].characters += len(text)
        return count(self, text)

    def counted_head(rows: Sequence[str], signature: str) -> range:
        done[-1].heads += 1
        return head_of(rows, signature)

    monkeypatch.setattr(ExactTokenizer, "count", counted)
    monkeypatch.setattr(places, "head_of", counted_head)
    for question in questions:
        done.append(Work())
        index.store = cast("Store", CountedStore(store, done[-1]))
        answer = await context(workspace, ContextRequest(question, LIMIT, BUDGET, trigger="explicit"))
        assert answer.error is None
        assert BUDGET.amount / 2 < answer.pack.tokens <= BUDGET.amount
    index.store = store
    return done


async def test_a_context_reads_each_file_once_and_measures_little(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for question, work in zip(QUESTIONS, await work_of(open_workspace, monkeypatch, QUESTIONS), strict=True):
        spent = f"{question}: {dict(work.calls)}, {work.measured} texts measured"
        assert work.reads <= len(work.paths), f"a file was read again; {spent}"
        assert work.chunks <= LIMIT + MOST_CHUNKS, spent
        # Twice what it was when this was written; most go to the lines around the best places.
        assert work.calls.total() <= 48, spent
        assert work.measured <= 76, spent
        assert work.heads <= 2 * LIMIT, f"{work.heads} signatures; {spent}"
        assert work.characters <= 10 * CHARACTERS_A_TOKEN * BUDGET.amount, spent


async def test_an_answer_is_encoded_by_a_few_calls_a_result(open_workspace: Open) -> None:
    workspace = open_workspace("large")
    write_files(workspace.root, PROJECT)
    await indexed(workspace)
    answer = await context(workspace, ContextRequest(QUESTIONS[0], LIMIT, BUDGET, trigger="explicit"))
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    for _ in range(2):  # the first time its types are made known
        calls = 0
        sys.setprofile(count)
        try:
            encoded = from_answer(answer, str, lambda _: UNSET, 1.0)
        finally:
            sys.setprofile(None)
    results = len(encoded.hits) + len(encoded.dropped)
    assert results >= LIMIT
    assert calls <= 60 * results, f"{calls} calls for {results} results"
