"""What the chat models of remote services share: bounds of an answer, calls of tools, and what an answer cost."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.model.conversation import Finish, Message, RawArguments, ToolCall, ToolSpec
from carrel.model.errors import InvalidInput
from carrel.model.outbound import Load
from carrel.model.patterns import as_name
from carrel.model.ports import ChatSpec
from carrel.providers.http import ServiceClient
from carrel.providers.service import Service
from carrel.providers.tokenizers import known_tokenizer
from carrel.settings.model_settings import ModelSettings

MOST_CHARACTERS = 400_000
"""The longest answer, its calls' arguments included; a model that repeats itself for ever is cut there."""
MOST_CALLS = 64
IDLE_SECONDS = 300.0
LOCAL_IDLE_SECONDS = 900.0
"""A model on this machine is loaded and reads a long prompt, for minutes without a graphics card, before it says anything."""
THINKING_TOKENS = 8_000
"""Added to the tokens that a caller allows for an answer, where the service counts the model's thinking too."""
UNKNOWN_WINDOW = 8_192
RESERVED_TOKENS = 4_096
"""Of an answer, whose cost is held until it is known; a longer one costs more than what was held."""


def spec_of(
    provider: str, model: str, options: ModelSettings, *, window: int, max_output: int | None, leaves_machine: bool
) -> ChatSpec:
    """Return what is known of a model; `window` and `max_output` count where the person set none."""
    return ChatSpec(
        f"{provider}:{model}",
        window=options.window or window,
        max_output=options.max_output or max_output,
        tools=options.tools is not False,
        tokenizer=known_tokenizer(model),
        leaves_machine=leaves_machine,
        price=options.price or (None if leaves_machine else 0.0),
        output_price=options.output_price or (None if leaves_machine else 0.0),
    )


def patient(service: Service) -> Service:
    """Return a service of chat models with how long it may say nothing."""
    return replace(service, idle_seconds=IDLE_SECONDS if service.leaves_machine else LOCAL_IDLE_SECONDS)


def required_model(options: ModelSettings, example: str) -> str:
    """Return the model's name. Raises `InvalidInput` where none is set."""
    if not options.model:
        raise InvalidInput("model", "is not set", f'Name the model, such as `model = "{example}"`.')
    return options.model


def as_function(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as OpenAI and Ollama are told of it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def name_for_service(name: str) -> str:
    """Return a tool's name as services take it: a model may have made one up that they refuse to be reminded of."""
    return as_name(name)[:64] or "unnamed"


def sent_arguments(call: ToolCall) -> Mapping[str, Any]:
    """Return a call's arguments as the model is reminded of them. Services refuse what is no JSON object."""
    if isinstance(call.arguments, RawArguments):
        return {"not_a_json_object": call.arguments.value}
    return call.arguments


def read_arguments(written: object) -> Mapping[str, Any]:
    """Return arguments that came as JSON or as an object; `RawArguments` where they are no JSON object."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}
    value = written
    if isinstance(written, str):
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            return RawArguments(written)
    if value is None:
        return {}
    return value if isinstance(value, dict) else RawArguments(written)


def made_up_id(others: Collection[str] = ()) -> str:
    """Return an id for a call that has none, unlike all others of its conversation."""
    while True:
        identity = f"call_{secrets.token_hex(8)}"
        if identity not in others:
            return identity


def finish_of(reason: object, calls: Sequence[ToolCall]) -> Finish:
    """Return why an answer ended by the words of the services, some of which say `stop` with calls."""
    if reason in ("length", "max_tokens", "model_length"):
        return "length"
    if reason in ("content_filter", "safety"):
        return "filter"
    return "tools" if calls else "stop"


def tokens_of(characters: int) -> int:
    """Estimate the tokens of so many characters."""
    return -(-characters // 4)


class Bill(Struct):
    """What one answer takes: an estimate before it is asked for, the rest when it has ended."""

    client: ServiceClient
    spec: ChatSpec
    messages: int
    sent: int
    """Characters of the request."""
    received: int = 0
    """Characters of the answer so far."""
    prompt: object = None
    """Tokens as the service counted them, None where it didn't."""
    answer: object = None

    @property
    def load(self) -> Load:
        """Return what is known before."""
        tokens = tokens_of(self.sent)
        return chat_load(self.spec, self.messages, self.sent, tokens)

    def settle(self) -> None:
        """Count what the estimate didn't hold. Called once for each answer that began."""
        before = self.load
        prompt = _count(self.prompt, before.tokens)
        answer = _count(self.answer, tokens_of(self.received))
        dollars = (prompt * (self.spec.price or 0.0) + answer * (self.spec.output_price or 0.0)) / 1e6
        self.client.used(Load(tokens=prompt + answer - before.tokens, dollars=dollars - before.dollars))


def chat_load(spec: ChatSpec, messages: int, characters: int, tokens: int) -> Load:
    """Return what a request to a chat model takes, with a reserve for its answer."""
    return Load(
        messages,
        characters,
        tokens,
        tokens * (spec.price or 0.0) / 1e6,
        reserve=min(spec.max_output or RESERVED_TOKENS, RESERVED_TOKENS) * (spec.output_price or 0.0) / 1e6,
        priced=spec.price is not None and spec.output_price is not None,
    )


def characters_of(messages: Sequence[Message], body: Mapping[str, Any]) -> int:
    """Return roughly how many characters a request has, without writing it."""
    tools = sum(len(json.dumps(tool)) for tool in body.get("tools", ()))
    return tools + sum(len(message.text) + sum(len(str(call.arguments)) for call in message.calls) for message in messages)


def _count(reported: object, estimate: int) -> int:
    is_count = isinstance(reported, int) and not isinstance(reported, bool) and 0 <= reported < 10**9
    return int(reported) if is_count and isinstance(reported, int) else estimate
