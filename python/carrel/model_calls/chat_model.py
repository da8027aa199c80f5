"""Ask a chat model for a whole answer.

Await what a model was asked for: a fault of any kind is a `ProviderError`, and nobody waits for a model that is late.

A chat model that several searches for one question ask the same: each request goes out once, and all get the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from typing import TypeVar

from carrel.model.conversation import Completion, Finish, Message, ToolCall, ToolSpec
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, ChatSpec, Delta, Sampling
from carrel.model.structs import whole_characters

T = TypeVar("T")


async def settled(work: Awaitable[T], seconds: float | None) -> asyncio.Future[T] | None:
    """Await work for so long and return it done; None where it is late.

    Work that isn't done by then is cancelled and left behind: it may not heed the cancel.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        return task if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def within(work: Awaitable[T], seconds: float | None, model: str) -> T:
    """Await work for so long; raises `ProviderError` that names the model where it is late or gave its work up."""
    done = await settled(work, seconds)
    if done is None:
        raise ProviderError(f"{model} didn't answer within {seconds:.3g} s.", retryable=True)
    if done.cancelled():
        raise ProviderError(f"{model} gave its request up.", retryable=True)
    return done.result()


async def guarded(work: Awaitable[T], model: str) -> T:
    """Await work; raises `ProviderError` for whatever its model raises that isn't in the error tree."""
    try:
        return await work
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:  # the last would end the loop that others share
        raise ProviderError(f"{model} failed: {type(error).__name__}.") from error


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
