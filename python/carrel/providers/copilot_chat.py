"""Chat models of GitHub Copilot, through its SDK (extra `copilot`), which starts Copilot's own program and talks to it.

That program has a loop of its own: it asks the model, runs tools, and asks again. Here its tools have no handler. A tool that the
model wants becomes a call of this port, the session waits, and the next request, which brings the results, lets it go on. So
one loop, Carrel's, decides what is run. Any other conversation begins a session, with what was said before as text. The
program is offered none of its own tools, reads no instructions or settings of a workspace, and works in an empty folder.

What it can't do: temperature, length and stop can't be chosen; calls of unknown tools, and arguments that are no JSON object, are
answered by the program itself, and so are failures of the service, which it tries again for some 15 s.
"""

# ruff: noqa: PLC0415 - the SDK takes seconds to import
from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.model.conversation import Message, ToolCall, ToolSpec
from carrel.model.errors import CarrelError, ProviderError
from carrel.model.outbound import Admission, Destination, Load, Outbound, Secret, Sent, admitted, note
from carrel.model.ports import MODEL_DEFAULTS, ChatSpec, Delta, Sampling
from carrel.model.structs import whole_characters
from carrel.providers import chat
from carrel.providers.copilot_program import NOT_SIGNED_IN, Connect, Program, connect
from carrel.providers.service import Service, as_code, refusal
from carrel.settings.model_settings import ModelSettings

BASE_URL = "https://api.githubcopilot.com"
DEFAULT_MODEL = "gpt-4.1"
WINDOW = 128_000


def copilot_chat(options: ModelSettings, outbound: Outbound) -> CopilotChat:
    """Make a chat model of Copilot, or of the OpenAI-compatible service at `baseUrl` by its program. Raises `InvalidInput`."""
    service = Service("copilot", "Copilot", options.base_url or BASE_URL, "chat")
    model = options.model or DEFAULT_MODEL
    spec = chat.spec_of("copilot", model, options, window=WINDOW, max_output=None, leaves_machine=service.leaves_machine)
    return CopilotChat(service, model, spec, options.key, outbound)


