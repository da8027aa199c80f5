"""The issue reviewer on one workspace: its searches are questions like any other, on the interactive pool."""

# ruff: noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrel.core.types import Query
from carrel.server import queries

if TYPE_CHECKING:
    from carrel.core.ports import ChatModel, Tokenizer
    from carrel.engine.reviewer import Reviewed, Step
    from carrel.engine.search_tool import SearchArguments, SearchPage
    from carrel.server.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What to review, and within which limits. `max_tokens` None: as many as a review may take."""

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
    from carrel.engine import reviewer
    from carrel.engine.search_tool import page, to_filters

    tokenizer = await workspace.run_interactive(lambda _: _warm(workspace.tokenizer(request.model)))
    most = reviewer.MOST_TOKENS if request.max_tokens is None else request.max_tokens
    window = reviewer.opened(reviewer.Issue(request.title, request.body), tokenizer, most)
    await workspace.ready(explicit=True, wait_ms=request.wait_ms)

    async def search(asked: SearchArguments, tokens: int) -> SearchPage:
        # The index of this moment each time: the person may go on typing while a model thinks.
        query = Query(asked.query, asked.limit, to_filters(asked, request.exclude))
        found = await queries.search(workspace, query, 0, plan="off")  # the model plans its searches itself
        return await workspace.run_interactive(lambda _: page(found.hits, tokens, tokenizer))

    return await reviewer.review(window, model, search, tell), tokenizer.name


def _warm(tokenizer: Tokenizer) -> Tokenizer:
    """Have its table loaded on a thread: the review itself counts on the event loop."""
    tokenizer.count("warm")
    return tokenizer
