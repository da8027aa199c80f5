"""The issue reviewer on one workspace: its searches are questions like any other, on the interactive pool."""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrel.service.workspace_tools import searcher, tokenizer_of

if TYPE_CHECKING:
    from carrel.agent.reviewer import Reviewed, Step
    from carrel.model.ports import ChatModel
    from carrel.service.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What to review, and within which limits. `max_tokens` None: as many as the model takes."""

    title: str
    body: str = ""
    exclude: tuple[str, ...] = ()
    model: str | None = None
    max_tokens: int | None = None
    wait_ms: int = 10_000


async def review(
    workspace: Workspace, request: ReviewRequest, model: ChatModel, tell: Callable[[Step], None]
) -> tuple[Reviewed, str]:
    """Review an issue; return the name of the tokenizer that counted, too. Makes the first index; raises `CarrelError`."""
    from carrel.agent import reviewer
    from carrel.agent.tools.scope import Scope

    tokenizer = await tokenizer_of(workspace, request.model, model.spec.tokenizer)
    most = model.spec.window if request.max_tokens is None else request.max_tokens
    window = reviewer.opened(reviewer.Issue(request.title, request.body), tokenizer, most)
    await workspace.ready(explicit=True, wait_ms=request.wait_ms)
    search = searcher(workspace, tokenizer, Scope(request.exclude))
    return await reviewer.review(window, model, search, tell), tokenizer.name
