"""A chat model that several searches for one question ask the same: each request goes out once, and all get the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from carrel.model.conversation import Message, ToolSpec
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, ChatSpec, Delta, Sampling

LONGEST_REPLY = 100_000
"""Characters of a reply that are kept: who asked reads no more than a small part of it."""


class SharedModel:
    """Keeps the answers to one question's requests. `stop` it when the question is answered."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._replies: dict[tuple[tuple[str, str], ...], asyncio.Task[list[Delta]]] = {}

    @property
    def spec(self) -> ChatSpec:
        """Return what is known of the model."""
        return self._model.spec

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        """Give the answer, asked for by whoever wants it first. Whoever stops waiting takes it from nobody else."""
        key = tuple((message.role, message.text) for message in messages)
        if key not in self._replies:
            self._replies[key] = asyncio.create_task(self._ask(messages, tools, options))
        for delta in await asyncio.shield(self._replies[key]):
            yield delta

    def stop(self) -> None:
        """Give up whatever isn't answered yet."""
        for reply in self._replies.values():
            reply.cancel()
            reply.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Sampling) -> list[Delta]:
        deltas: list[Delta] = []
        size = 0
        async for delta in self._model.stream(messages, tools, options):
            deltas.append(delta)
            size += len(delta.text) + 1
            if size > LONGEST_REPLY:
                break
        return deltas
