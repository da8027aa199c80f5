"""Between an answer of a chat model and the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import UNSET

from carrel.frontends.common.wire import iso_time
from carrel.frontends.lsp.convert.convert_questions import UriOf, from_attempt
from carrel.frontends.lsp.messages import chat_messages as wire
from carrel.frontends.lsp.messages.compare_messages import WayAnswer, WayResult
from carrel.frontends.lsp.messages.question_messages import ContextResult
from carrel.model.conversation import Message
from carrel.model.errors import InvalidInput
from carrel.model.structs import whole_characters
from carrel.service.asks import Asked

if TYPE_CHECKING:
    from carrel.agent.agent_steps import Event, ToolFinished
    from carrel.agent.ask import Answered
    from carrel.agent.citations import Citation
    from carrel.pack.compare import Strategy


_LONGEST_SAID = 2_000
"""Characters of what a tool said that a step holds."""


def to_messages(params: wire.ChatParams) -> tuple[Message, ...]:
    """Decode the conversation. Raises `InvalidInput` where it doesn't end with a question."""
    messages = tuple(Message(one.role, whole_characters(one.content)) for one in params.messages if one.content.strip())
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
    chunks = [item.hit.chunk for item in event.result.given]
    return wire.ChatStep(
        kind="toolFinished",
        tool=event.name,
        arguments=dict(event.arguments),
        places=tuple(
            wire.ChatPlace(uri=uri_of(one.path), path=one.path, start_line=one.span.start_line, end_line=one.span.end_line)
            for one in chunks
        ),
        text=UNSET if chunks or event.result.is_error else event.result.text[:_LONGEST_SAID],
        problem=event.result.text if event.result.is_error else UNSET,
        repeated=event.repeated,
        elapsed_ms=event.milliseconds,
    )


def from_way(way: Strategy) -> WayResult:
    """Encode one side of a comparison."""
    return WayResult(tokens=way.tokens, elapsed_ms=way.milliseconds, files=way.files)


def from_answered(answered: Answered, strategy: Strategy) -> WayAnswer:
    """Encode an answer from one side of a comparison."""
    return WayAnswer(
        text=answered.text,
        files=tuple(dict.fromkeys(item.hit.chunk.path for item in strategy.items)),
        citations=len(answered.checked.citations),
        unverified=len(answered.checked.unsupported),
        prompt_tokens=answered.usage.prompt_tokens,
        answer_tokens=answered.usage.answer_tokens,
        elapsed_ms=answered.usage.milliseconds,
    )


def from_citations(citations: Iterable[Citation], uri_of: UriOf) -> tuple[wire.ChatCitation, ...]:
    """Encode checked citations."""
    return tuple(
        wire.ChatCitation(
            uri=uri_of(one.path),
            path=one.path,
            start_line=one.start_line,
            end_line=one.end_line,
            ok=one.ok,
            reason=one.reason or UNSET,
            version=one.version or UNSET,
            updated_at=iso_time(one.updated_at) if one.updated_at else UNSET,
        )
        for one in citations
    )


def from_asked(
    asked: Asked, uri_of: UriOf, pack: ContextResult, steps: tuple[wire.ChatStep, ...], elapsed_ms: float
) -> wire.ChatResult:
    """Encode an answer."""
    answered, usage = asked.answered, asked.answered.usage
    return wire.ChatResult(
        text=answered.text,
        citations=from_citations(answered.checked.citations, uri_of),
        usage=wire.ChatUsage(
            requests=usage.requests,
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            answer_tokens=usage.answer_tokens,
            largest_request=usage.largest,
            cost=UNSET if usage.cost is None else usage.cost,
            tokenizer=asked.tokenizer,
        ),
        pack=pack,
        steps=steps,
        problem=answered.problem or UNSET,
        cut=answered.finish == "length",
        limit=answered.limit or UNSET,
        elapsed_ms=elapsed_ms,
    )
