"""Search until a chat model says that what was found is enough: a question of its own, or the context of an answer."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.service import context_service, queries

if TYPE_CHECKING:
    from carrel.assist.assessment import Attempt
    from carrel.model.conversation import Message
    from carrel.model.ports import ChatModel
    from carrel.model.types import Hit, Query
    from carrel.service.context_request import ContextAnswer, ContextRequest
    from carrel.service.folder_group import FolderGroup
    from carrel.service.queries import SearchAnswer
    from carrel.service.workspace import Workspace

HITS = 10
"""How many hits an attempt fetches where nobody says how many."""


async def search(
    model: ChatModel,
    notify: Callable[[Attempt], None],
    searched: Workspace | FolderGroup,
    query: Query,
    wait_ms: int,
    *,
    history: Sequence[Message] = (),
    rerank: bool | None = None,
    sources: Sequence[str] = (),
) -> SearchAnswer:
    """Do `queries.search` for the query, and for those that the model puts in its place; `notify` is told of each attempt.

    An attempt fetches as many hits as the query wants, `search_more` twice as many. Raises `CarrelError`.
    """
    from carrel.assist.assessment import search_assessed

    results: dict[str, SearchAnswer] = {}

    async def attempt(text: str, k: int) -> Sequence[Hit]:
        result = await queries.search(
            searched,
            replace(query, text=text, limit=query.limit * (2 if k > HITS else 1)),
            wait_ms,
            history=history if text == query.text else (),  # another query stands alone
            plan="never",
            rerank=rerank,
            sources=sources,
        )
        results[text] = result
        return result.with_evidence

    done = await search_assessed(query.text, attempt, model, notify=notify)
    last = results[done.query]
    problem = " ".join(filter(None, (last.diagnostics.problem, done.problem))) or None
    retrieval = replace(last.retrieval, diagnostics=replace(last.diagnostics, problem=problem))
    return replace(last, hits=done.hits, retrieval=retrieval)


async def context(
    workspace: Workspace, request: ContextRequest, model: ChatModel, notify: Callable[[Attempt], None]
) -> tuple[ContextAnswer, ContextRequest]:
    """Return what `context_service.context` packs, and for which request: the hits of a pack are what the model assesses."""
    from carrel.assist.assessment import search_assessed

    requests: dict[str, ContextRequest] = {}
    answers: dict[str, ContextAnswer] = {}

    async def attempt(text: str, k: int) -> Sequence[Hit]:
        history = request.history if text == request.query else ()
        requests[text] = replace(request, query=text, limit=k, history=history, plan="never", lent=None)
        answers[text] = await context_service.context(workspace, requests[text])
        return [item.hit for item in answers[text].pack.items]

    done = await search_assessed(request.query, attempt, model, notify=notify)
    answer = answers[done.query]
    notice = " ".join(filter(None, (answer.notice, done.problem))) or None
    return replace(answer, notice=notice), requests[done.query]
