"""Ask a chat model for a whole answer."""

from __future__ import annotations

from collections.abc import Sequence

from carrel.core.conversation import Completion, Finish, Message, ToolCall, ToolSpec
from carrel.core.errors import ProviderError
from carrel.core.ports import MODEL_DEFAULTS, ChatModel, Sampling


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
        raise ProviderError(f"The chat model {model.spec.id} broke off in the middle of its answer.", retryable=True)
    return Completion("".join(text), tuple(calls), finish)
