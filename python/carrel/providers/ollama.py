"""Models that Ollama serves, by its own API: the one compatible with OpenAI's can't say how long the window shall be.

Its API also says which models are there, and shortens what is too long for an embedding.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from carrel.model.conversation import Message, ToolCall, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.outbound import Load, Outbound
from carrel.model.plain_data import as_dict, as_list, as_text, inner, read_json
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, EmbeddingSpec, Sampling
from carrel.providers import chat
from carrel.providers.embeddings import Kind, KnownModel, ServiceEmbedder
from carrel.providers.event_stream import fault_within
from carrel.providers.http import MOST_BYTES, ServiceClient, ServiceModel, Sleep, key_for
from carrel.providers.service import Service
from carrel.settings.model_settings import USUAL, ModelSettings

BASE_URL = "http://localhost:11434"


def ollama_chat(options: ModelSettings, outbound: Outbound) -> OllamaChat:
    """Make a chat model of the Ollama at `baseUrl`. Raises `InvalidInput`."""
    model = chat.required_model(options, "qwen3")
    service = chat.patient(Service("ollama", "Ollama", _address(options), "chat"))
    spec = chat.spec_of(
        "ollama", model, options, window=chat.UNKNOWN_WINDOW, max_output=None, leaves_machine=service.leaves_machine
    )
    return OllamaChat(ServiceClient(service, outbound, key_for(outbound, service, options.key, is_home=False)), model, spec)


def _address(options: ModelSettings) -> str:
    """Return where Ollama is: people know the address of its other API, too."""
    return (options.base_url or BASE_URL).rstrip("/").removesuffix("/v1").removesuffix("/api")


class OllamaChat(ServiceModel):
    """A model behind `/api/chat`. Its window is the one that is set: Ollama reserves memory for what it is asked for."""

    def __init__(self, client: ServiceClient, model: str, spec: ChatSpec) -> None:
        self.spec = spec
        super().__init__(client)
        self._model = model
        self._abilities: frozenset[str] | None = None

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece. One that is too long ends as `length`."""
        abilities = await self._capabilities()
        tools = tools if self.spec.tools else ()
        if tools and abilities and "tools" not in abilities:
            raise ProviderError(
                f"The model {self._model} can't call tools", "Set `model` to one that can, or `tools` of the model to false."
            )
        body = self._body(messages, tools, options)
        bill = chat.Bill(self._client, self.spec, len(messages), chat.characters_of(messages, body))
        calls: dict[str, ToolCall] = {}
        reason: object = None
        read = 0
        try:
            async with self._client.lines("/api/chat", body, bill.load) as lines:
                try:
                    async for line in lines:
                        read += len(line) + 1  # an empty one counts too
                        piece = self._piece(line, read)
                        said = as_dict(piece.get("message"))
                        text = as_text(said.get("content"))[: chat.MOST_CHARACTERS - bill.received]
                        bill.received += len(text) + _add(said.get("tool_calls"), calls)
                        if text:
                            yield Delta(text)
                        if piece.get("done"):
                            bill.prompt, bill.answer = piece.get("prompt_eval_count"), piece.get("eval_count")
                            reason = piece.get("done_reason") or "stop"
                            break
                        if bill.received >= chat.MOST_CHARACTERS or len(calls) > chat.MOST_CALLS:
                            reason = "length"
                            break
                finally:
                    bill.settle()
        except ProviderError as error:
            raise self._named(error) from None
        if reason is None:
            raise ProviderError("Ollama broke off in the middle of an answer.", retryable=True)
        made = tuple(calls.values())[: chat.MOST_CALLS]
        yield Delta(calls=made, finish=chat.finish_of(reason, made))

    async def _capabilities(self) -> frozenset[str]:
        """Return what the model can do, asked once; a window that is longer than its own is cut to that."""
        if self._abilities is None:
            try:
                shown = await self._client.post("/api/show", {"model": self._model})
            except ProviderError as error:
                raise self._named(error) from None
            longest = _context_length(inner(shown, "model_info"))
            if longest and longest < self.spec.window:
                self.spec = replace(self.spec, window=longest)
            self._abilities = frozenset(filter(None, map(as_text, as_list(inner(shown, "capabilities")))))
        return self._abilities

    def _named(self, error: ProviderError) -> ProviderError:
        """Return the error, with what to do about a model that isn't there."""
        if error.status != 404:
            return error
        return ProviderError(f"Ollama has no model {self._model}", f"Get it with `ollama pull {self._model}`.", status=404)

    def _piece(self, line: str, read: int) -> Mapping[str, Any]:
        if read > MOST_BYTES:
            raise ProviderError(f"Ollama sent more than {MOST_BYTES // 1_000_000} MB in one answer.")
        if not line.strip():
            return {}
        piece = read_json(line)
        if not isinstance(piece, dict):
            raise ProviderError("Ollama answered with something that is not JSON", "Check `baseUrl`.")
        if piece.get("error"):
            raise fault_within(piece, self._client.service)
        return piece

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Sampling) -> dict[str, Any]:
        longest = self.spec.max_output if options.max_tokens is None else options.max_tokens
        chosen: dict[str, Any] = {"num_ctx": self.spec.window}
        if longest is not None:
            thinks = "thinking" in (self._abilities or ()) and options.max_tokens is not None
            chosen["num_predict"] = min(longest, self.spec.max_output or longest) + (chat.THINKING_TOKENS if thinks else 0)
        if options.temperature is not None:
            chosen["temperature"] = options.temperature
        if options.stop:
            chosen["stop"] = list(options.stop)
        names = {call.id: call.name for message in messages for call in message.calls}
        said = [_message(message, names) for message in messages]
        body: dict[str, Any] = {"model": self._model, "messages": said, "stream": True, "options": chosen}
        if tools:
            body["tools"] = [chat.as_function(tool) for tool in tools]
        return body