class CopilotChat:
    """A model behind Copilot's program. Used from any event loop: each has a program of its own."""

    def __init__(
        self,
        service: Service,
        model: str,
        spec: ChatSpec,
        key: str,
        outbound: Outbound,
        connect: Connect = connect,
    ) -> None:
        self.spec = spec
        self._service = service
        self._model = model
        self._key = key
        self._outbound = outbound
        self._connect = connect
        self._programs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Program[_Session]] = weakref.WeakKeyDictionary()

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where text is sent."""
        return (self._service.destination,)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        options: Sampling = MODEL_DEFAULTS,  # noqa: ARG002 - the SDK has no such options
    ) -> AsyncIterator[Delta]:
        """Give the answer piece by piece; it ends with calls where the program waits for tools."""
        (destination,) = self.destinations
        self._outbound.permissions.check(destination)
        program = self._program()
        session = program.take(lambda waiting: bool(waiting.results(messages)))
        sent = sum(len(message.text) for message in (messages if session is None else session.results(messages)))
        load = chat.chat_load(self.spec, len(messages), sent, chat.tokens_of(sent))
        load = load if self._own_model else replace(load, priced=True)  # its subscription is paid, not its tokens
        waits = False
        admission: Admission | None = None
        with program.used():
            try:
                admission = await admitted(self._outbound.meter, destination, load)
                note(Sent(destination, "chat", load, sent))
                if session is None:
                    session = await self._begin(program, messages, tools if self.spec.tools else ())
                else:
                    await session.answer(messages)
                admission.taken()
                async for piece in session.read():
                    waits = bool(piece.calls)
                    yield piece
            except asyncio.CancelledError:
                raise
            except Exception as error:
                raise self._remembered_failure(error) from None
            finally:
                if session is not None:
                    if admission is not None:
                        self._count(destination, load, session)
                    program.keep(session) if waits else program.discard(session)
                if admission is not None:
                    admission.ended()

    async def aclose(self) -> None:
        """End the program of the running event loop."""
        program = self._programs.pop(asyncio.get_running_loop(), None)
        if program is not None:
            await program.stop()

    def _remembered_failure(self, error: Exception) -> CarrelError:
        """Return what is said of a failure, and remember it. What the SDK raises may quote what was said."""
        if not isinstance(error, CarrelError):
            error = ProviderError(f"Copilot's program failed ({type(error).__name__}).", retryable=True)
        self._outbound.meter.failed(self._service.destination, str(error))
        return error

    def _program(self) -> Program[_Session]:
        loop = asyncio.get_running_loop()
        if loop not in self._programs:
            self._programs[loop] = Program(self._start)
        return self._programs[loop]

    @property
    def _own_model(self) -> bool:
        return self._service.base_url != BASE_URL

    async def _find_key(self) -> Secret | None:
        """Return GitHub's token, or the key of one's own service, which has to be named."""
        place = self._key or ("none" if self._own_model else "")
        return None if place == "none" else await asyncio.to_thread(self._outbound.keys.find, "copilot", place)

    async def _start(self) -> Any:
        token = None if self._own_model else await self._find_key()
        client = await self._connect(token, self._outbound.proxy, self._own_model)
        if not self._own_model and not (await client.get_auth_status()).isAuthenticated:
            await client.stop()
            raise ProviderError(*NOT_SIGNED_IN)
        return client

    async def _begin(self, program: Program[_Session], messages: Sequence[Message], tools: Sequence[ToolSpec]) -> _Session:
        client = await program.client()
        from copilot import Tool

        more = {"skip_permission": True, "overrides_built_in_tool": True}
        chosen: dict[str, Any] = {}
        if self._own_model:
            chosen["provider"] = {"type": "openai", "base_url": self._service.base_url, "wire_api": "completions"}
            if (key := await self._find_key()) is not None:
                if not self._service.encrypted:
                    raise ProviderError("The key was not sent: it would not be encrypted", "Set a baseUrl with https://.")
                chosen["provider"]["api_key"] = key.reveal()
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        try:
            made = await client.create_session(
                model=self._model,
                tools=[Tool(tool.name, tool.description, parameters=dict(tool.schema), **more) for tool in tools],
                available_tools=[f"custom:{tool.name}" for tool in tools],
                system_message={"mode": "replace", "content": whole_characters(system)},
                streaming=True,
                client_name="carrel",
                **_NOTHING_ELSE,
                **chosen,
            )
        except Exception:
            program.forget()  # it may have ended
            raise
        session = _Session(client, made, self._service)
        await made.send(whole_characters(_prompt(messages)))
        return session

    def _count(self, destination: Destination, load: Load, session: _Session) -> None:
        prompt, answer = session.prompt_tokens or load.tokens, session.answer_tokens or chat.tokens_of(session.received)
        dollars = (prompt * (self.spec.price or 0.0) + answer * (self.spec.output_price or 0.0)) / 1e6
        more = Load(tokens=prompt + answer - load.tokens, dollars=dollars - load.dollars, requests=0)
        note(Sent(destination, "chat", more))
        self._outbound.meter.record(destination, more)


_NOTHING_ELSE: Mapping[str, Any] = {
    "infinite_sessions": {"enabled": False},
    "enable_session_telemetry": False,
    "skip_custom_instructions": True,
    "skip_embedding_retrieval": True,
    "memory": {"enabled": False},
    "enable_skills": False,
    "enable_file_hooks": False,
    "enable_host_git_operations": False,
    "enable_session_store": False,
    "enable_on_demand_instruction_discovery": False,
    "custom_agents_local_only": True,
}
"""A session of a model and the tools that it is given."""


class _Session(Struct):
    """One conversation that the program has."""

    client: Any
    made: Any
    service: Service
    events: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    requests: dict[str, str] = field(default_factory=dict)
    """Requests of the program that wait, by the ids of the calls that were made of them."""
    received: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    idle: bool = False

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.made.on(lambda event: loop.call_soon_threadsafe(self.events.put_nowait, event))

    def results(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages that answer all calls that wait, where the conversation ends with these and nothing else."""
        last = list(messages[-len(self.requests) :]) if self.requests else []
        return last if {message.call_id for message in last if message.role == "tool"} == set(self.requests) else []

    async def answer(self, messages: Sequence[Message]) -> None:
        """Give the program the results."""
        from copilot.rpc import HandlePendingToolCallRequest

        for message in self.results(messages):
            waiting, text = self.requests.pop(message.call_id), whole_characters(message.text)
            await self.made.rpc.tools.handle_pending_tool_call(HandlePendingToolCallRequest(request_id=waiting, result=text))
        self.received = self.prompt_tokens = self.answer_tokens = 0

    async def read(self) -> AsyncIterator[Delta]:
        """Give the pieces of the next answer."""
        calls: list[ToolCall] = []
        expected: set[str] = set()
        reason: object = None
        streamed: set[str] = set()
        while True:
            event = await self._next()
            data, kind = event.data, str(getattr(event.type, "value", event.type))
            text = ""
            if getattr(event, "agent_id", None):
                continue
            match kind:
                case "assistant.message_delta":
                    text = data.delta_content
                    streamed.add(data.message_id)
                case "assistant.message":
                    text = "" if data.message_id in streamed else data.content
                    expected |= {item.tool_call_id for item in data.tool_requests or ()}
                case "assistant.usage":
                    self.prompt_tokens += int(data.input_tokens or 0)
                    self.answer_tokens += int(data.output_tokens or 0)
                    reason = data.finish_reason or reason
                case "external_tool.requested":
                    identity = chat.made_up_id(self.requests)
                    self.requests[identity] = data.request_id
                    arguments = data.arguments if isinstance(data.arguments, dict) else {}
                    calls.append(ToolCall(identity, data.tool_name, arguments))
                    expected.discard(data.tool_call_id)
                case "tool.execution_complete":  # of one that the program answered by itself
                    expected.discard(data.tool_call_id)
                case "session.error":
                    raise _failure(data, self.service)
                case "session.idle":
                    self.idle = True
                    yield Delta(finish=chat.finish_of(reason, ()))
                    return
            text = text[: chat.MOST_CHARACTERS - self.received]
            self.received += len(text)
            if text:
                yield Delta(text)
            if self.received >= chat.MOST_CHARACTERS:
                yield Delta(finish="length")
                return
            if calls and not expected:
                yield Delta(calls=tuple(calls), finish="tools")
                return

    async def end(self) -> None:
        """Stop the program's work on it, and have it keep nothing of what was said."""
        with suppress(Exception):
            async with asyncio.timeout(10):
                if not self.idle:
                    await self.made.abort()
                await self.made.disconnect()
                await self.client.delete_session(self.made.session_id)

    async def _next(self) -> Any:
        try:
            async with asyncio.timeout(chat.IDLE_SECONDS):
                return await self.events.get()
        except TimeoutError:
            raise ProviderError(f"Copilot's program said nothing for {chat.IDLE_SECONDS:g} s.", retryable=True) from None


