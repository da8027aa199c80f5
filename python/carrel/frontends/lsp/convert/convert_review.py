"""Between a review and the wire."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec import UNSET

from carrel.frontends.lsp.convert.convert_questions import UriOf, to_filters
from carrel.frontends.lsp.messages import review_messages as wire
from carrel.frontends.lsp.messages.question_messages import FiltersParam
from carrel.model.types import Hit
from carrel.service.asks import ReviewRequest

if TYPE_CHECKING:
    from carrel.agent.reviewer import Reviewed, Step
    from carrel.service.workspace import Workspace


def to_request(params: wire.ReviewParams) -> ReviewRequest:
    """Decode what was asked for; raises `InvalidInput` for an invalid glob, before a model is asked."""
    exclude = to_filters(FiltersParam(), params.exclude).exclude
    return ReviewRequest(params.title, params.body, exclude, params.model, params.max_tokens, params.wait_ms)


def from_step(step: Step, uri_of: UriOf) -> wire.ReviewStep:
    """Encode a step."""
    from carrel.agent import agent_steps, reviewer  # noqa: PLC0415 - the server starts without it

    match step:
        case reviewer.SearchStarted(query):
            return wire.ReviewStep(kind="searchStarted", query=query)
        case reviewer.SearchFinished(query, hits):
            return wire.ReviewStep(kind="searchFinished", query=query, places=_places(hits, uri_of))
        case agent_steps.AssistantMessage(text, answer):
            return wire.ReviewStep(kind="text", text=text, answer=answer)
        case agent_steps.AskedAgain(problem):
            return wire.ReviewStep(kind="askedAgain", problem=problem)


def from_reviewed(
    reviewed: Reviewed, uri_of: UriOf, tokenizer: str, workspace: Workspace, elapsed_ms: float
) -> wire.ReviewResult:
    """Encode a review."""
    answer = reviewed.answer
    return wire.ReviewResult(
        review=wire.ReviewAnswer(**dataclasses.asdict(answer), chunks_used=reviewed.chunks_used) if answer else UNSET,
        problem=UNSET if answer else reviewed.problem,
        raw_text=UNSET if answer else reviewed.raw,
        places=_places(reviewed.hits, uri_of),
        searches=reviewed.searches,
        largest_request=reviewed.largest,
        tokenizer=tokenizer,
        state=workspace.state(),
        pending=workspace.pending,
        elapsed_ms=elapsed_ms,
    )


def _places(hits: tuple[Hit, ...], uri_of: UriOf) -> tuple[wire.ReviewPlace, ...]:
    return tuple(
        wire.ReviewPlace(
            uri=uri_of(hit.chunk.path),
            path=hit.chunk.path,
            start_line=hit.chunk.span.start_line,
            end_line=hit.chunk.span.end_line,
            symbol=hit.chunk.symbol or UNSET,
            score=round(hit.score, 4),
        )
        for hit in hits
    )
