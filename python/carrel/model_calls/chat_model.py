"""Ask a chat model for a whole answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from carrel.model.conversation import Completion, Finish, Message, ToolCall, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, Sampling
from carrel.model.structs import whole_characters
from carrel.model_calls.model_call import guarded, within

_MOST_EMPTY = 1_000
"""Pieces without a character that an answer may have: one of nothing else would never end, nor let others work."""


async def complete(
    model: ChatModel, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
) -> Completion:
    """Gather a model's stream into one answer. Raises `ProviderError` when the model fails or breaks off."""
    text: list[str] = []
    calls: list[ToolCall] = []
    finish: Finish | None = None
    async for delta in model.stream(messages, tools, options):
        text.append(delta.text)
        calls += delta.calls
        finish = delta.finish or finish
    if finish is None:
        raise _broke_off(model)
    return Completion("".join(text), tuple(calls), finish)


async def short_reply(
    model: ChatModel, messages: Sequence[Message], *, longest: int, max_tokens: int, seconds: float | None
) -> str:
    """Return what a model says to a small request, asked at temperature 0: at most `longest` characters.

    Raises `ProviderError` where the model fails in any way, is late, withholds its answer, or says more: a longer answer isn't
    read to its end.
    """
    limit = max_tokens if model.spec.max_output is None else min(max_tokens, model.spec.max_output)
    options = Sampling(temperature=0.0, max_tokens=limit)
    name = f"The chat model {model.spec.id}"

    async def read() -> str:
        text, size, finish = list[str](), 0, None
        stream = model.stream(messages, (), options)
        try:
            async for delta in stream:
                text.append(delta.text)
                size += len(delta.text)
                if size > longest or len(text) > longest + _MOST_EMPTY:
                    raise ProviderError(f"{name} said more than {longest:,} characters.")
                finish = delta.finish or finish
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        if finish is None:
            raise _broke_off(model)
        if finish == "filter":
            raise ProviderError(f"{name} withheld its answer.")
        return whole_characters("".join(text))

    return await within(guarded(read(), name), seconds, name)


def _broke_off(model: ChatModel) -> ProviderError:
    return ProviderError(f"The chat model {model.spec.id} broke off in the middle of its answer.", retryable=True)