def _failure(data: Any, service: Service) -> ProviderError:
    """Say what the program reports. Its words are not repeated: they may quote what was sent."""
    word = as_code(data.error_type)
    status = data.status_code if isinstance(data.status_code, int) else 0
    if word in ("authentication", "authorization") or status in (401, 403):
        return ProviderError("Copilot refused the sign-in", NOT_SIGNED_IN[1], status=status or None)
    if status >= 400:
        return refusal(service, status, word)
    return ProviderError(f"Copilot's program failed{f' ({word})' if word else ''}.", retryable=word != "context_limit")


def _prompt(messages: Sequence[Message]) -> str:
    """Return what was said as one message. What the program would take for a command, or for a file to attach, is quoted."""
    said = [message for message in messages if message.role != "system"]
    if len(said) == 1 and said[0].role == "user" and said[0].text[:1] not in ("/", "@", "!"):
        return said[0].text
    names = {call.id: call.name for message in said for call in message.calls}
    lines = []
    for message in said:
        line: dict[str, Any] = {"role": message.role, "text": message.text}
        if message.role == "tool":
            line["tool"] = names.get(message.call_id, "")
        if message.calls:
            line["calls"] = [{"tool": call.name, "arguments": dict(chat.sent_arguments(call))} for call in message.calls]
        lines.append(json.dumps(line, ensure_ascii=False))
    return "\n".join(["The conversation so far, a JSON object a message. Go on after the last one.", *lines])
