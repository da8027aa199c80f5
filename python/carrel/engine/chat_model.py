"""Ask a chat model for a whole answer."""

from __future__ import annotations

from collections.abc import Sequence

from carrel.core.conversation import Completion, Message, ToolCall, ToolSpec
from carrel.core.ports import MODEL_DEFAULTS, ChatModel, Sampling


async def complete(
    model: ChatModel, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
) -> Completion:
    """Gather a model's stream into one answer. Raises `ProviderError` when the model fails; ends when it is cancelled."""
    text: list[str] = []
    calls: list[ToolCall] = []
    async for delta in model.stream(messages, tools, options):
        text.append(delta.text)
        calls += delta.calls
    return Completion("".join(text), tuple(calls))
