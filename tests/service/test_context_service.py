"""The one way to context can't raise: whatever breaks inside is an empty pack, or one by words, with the reason."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.support.awaited import DIM, AwaitedEmbedder, rows
from tests.support.workspaces import Open, indexed

from carrel.composition.composition import Composition
from carrel.model.errors import ProviderError, StoreError
from carrel.model.native import CancelToken
from carrel.model.types import Budget
from carrel.model.vectors import Vectors
from carrel.pack import context as packing
from carrel.question import issue_text
from carrel.search import merge
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context, context_blocking
from carrel.service.workspace import Workspace

ASKED = ContextRequest("total price of an order", 3, Budget(2_000, "tokens"))
QUOTED = "hunter2hunter2"


class Panic(BaseException):
    """What a panic of the compiled core is."""


FAULTS = [RuntimeError(QUOTED), Panic(QUOTED), StoreError("the disk is full"), asyncio.CancelledError(), RecursionError()]


def raising(fault: BaseException) -> Callable[..., Any]:
    def broken(*_: Any, **__: Any) -> Any:
        raise fault

    return broken


def coroutine_raising(fault: BaseException) -> Callable[..., Any]:
    async def broken(*_: Any, **__: Any) -> Any:
        raise fault

    return broken


STAGES: dict[str, tuple[Any, str, Callable[[BaseException], Callable[..., Any]]]] = {
    "settings": (Workspace, "settle", coroutine_raising),
    "index": (Workspace, "ready", coroutine_raising),
    "reading the question": (issue_text, "read", raising),
    "search": (merge, "find", raising),
    "threads": (Workspace, "run_interactive", coroutine_raising),
    "tokenizer": (Composition, "tokenizer", raising),
    "pack": (packing, "pack_answer", raising),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("stage", STAGES)
async def test_a_fault_of_any_stage_is_an_answer(
    open_workspace: Open, monkeypatch: pytest.MonkeyPatch, stage: str, fault: BaseException
) -> None:
    workspace = await indexed(open_workspace())
    owner, name, breaking = STAGES[stage]
    monkeypatch.setattr(owner, name, breaking(fault))
    answer = await context(workspace, ASKED)
    assert (answer.pack.text, answer.pack.items) == ("", ())
    assert answer.error
    assert QUOTED not in answer.error
    assert (answer.error == "the disk is full") == isinstance(fault, StoreError)


async def test_a_state_that_can_not_be_told_costs_no_pack(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = await indexed(open_workspace())
    monkeypatch.setattr(Workspace, "state", raising(RuntimeError()))
    answer = await context(workspace, ASKED)
    assert (answer.state, bool(answer.pack.items)) == ("error", True)


def given(value: Any) -> Callable[..., Any]:
    async def act(texts: Sequence[str], kind: str) -> Any:
        return rows(texts) if kind == "document" else value

    return act


def failing(fault: Exception) -> Callable[..., Any]:
    async def act(texts: Sequence[str], kind: str) -> Any:
        if kind == "query":
            raise fault
        return rows(texts)

    return act


@pytest.mark.parametrize(
    "act",
    [
        given(None),
        given([[1.0] * DIM]),
        given(Vectors(b"", DIM)),
        given(Vectors.of([[float("nan")] * DIM], DIM)),
        given(Vectors.of([[1.0]], 1)),
        failing(RuntimeError(QUOTED)),
        failing(ProviderError("The key is wrong.")),
    ],
)
async def test_a_model_that_fails_or_gives_garbage_leaves_an_answer_by_words(open_workspace: Open, act: Any) -> None:
    workspace = await indexed(open_workspace(embedder=AwaitedEmbedder(act)))
    answer = await context(workspace, ASKED)
    assert "total_price" in answer.pack.text
    assert answer.error is None
    assert "words alone" in str(answer.notice)
    assert QUOTED not in str(answer.notice)


async def test_a_hang_ends_with_the_deadline(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, gate = await indexed(open_workspace()), threading.Event()
    monkeypatch.setattr(merge, "find", lambda *_, **__: gate.wait(30))
    answer = await context(workspace, ContextRequest(ASKED.query, 3, ASKED.budget, deadline_ms=30))
    gate.set()
    assert answer.error == "There was no answer within 30 ms."


async def test_a_closed_store_and_closed_threads_are_answers(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    assert workspace.index
    workspace.index.store.close()
    answer = await context(workspace, ASKED)
    assert (answer.pack.text, bool(answer.error)) == ("", True)
    workspace = await indexed(open_workspace("other"))
    workspace._jobs.close()
    answer = await context(workspace, ASKED)
    assert answer.error == "The work was stopped: Carrel is closing"


async def test_a_cancelled_caller_is_cancelled(open_workspace: Open) -> None:
    began, ready = asyncio.Event(), asyncio.Event()

    async def hangs(texts: Sequence[str], _: str) -> Any:
        if not ready.is_set():
            return rows(texts)
        began.set()
        return await asyncio.Event().wait()

    workspace = await indexed(open_workspace(embedder=AwaitedEmbedder(hangs)))
    ready.set()
    question = asyncio.create_task(context(workspace, ASKED))
    await began.wait()
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_the_blocking_way_is_guarded_as_well(fault: BaseException) -> None:
    answer = context_blocking(raising(fault), ASKED, raising(fault), CancelToken())
    assert answer.pack.text == ""
    assert answer.error
    assert QUOTED not in answer.error


async def test_what_was_answered_is_kept_for_questions_about_it(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    answer = await context(workspace, ASKED)
    stored = workspace.recent.get(answer.pack.id)
    assert stored
    assert stored.answer.pack.items[0].hit.chunk.path == "src/orders.py"
    assert stored.candidates()[0].path == "src/orders.py"
    failed = await context(workspace, ContextRequest("", 3, ASKED.budget, deadline_ms=0))
    assert workspace.recent.get(failed.pack.id) is None
