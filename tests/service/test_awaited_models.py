"""Models that are awaited: they hold no thread, typing doesn't ask them, and a hang costs a question its vectors only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.shop import write_files
from tests.support.awaited import AwaitedEmbedder, rows
from tests.support.workspaces import Open, indexed

from carrel.assist import assisted_retrieval
from carrel.model.errors import Cancelled
from carrel.model.types import Budget, Query
from carrel.model.vectors import Vectors
from carrel.model_calls import embedding
from carrel.question import prepare
from carrel.search import retriever
from carrel.service import queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.system.jobs import Jobs


class Gate:
    """Answers documents, and questions when it is let; counts who waits."""

    def __init__(self, *kinds: str) -> None:
        self.kinds, self.open, self.waiting = kinds, asyncio.Event(), 0
        self.came = asyncio.Condition()

    async def __call__(self, texts: Sequence[str], kind: str) -> Vectors:
        if kind in self.kinds:
            async with self.came:
                self.waiting += 1
                self.came.notify_all()
            await self.open.wait()
        return rows(texts)

    async def full(self, many: int) -> None:
        """Return when so many wait."""
        async with self.came:
            await self.came.wait_for(lambda: self.waiting >= many)


def asked(text: str = "total price of an order", **more: Any) -> ContextRequest:
    return ContextRequest(text, 3, Budget(2_000, "tokens"), trigger="explicit", **more)


async def test_hung_models_leave_every_other_question_as_it_was(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assisted_retrieval, "QUERY_SECONDS", 3_600.0)
    jobs, gate = Jobs(), Gate("query")
    gate.open.set()
    hung = await indexed(open_workspace("hung", AwaitedEmbedder(gate), jobs))
    quick = await indexed(open_workspace("quick", jobs=jobs))
    gate.open.clear()
    gate.waiting = 0
    stuck = [asyncio.create_task(context(hung, asked(f"question {number}"))) for number in range(8)]
    await gate.full(8)
    answer = await context(quick, asked())
    assert "total_price" in answer.pack.text
    found = await queries.search(quick, Query("authenticate_user", 1), 0)
    assert found.hits[0].chunk.symbol == "authenticate_user"
    assert not any(task.done() for task in stuck)
    gate.open.set()
    assert all("total_price" in done.pack.text or done.pack.items for done in await asyncio.gather(*stuck))


async def test_index_runs_whose_model_hangs_hold_no_thread_and_end_at_once_when_cancelled(open_workspace: Open) -> None:
    jobs, gate = Jobs(), Gate("document")
    hung = [open_workspace(f"hung{number}", AwaitedEmbedder(gate), jobs) for number in range(3)]
    running = [workspace.request_index() for workspace in hung if await workspace.open()]
    await gate.full(3)
    quick = await indexed(open_workspace("quick", jobs=jobs))
    assert quick.index
    assert quick.index.complete
    for workspace, job in zip(hung, running, strict=True):
        workspace.queue.cancel(job)
        with pytest.raises(Cancelled):
            await asyncio.shield(job.done)


async def test_a_hung_model_leaves_words_their_time(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, given = Gate("query"), list[float]()
    gate.open.set()
    workspace = await indexed(open_workspace(embedder=AwaitedEmbedder(gate)))
    gate.open.clear()
    as_it_is = prepare.prepare

    async def noted(*named: Any, seconds: float, **more: Any) -> Any:
        given.append(seconds)
        return await as_it_is(*named, seconds=0.01, **more)

    monkeypatch.setattr(assisted_retrieval, "prepare", noted)
    for deadline_ms in (8_000, 60_000, None):
        answer = await context(workspace, asked(deadline_ms=deadline_ms))
    assert 0 < given[0] <= 4
    assert given[1:] == [embedding.QUERY_SECONDS] * 2
    assert "total_price" in answer.pack.text
    assert answer.error is None
    assert "awaited-1 didn't answer" in str(answer.notice)
    assert "words alone" in str(answer.notice)


async def test_typing_asks_no_awaited_model_until_the_file_is_saved(open_workspace: Open) -> None:
    model = AwaitedEmbedder()
    workspace = await indexed(open_workspace(embedder=model))
    text = "def refund_of_wombat(order):\n    return order.total_price() * -1\n"
    before = len(model.documents())
    workspace.buffers.opened("src/orders.py", lambda: text)
    await workspace.buffers.flush()
    found = await queries.search(workspace, Query("refund_of_wombat", 5), 0)
    assert "refund_of_wombat" in {hit.chunk.symbol for hit in found.hits}
    assert len(model.documents()) == before
    write_files(workspace.root, {"src/orders.py": text})
    workspace.changed_on_disk(["src/orders.py"])
    await asyncio.wait({workspace.queue.request(paths=["src/orders.py"]).done})
    assert len(model.documents()) == before + 1
    assert workspace.buffers.overlaid == frozenset()
    assert workspace.index
    view = workspace.index.store.snapshot()
    assert all(any(view.vector(chunk.doc)) for chunk in view.file_chunks("src/orders.py"))


async def test_a_search_says_in_its_plan_that_words_alone_answered(open_workspace: Open) -> None:
    async def fails(texts: Sequence[str], kind: str) -> Vectors:
        if kind == "query":
            raise OSError("unreachable")
        return rows(texts)

    workspace = await indexed(open_workspace(embedder=AwaitedEmbedder(fails)))
    found = await queries.search(workspace, Query("authenticate_user", 1), 0)
    assert found.hits[0].chunk.symbol == "authenticate_user"
    assert "awaited-1 failed: OSError" in str(found.diagnostics.problem)


async def test_waiting_for_another_writer_holds_no_thread(open_workspace: Open) -> None:
    writer = await indexed(open_workspace())
    (writer.root / "src" / "new.py").write_text("def number_of_wombats(zoo):\n    return len(zoo.wombats())\n")
    follower = open_workspace()
    waiting = [asyncio.ensure_future(queries.followed_index(follower, force=False)) for _ in range(8)]
    async with asyncio.timeout(8):  # the other writer is waited for longer
        assert (await queries.search(follower, Query("total_price", 1), 0)).hits
        assert not any(task.done() for task in waiting)
        await asyncio.wait({writer.queue.request(full=True).done})
        reports = await asyncio.gather(*waiting)
    assert writer.index
    assert {report.unchanged for report in reports} == {writer.index.store.snapshot().files}


async def test_a_search_whose_index_is_closed_meanwhile_is_answered(
    open_workspace: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await indexed(open_workspace())
    assert workspace.index
    store, as_it_is = workspace.index.store, retriever.retrieve

    def closing(*given: Any) -> Any:
        store.close()  # as new settings do
        return as_it_is(*given)

    monkeypatch.setattr(retriever, "retrieve", closing)
    assert (await queries.search(workspace, Query("total_price", 1), 0)).hits
