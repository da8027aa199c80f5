"""Encode the answer of a chat model, and a review, for the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType, structs

from carrel.frontends.common.wire import encode, iso_time
from carrel.frontends.lsp.convert.convert_questions import UriOf, from_attempt, to_filters
from carrel.frontends.lsp.messages import chat_messages as wire
from carrel.frontends.lsp.messages.question_messages import ContextResult, FiltersParam
from carrel.model.conversation import Message
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.structs import whole_characters
from carrel.model.types import Chunk, Hit
from carrel.service.asks import AskAnswer, ReviewRequest

if TYPE_CHECKING:
    from carrel.agent.agent_steps import Event, ToolFinished
    from carrel.agent.ask import Answered
    from carrel.agent.citations import Citation
    from carrel.agent.reviewer import Reviewed, Step
    from carrel.pack.compare import Strategy
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
        review=wire.ReviewAnswer(**structs.asdict(answer), chunks_used=reviewed.chunks_used) if answer else UNSET,
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
        wire.ReviewPlace(**_place(hit.chunk, uri_of), symbol=hit.chunk.symbol or UNSET, score=round(hit.score, 4)) for hit in hits
    )


def _place(chunk: Chunk, uri_of: UriOf) -> dict[str, Any]:
    """Return the fields of `Place`."""
    span = chunk.span
    return {"uri": uri_of(chunk.path), "path": chunk.path, "start_line": span.start_line, "end_line": span.end_line}


_LONGEST_SAID = 2_000
"""Characters of what a tool said that a step holds."""


def to_messages(params: wire.ChatParams) -> tuple[Message, ...]:
    """Decode the conversation. Raises `InvalidInput` where it doesn't end with a question."""
    messages = tuple(
        Message(message.role, whole_characters(message.content)) for message in params.messages if message.content.strip()
    )
    if not messages or messages[-1].role != "user":
        raise InvalidInput("messages", "must end with a question of the user")
    return messages


def from_event(event: Event, uri_of: UriOf) -> wire.ChatStep | None:
    """Encode a step; None for what the others say already."""
    from carrel.agent import agent_steps as steps  # noqa: PLC0415 - the server starts without it
    from carrel.assist.assessment import Attempt  # noqa: PLC0415 - likewise

    made: wire.ChatStep | None = None
    match event:
        case Attempt():
            made = wire.ChatStep(kind="assessed", attempt=from_attempt(event))
        case steps.ModelAsked(step, tokens):
            made = wire.ChatStep(kind="asked", step=step, tokens=tokens)
        case steps.TextDelta(text):
            made = wire.ChatStep(kind="text", text=text)
        case steps.ToolStarted(name, arguments):
            made = wire.ChatStep(kind="toolStarted", tool=name, arguments=dict(arguments))
        case steps.ToolFinished():
            made = _finished(event, uri_of)
        case steps.CallRefused(name, problem):
            made = wire.ChatStep(kind="toolRefused", tool=name, problem=problem)
        case steps.Repaired(what):
            made = wire.ChatStep(kind="repaired", text=what)
        case steps.LimitReached(limit):
            made = wire.ChatStep(kind="limit", limit=limit)
        case steps.AskedAgain(problem):
            made = wire.ChatStep(kind="askedAgain", problem=problem)
    return made


def _finished(event: ToolFinished, uri_of: UriOf) -> wire.ChatStep:
    chunks = [item.hit.chunk for item in event.result.items]
    return wire.ChatStep(
        kind="toolFinished",
        tool=event.name,
        arguments=dict(event.arguments),
        places=tuple(wire.ChatPlace(**_place(chunk, uri_of)) for chunk in chunks),
        text=UNSET if chunks or event.result.is_error else event.result.text[:_LONGEST_SAID],
        problem=event.result.text if event.result.is_error else UNSET,
        repeated=event.repeated,
        elapsed_ms=event.milliseconds,
    )


def from_way(way: Strategy, lines: int | UnsetType = UNSET) -> wire.WayResult:
    """Encode one side of a comparison."""
    return encode(wire.WayResult, way, lines=lines, elapsed_ms=way.milliseconds, fitting=len(way.fitting))


def from_answered(answered: Answered | ProviderError, strategy: Strategy) -> wire.WayAnswer:
    """Encode an answer from one side of a comparison, or why there is none."""
    if isinstance(answered, ProviderError):
        return wire.WayAnswer(files=strategy.fitting, problem=str(answered))
    return wire.WayAnswer(
        text=answered.text,
        files=strategy.fitting,
        citations=len(answered.checked.citations),
        unverified=len(answered.checked.unsupported),
        prompt_tokens=answered.usage.prompt_tokens,
        answer_tokens=answered.usage.answer_tokens,
        elapsed_ms=answered.usage.milliseconds,
    )


def from_citations(citations: Iterable[Citation], uri_of: UriOf) -> tuple[wire.ChatCitation, ...]:
    """Encode checked citations."""
    return tuple(
        encode(
            wire.ChatCitation,
            citation,
            uri=uri_of(citation.path),
            updated_at=iso_time(citation.updated_at) if citation.updated_at else None,
        )
        for citation in citations
    )


def from_asked(
    answer: AskAnswer, uri_of: UriOf, pack: ContextResult, steps: tuple[wire.ChatStep, ...], elapsed_ms: float
) -> wire.ChatResult:
    """Encode an answer."""
    answered, usage = answer.answered, answer.answered.usage
    return wire.ChatResult(
        text=answered.text,
        citations=from_citations(answered.checked.citations, uri_of),
        usage=encode(wire.ChatUsage, usage, largest_request=usage.largest, tokenizer=answer.tokenizer),
        pack=pack,
        steps=steps,
        problem=answered.problem or UNSET,
        cut=answered.finish == "length",
        limit=answered.limit or UNSET,
        elapsed_ms=elapsed_ms,
    )
