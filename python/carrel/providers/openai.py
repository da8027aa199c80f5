"""Chat and embedding models of OpenAI and of whoever speaks its API: llama.cpp, vLLM, LM Studio, LiteLLM, OpenRouter, Azure (its
`/openai/v1`).

To chat, only `/chat/completions` with `stream` is used. A model's thinking (`reasoning_content`) is not part of its answer. For
embeddings with `HELICONE_API_KEY` set, and no base URL, OpenAI is asked through the proxy of Helicone, which a person
allows as a place of its own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.conversation import Message, ToolCall, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.outbound import Load, Outbound
from carrel.model.plain_data import as_dict, as_list, as_text, inner
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, EmbeddingSpec, Sampling
from carrel.providers import chat
from carrel.providers.embeddings import UNKNOWN, Kind, KnownModel, ServiceEmbedder, rows_by_index
from carrel.providers.event_stream import events
from carrel.providers.http import KeyAuth, ServiceClient, ServiceModel, Sleep, key_for
from carrel.providers.service import Service
from carrel.providers.tokenizers import ExactTokenizer, is_of_family
from carrel.settings.model_settings import USUAL, ModelSettings

SERVICES: Mapping[str, tuple[str, str]] = {
    "openai": ("OpenAI", "https://api.openai.com/v1"),
    "openrouter": ("OpenRouter", "https://openrouter.ai/api/v1"),
}
"""What each is called, and where it is asked unless `baseUrl` says otherwise."""
DEFAULT_MODEL = "gpt-4.1-mini"
REST_SECONDS = 3.0
"""How long the count of tokens, which comes after the end of an answer, is waited for."""
MOST_STOPS = 4

_MODELS: tuple[tuple[str, int, int], ...] = (
    (r"gpt-4\.1", 1_047_576, 32_768),
    (r"gpt-5-chat", 128_000, 16_384),
    (r"gpt-5", 400_000, 128_000),
    (r"gpt-4o|chatgpt-4o", 128_000, 16_384),
    (r"o[134](-mini|-pro)?", 200_000, 100_000),
    (r"gpt-4-turbo", 128_000, 4_096),
    (r"gpt-4", 8_192, 8_192),
    (r"gpt-3\.5-turbo", 16_385, 4_096),
    (r"claude-[\w.-]+", 200_000, 0),
    (r"gemini-[\w.-]+", 1_048_576, 0),
    (r"deepseek-(chat|reasoner)", 128_000, 8_192),
    (r"mistral-(large|medium|small)", 128_000, 0),
)
"""Window and longest answer (0: unknown) of models that only their makers serve: what one serves oneself has the window it was
started with."""
_THINKS = ("o1", "o3", "o4", "gpt-5")
_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


class Dialect(Struct, frozen=True):
    """What a service or model demands beside the common form."""

    thinks: bool = False
    """A model of OpenAI's that thinks: it takes no temperature and no stop, and counts its thinking as answer."""
    completion_tokens: bool = False
    """The longest answer is called `max_completion_tokens`."""


def openai_chat(provider: str, options: ModelSettings, outbound: Outbound) -> OpenAIChat:
    """Make a chat model of one of `SERVICES`, or of the service at `baseUrl`. Raises `InvalidInput`."""
    title, url = SERVICES[provider]
    home = Service(provider, title, url, "chat")
    service = chat.patient(replace(home, base_url=options.base_url or url))
    host = service.destination.host
    is_home = service.destination == home.destination
    if not is_home:
        service = replace(service, title="The chat service")
    model = options.model or (DEFAULT_MODEL if is_home and provider == "openai" else chat.required_model(options, "qwen3-coder"))
    azure = host.endswith(_AZURE)
    auth = key_for(outbound, service, options.key, is_home=is_home, header="api-key" if azure else "Authorization")
    window, longest = known_limits(model)
    spec = chat.spec_of(provider, model, options, window=window, max_output=longest, leaves_machine=service.leaves_machine)
    thinks = any(is_of_family(part, _THINKS) for part in model.split("/") if not part.lower().startswith("gpt-5-chat"))
    dialect = Dialect(thinks, completion_tokens=thinks or azure or (is_home and provider == "openai"))
    return OpenAIChat(ServiceClient(service, outbound, auth), model, spec, dialect)


def known_limits(model: str) -> tuple[int, int | None]:
    """Return the window of a model, and its longest answer where that is known."""
    for name, window, longest in _MODELS:
        if re.match(rf"(?:[\w.-]+/)*(?:{name})(?![a-z0-9])", model, re.IGNORECASE):
            return window, longest or None
    return chat.UNKNOWN_WINDOW, None