def _message(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        made["tool_name"] = chat.name_for_service(names.get(message.call_id, ""))
    if message.calls:
        made["tool_calls"] = [
            {"function": {"name": chat.name_for_service(call.name), "arguments": dict(chat.sent_arguments(call))}}
            for call in message.calls
        ]
    return made


def _add(pieces: object, calls: dict[str, ToolCall]) -> int:
    """Take the calls of a piece, which are whole, by their ids, until there are too many. Return their characters."""
    added = 0
    for piece in pieces if isinstance(pieces, list) else ():
        if len(calls) > chat.MOST_CALLS:
            break
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            continue
        name, written = function.get("name"), function.get("arguments")
        identity = piece.get("id")
        identity = identity if isinstance(identity, str) and identity and identity not in calls else chat.made_up_id(calls)
        calls[identity] = ToolCall(identity, name if isinstance(name, str) else "", chat.read_arguments(written))
        added += len(str(written))
    return added


def _context_length(info: object) -> int:
    """Return the longest window that a model has, which stands under the name of its architecture."""
    if not isinstance(info, dict):
        return 0
    lengths = (value for name, value in info.items() if str(name).endswith(".context_length"))
    return next((value for value in lengths if isinstance(value, int) and value > 0), 0)


PROVIDER = "ollama"
MODEL = "nomic-embed-text"
MAX_TEXTS = 32
"""A laptop's processor takes some seconds for so many."""
_SEARCH = "Represent this sentence for searching relevant passages: "
MODELS: Mapping[str, KnownModel] = {
    "all-minilm": KnownModel(384, 256),
    "bge-m3": KnownModel(1024),
    "embeddinggemma": KnownModel(768, 2_048, prefixes=("task: search result | query: ", "title: none | text: ")),
    "mxbai-embed-large": KnownModel(1024, 512, floor=0.4, prefixes=(_SEARCH, "")),
    "nomic-embed-text": KnownModel(768, 2_048, floor=0.4, prefixes=("search_query: ", "search_document: ")),
    "snowflake-arctic-embed": KnownModel(1024, 512, prefixes=(_SEARCH, "")),
}
"""With the tags that are pulled where none is named."""


class OllamaEmbedder(ServiceEmbedder):
    """Asks `/api/embed`."""

    def __init__(
        self,
        outbound: Outbound,
        options: ModelSettings = USUAL,
        *,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take what a person set; empty and 0 are the usual. Raises `InvalidInput` for a base URL that can't be used."""
        model = (options.model or MODEL).removesuffix(":latest")
        name = model.replace("{", "{{").replace("}", "}}")
        missing = (f"Ollama doesn't have the model {name} ({{1}})", f"Run `ollama pull {name}`.", False)
        service = Service(PROVIDER, "Ollama", _address(options), "embedder", refusals={404: missing})
        facts = MODELS.get(model, KnownModel(0))
        host = "" if not service.leaves_machine else f"@{service.destination.host}"
        spec = EmbeddingSpec(
            f"{PROVIDER}{host}:{model}" + (f":{options.dimensions}" if options.dimensions else ""),
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=options.max_texts or MAX_TEXTS,
            max_tokens=options.max_tokens or None,
            leaves_machine=service.leaves_machine,
            price=options.price,
        )
        auth = key_for(outbound, service, options.key, is_home=False)
        client = ServiceClient(service, outbound, auth, sleep=sleep, transport=transport)
        super().__init__(outbound, client, auth, spec, facts)
        self._body: dict[str, Any] = {"model": model, "truncate": True}
        if options.dimensions:
            self._body["dimensions"] = options.dimensions

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:  # noqa: ARG002 - prefixes tell kinds apart
        answer = await self._client.post("/api/embed", {**self._body, "input": list(texts)}, load)
        rows = answer.get("embeddings") if isinstance(answer, Mapping) else None
        if not isinstance(rows, list):
            raise self._wrong("no embeddings")
        return rows
