"""A plain chat model (`config`) behind Carrel's port, for whatever takes a port: questions, reviews.

A plain call blocks, so that it runs on a thread of its own, one call at a time: many local models can't bear two. Coroutine
functions are awaited and may overlap. A cancel ends the wait at once; a call that blocks ends by itself.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from carrel.extensions.rag.calls import cause_of, checked_piece, may_pass, pieces
from carrel.extensions.rag.config import AskModel
from carrel.model.conversation import Message, ToolSpec
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, Sampling


class ChatModelPort:
    """A plain chat model behind the `ChatModel` port, without tools.

    It takes one system and one user prompt: what was said before stands in the user prompt as a transcript.
    """

    def __init__(self, model: AskModel, spec: ChatSpec) -> None:
        self.spec = replace(spec, tools=False)
        self._model, self._caller = model, _Caller()

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),  # noqa: ARG002 - it knows none
        options: Sampling = MODEL_DEFAULTS,
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece. Raises `ProviderError`."""
        limits = [most for most in (options.max_tokens, self.spec.max_output) if most is not None]
        answer = await self._caller.call(
            self._model.ask,
            system_prompt="\n\n".join(message.text for message in messages if message.role == "system"),
            user_prompt=transcript([message for message in messages if message.role != "system"]),
            temperature=0.3 if options.temperature is None else options.temperature,
            max_new_tokens=min(limits) if limits else self.spec.window // 4,
            stream=True,
            **({"stop": list(options.stop)} if options.stop else {}),
        )
        if isinstance(answer, AsyncIterable):
            async for piece in _async_pieces(answer):
                yield Delta(piece)
        else:
            iterator = pieces(answer)
            try:
                while (piece := await self._caller.call(next, iterator, None)) is not None:
                    yield Delta(piece)
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    self._caller.later(close)
        yield Delta(finish="stop")


def transcript(messages: Sequence[Message]) -> str:
    """Return a conversation as one text; a single message as it is."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].text
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages)


class _Caller:
    """Calls plain functions on one thread, and awaits coroutine functions."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what it gives. Raises only errors of the tree."""
        try:
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                answer = function(*args, **kwargs)
            else:
                answer = await asyncio.get_running_loop().run_in_executor(self._thread(), lambda: function(*args, **kwargs))
            return await answer if inspect.isawaitable(answer) else answer
        except CarrelError:
            raise
        except (Exception, SystemExit) as error:
            raise ProviderError(f"The model failed: {cause_of(error)}", retryable=may_pass(error)) from error

    def later(self, function: Callable[[], Any]) -> None:
        """Call a function when those before it have ended, without waiting."""
        self._thread().submit(function)

    def _thread(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="carrel-plain")
        return self._pool


async def _async_pieces(answer: AsyncIterable[Any]) -> AsyncIterator[str]:
    try:
        async for piece in answer:
            yield checked_piece(piece)
    except CarrelError:
        raise
    except (Exception, SystemExit) as error:
        raise ProviderError(f"The model failed: {cause_of(error)}", retryable=may_pass(error)) from error