class OpenAIChat(ServiceModel):
    """A model behind `/chat/completions`."""

    def __init__(self, client: ServiceClient, model: str, spec: ChatSpec, dialect: Dialect = Dialect()) -> None:
        self.spec = spec
        super().__init__(client)
        self._model = model
        self._dialect = dialect
        self._counts: bool | None = None
        """Whether the service takes the wish for a count of tokens. Some refuse what they don't know."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece. One that is too long ends as `length`."""
        body = self._body(messages, tools, options)
        bill = chat.Bill(self._client, self.spec, len(messages), chat.characters_of(messages, body))
        calls, reason, ended = _Calls(), None, False
        deadline: float | None = None
        async with aclosing(self._events(body, bill)) as pieces:
            while True:
                try:
                    async with asyncio.timeout_at(deadline):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    break
                except (ProviderError, TimeoutError):
                    if reason:
                        break  # only the count of tokens is missing
                    raise
                if piece is None:
                    ended = True
                    break
                usage = piece.get("usage")
                if isinstance(usage, dict):
                    bill.prompt, bill.answer = usage.get("prompt_tokens"), usage.get("completion_tokens")
                choice = _choice(piece)
                if reason or choice is None:
                    continue
                said = choice.get("delta") or choice.get("message")
                text = _text(said)[: chat.MOST_CHARACTERS - bill.received]
                bill.received += len(text) + calls.add(said)
                if text:
                    yield Delta(text)
                reason = choice.get("finish_reason")
                if reason:
                    deadline = asyncio.get_running_loop().time() + REST_SECONDS
                elif bill.received >= chat.MOST_CHARACTERS or calls.full:
                    reason = "length"
                    break
        if not (reason or ended):
            raise ProviderError(f"{self._client.service.title} broke off in the middle of an answer.", retryable=True)
        made = calls.made()
        yield Delta(calls=made, finish=chat.finish_of(reason, made))

    async def _events(self, body: dict[str, Any], bill: chat.Bill) -> AsyncGenerator[dict[str, Any] | None, None]:
        """Give the answer's pieces, None at its announced end."""
        for wished in (True, False) if self._counts is None else (self._counts,):
            begun = False
            try:
                sent = {**body, "stream_options": {"include_usage": True}} if wished else body
                async with self._client.lines("/chat/completions", sent, bill.load) as lines:
                    begun, self._counts = True, wished
                    try:
                        async for piece in events(lines, self._client.service):
                            yield piece
                    finally:
                        bill.settle()
            except ProviderError as error:
                if begun or not wished or self._counts is not None or error.status not in (400, 422):
                    raise
            else:
                return

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Sampling) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": [_message(message) for message in messages], "stream": True}
        if tools and self.spec.tools:
            body["tools"] = [chat.as_function(tool) for tool in tools]
        longest = self.spec.max_output if options.max_tokens is None else options.max_tokens
        if longest is not None:
            longest = min(longest, self.spec.max_output or longest)
            longest += chat.THINKING_TOKENS if self._dialect.thinks and options.max_tokens is not None else 0
            body["max_completion_tokens" if self._dialect.completion_tokens else "max_tokens"] = longest
        if not self._dialect.thinks:
            if options.temperature is not None:
                body["temperature"] = options.temperature
            if options.stop:
                body["stop"] = list(options.stop[:MOST_STOPS])
        return body


class _Call(Struct):
    id: str = ""
    name: str = ""
    written: list[str] = field(default_factory=list)
    arguments: object = None
    """Those that came as an object instead of its JSON."""


class _Calls:
    """Calls of tools that come in pieces."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._numbered: dict[int, _Call] = {}

    @property
    def full(self) -> bool:
        """Tell whether there are more calls than any answer needs."""
        return len(self._calls) > chat.MOST_CALLS

    def add(self, said: object) -> int:
        """Take the calls of a piece; return how many characters they had."""
        return sum(self._add(piece) for piece in as_list(inner(said, "tool_calls")) if isinstance(piece, dict))

    def made(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id of its own."""
        made: list[ToolCall] = []
        for call in self._calls[: chat.MOST_CALLS]:
            others = {other.id for other in made}
            identity = call.id if call.id and call.id not in others else chat.made_up_id(others)
            written = "".join(call.written) if call.arguments is None else call.arguments
            made.append(ToolCall(identity, call.name, chat.read_arguments(written)))
        return tuple(made)

    def _add(self, piece: dict[str, Any]) -> int:
        function = as_dict(piece.get("function"))
        identity, name, arguments = as_text(piece.get("id")), as_text(function.get("name")), function.get("arguments")
        call = self._of(piece.get("index"), identity, name)
        call.id, call.name = call.id or identity, call.name or name
        if isinstance(arguments, str):
            call.written.append(arguments)
            return len(arguments)
        if arguments is not None:
            call.arguments = arguments
            return len(str(arguments))
        return 0

    def _of(self, index: object, identity: str, name: str) -> _Call:
        """Return the call that a piece belongs to. Some services number all calls 0, or none."""
        number = index if isinstance(index, int) else None
        last = self._numbered.get(number) if number is not None else (self._calls[-1] if self._calls else None)
        begins = bool(name) and (identity != last.id if last and identity else number is None)
        if last is not None and not begins:
            return last
        call = _Call()
        self._calls.append(call)
        if number is not None:
            self._numbered[number] = call
        return call


