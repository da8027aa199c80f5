"""The client as a model: the chat model that the person chose there, behind the port `ChatModel`, by `carrel/complete`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import UNSET, Struct
from pygls.exceptions import JsonRpcException

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages import chat_messages as wire
from carrel.frontends.lsp.messages.question_messages import ProgressToken
from carrel.frontends.lsp.messages.setup_messages import ConfirmParams, ConfirmResult
from carrel.frontends.lsp.rpc import CarrelServer
from carrel.model.conversation import Message, ToolCall, ToolSpec
from carrel.model.errors import Cancelled, InvalidInput, ProviderError
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, ChatSpec, Delta, Sampling
from carrel.model.remote import Confirmation
from carrel.model.structs import decode

METHOD = "carrel/complete"
CONFIRM = "carrel/confirm"
CLIENT_WINDOW = 32_000
"""Tokens that a client's model is taken to take, unless the request says how many."""
PATIENCE_SECONDS = 300.0
"""A model that says nothing for so long won't say anything any more."""

_CANCELLED = (-32800, -32802)
"""By the client itself, or because the server took its request back."""

Ask = Callable[[str, Any], asyncio.Future[Any]]
"""Sends a request; gives its result as plain data."""


class Asker(Protocol):
    """Whoever sends requests, as somebody to tell of partial results and to ask for a chat model."""

    @property
    def remedy(self) -> str:
        """What else a person can do where no chat model is set."""

    def model(self, token: ProgressToken | None) -> ChatModel | None:
        """Return the model that it means by this token; None where it lends none."""

    def report(self, token: ProgressToken | None, partial: Wire) -> None:
        """Take a partial result, if it was asked for."""


class Client:
    """The client of one connection."""

    remedy = "Searching, and context for another chat, need no model."

    def __init__(self, server: CarrelServer) -> None:
        self._server = server

    def model(self, token: ProgressToken | None) -> ClientModel | None:
        """Return the model that the client means by this token; None where it lends none."""
        if not announces(self._server.client_capabilities.experimental, "complete"):
            return None
        return ClientModel(self._server.protocol.ask_client, token)

    async def confirm(self, question: Confirmation) -> bool:
        """Have the person decide, however long they take. False where the client can't ask them, or gives the question back."""
        if not announces(self._server.client_capabilities.experimental, "confirm"):
            return False
        details = dict(question.details)
        params = ConfirmParams(what=question.what, risk=f"{question.risk}.", details=details, hash=question.hash)
        try:
            return decode(ConfirmResult, await self._server.protocol.ask_client(CONFIRM, params)).allowed
        except (JsonRpcException, InvalidInput):
            return False

    def report(self, token: ProgressToken | None, partial: Wire) -> None:
        """Send a partial result, if it was asked for."""
        if token is not None:
            self._server.protocol.send("$/progress", {"token": token, "value": partial})


def announces(experimental: object, what: str) -> bool:
    """Return whether a client's experimental capabilities say that it answers `carrel/<what>`."""
    carrel = experimental.get("carrel") if isinstance(experimental, Mapping) else None
    return isinstance(carrel, Mapping) and carrel.get(what) is True


class ClientModel(Struct, frozen=True):
    """The model that the client means by a token."""

    ask: Ask
    token: ProgressToken | None = None

    @property
    def spec(self) -> ChatSpec:
        """What is known of the model: the client keeps its provider to itself."""
        return ChatSpec("client", window=CLIENT_WINDOW, leaves_machine=True)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        options: Sampling = MODEL_DEFAULTS,  # noqa: ARG002 - `carrel/complete` has no options
    ) -> AsyncIterator[Delta]:
        """Have the client's model say what comes next, as one piece."""
        params = wire.CompleteParams(
            model_token=UNSET if self.token is None else self.token,
            messages=tuple(_from_message(message) for message in messages),
            tools=tuple(
                wire.ToolSpec(name=tool.name, description=tool.description, input_schema=dict(tool.schema)) for tool in tools
            ),
        )
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                raw = await self.ask(METHOD, params)
            result = decode(wire.CompleteResult, raw)
        except TimeoutError:
            raise ProviderError(f"The chat model didn't answer within {PATIENCE_SECONDS:g} s.", retryable=True) from None
        except JsonRpcException as error:
            if error.code in _CANCELLED:
                raise Cancelled("the client took the question to its chat model back") from None
            raise ProviderError(f"The chat model failed: {error.message}") from None
        except InvalidInput as error:
            raise ProviderError(f"The client's answer to {METHOD} can't be read: {error}") from None
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in result.tool_calls)
        yield Delta(result.text, calls, "tools" if calls else "stop")


def _from_message(message: Message) -> wire.ModelMessage:
    calls = (wire.ToolCall(id=call.id, name=call.name, arguments=dict(call.arguments)) for call in message.calls)
    return wire.ModelMessage(role=message.role, text=message.text, tool_calls=tuple(calls), tool_call_id=message.call_id or UNSET)