def _choice(piece: Mapping[str, Any]) -> dict[str, Any] | None:
    first = inner(piece, "choices", 0)
    return first if isinstance(first, dict) else None


def _text(said: object) -> str:
    """Return the words of a piece; some services send them in parts, or what they refuse apart."""
    content = inner(said, "content") or inner(said, "refusal")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(as_text(part.get("text")) for part in parts)
    return as_text(content)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": chat.name_for_service(call.name),
                "arguments": json.dumps(chat.sent_arguments(call), ensure_ascii=False),
            },
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


PROVIDER = "openai"
BASE_URL = "https://api.openai.com/v1"
HELICONE_URL = "https://oai.helicone.ai/v1"
HELICONE_KEY = "HELICONE_API_KEY"
MODEL = "text-embedding-3-small"
MAX_TEXTS = 100
MAX_TOKENS = 100_000
"""Of one request. OpenAI takes 300,000; what a cancel throws away was paid for."""
MODELS: Mapping[str, KnownModel] = {
    "text-embedding-3-small": KnownModel(1536, 8_191, 0.02),
    "text-embedding-3-large": KnownModel(3072, 8_191, 0.13),
    "text-embedding-ada-002": KnownModel(1536, 8_191, 0.10, floor=0.7),
}
"""OpenAI's own; the prices are those of November 2026, `price` overrides them. Cosines of ada-002 are hardly ever below 0.7."""


class HeliconeAuth(KeyAuth):
    """OpenAI's key, and that of the proxy before it."""

    def __init__(self, outbound: Outbound, place: str) -> None:
        super().__init__(outbound, PROVIDER, place)
        self._helicone = KeyAuth(outbound, "helicone", f"env:{HELICONE_KEY}", header="Helicone-Auth")

    async def headers(self) -> Mapping[str, str]:
        """Return both headers."""
        proxy = await self._helicone.headers()
        return {**await super().headers(), **{name: f"Bearer {value}" for name, value in proxy.items()}}


class OpenAIEmbedder(ServiceEmbedder):
    """Asks `/embeddings`."""

    def __init__(
        self,
        outbound: Outbound,
        options: ModelSettings = USUAL,
        *,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take what a person set; empty and 0 are the usual. Raises `InvalidInput` for a base URL that can't be used."""
        model = options.model or MODEL
        through_helicone = not options.base_url and outbound.keys.find("helicone", f"env:{HELICONE_KEY}") is not None
        service = Service(PROVIDER, "OpenAI", options.base_url or (HELICONE_URL if through_helicone else BASE_URL), "embedder")
        host = service.destination.host
        is_home = options.base_url.rstrip("/") in ("", BASE_URL)
        if not is_home:
            service = Service(PROVIDER, f"The embedding service at {host}", options.base_url, "embedder")
        facts = MODELS.get(model) or replace(UNKNOWN, longest=options.max_tokens or UNKNOWN.longest)
        auth = (
            HeliconeAuth(outbound, options.key) if through_helicone else key_for(outbound, service, options.key, is_home=is_home)
        )
        size = f":{options.dimensions}" if options.dimensions else ""
        spec = EmbeddingSpec(
            f"{PROVIDER}{'' if is_home else '@' + host}:{model}{size}",
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=options.max_texts or MAX_TEXTS,
            max_tokens=options.max_tokens or MAX_TOKENS,
            leaves_machine=service.leaves_machine,
            price=options.price or (facts.price if is_home else 0.0),
        )
        client = ServiceClient(service, outbound, auth, sleep=sleep, transport=transport)
        super().__init__(outbound, client, auth, spec, facts, ExactTokenizer() if model in MODELS else None)
        self._body: dict[str, Any] = {"model": model, "encoding_format": "base64"}
        """A quarter of the bytes, and no numbers to parse. Servers that don't know the format give numbers, which do as well."""
        if options.dimensions:
            self._body["dimensions"] = options.dimensions

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:  # noqa: ARG002 - the model knows no kinds
        rows = rows_by_index(await self._client.post("/embeddings", {**self._body, "input": list(texts)}, load))
        if rows is None:
            raise self._wrong("no embeddings")
        return rows
