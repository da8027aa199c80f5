"""Copilot's models: a stand-in for the SDK, whose sessions tell what the real program was seen to tell."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contract import suites
from tests.services.models import ASKED, KEY, SEARCH, TOOL
from tests.waiting import until

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.model.conversation import Completion, Message, ToolCall
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.fakes import FakeMeter, FakePermissions, fake_outbound
from carrel.model.outbound import Destination, Hold, Load, Outbound, Secret
from carrel.model.ports import ChatModel
from carrel.model_calls.chat_model import complete
from carrel.providers import copilot_program
from carrel.providers.copilot_chat import CopilotChat, copilot_chat
from carrel.service.session import Session as ServerSession
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings

Turn = Callable[["Program", list[str]], Iterator[tuple[str, dict[str, Any]]]]


def hello(program: Program, results: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Say hello, word by word."""
    yield from said("Hello,", " you.")


def said(*words: str, reason: str = "stop") -> Iterator[tuple[str, dict[str, Any]]]:
    for word in words:
        yield "assistant.message_delta", {"delta_content": word, "message_id": "m"}
    yield usage(reason)
    yield "assistant.message", {"content": "".join(words), "message_id": "m", "tool_requests": []}
    yield "session.idle", {}


def usage(reason: str) -> tuple[str, dict[str, Any]]:
    return "assistant.usage", {"input_tokens": 30, "output_tokens": 5, "finish_reason": reason}


def searches(*queries: str) -> Turn:
    """Call the tool once a query, and say afterwards what it gave."""

    def turn(program: Program, results: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        if len(results) == len(queries):
            yield from said(*results)
        elif not results:
            yield usage("tool_calls")
            requests = [SimpleNamespace(tool_call_id=f"c{n}") for n in range(len(queries))]
            yield "assistant.message", {"content": "", "message_id": "m", "tool_requests": requests}
            for number, query in enumerate(queries):
                call = {"tool_call_id": f"c{number}", "tool_name": "search_code", "arguments": {"query": query}}
                yield "external_tool.requested", {"request_id": f"r{number}", **call}

    return turn


def sensible(program: Program, results: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = "earch" in program.sessions[-1]["prompt"] and program.sessions[-1]["tools"]
    return searches("login")(program, results) if asked else hello(program, results)


def failing(**error: Any) -> Turn:
    def turn(program: Program, results: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "session.error", {"error_type": "query", "status_code": None, "message": KEY, **error}

    return turn


def silent(program: Program, results: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    return iter(())


@dataclass
class Program:
    """What stands for the program and its SDK."""

    turn: Turn = sensible
    signed_in: bool = True
    sessions: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[Secret | None] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    stopped: int = 0

    async def connect(self, token: Secret | None, *_: Any) -> Any:
        self.tokens.append(token)
        return self

    async def get_auth_status(self) -> Any:
        return SimpleNamespace(isAuthenticated=self.signed_in)

    async def create_session(self, **settings: Any) -> Session:
        self.sessions.append({**settings, "prompt": ""})
        return Session(self, str(len(self.sessions)), self.sessions[-1])

    async def delete_session(self, session_id: str) -> None:
        self.ended.append(session_id)

    async def stop(self) -> None:
        self.stopped += 1


class Session:
    def __init__(self, program: Program, session_id: str, settings: dict[str, Any]) -> None:
        self.session_id, self.aborted = session_id, False
        self._program, self._settings, self._results = program, settings, list[str]()
        self.rpc = SimpleNamespace(tools=self)

    def on(self, handler: Callable[[Any], None]) -> None:
        self._handler = handler

    async def send(self, prompt: str) -> None:
        prompt.encode()  # the real program never answers to what can't be
        self._settings["prompt"] = prompt
        self._tell()

    async def handle_pending_tool_call(self, request: Any) -> None:
        self._results.append(request.result)
        self._tell()

    async def abort(self) -> None:
        self.aborted = self._settings["aborted"] = True

    async def disconnect(self) -> None:
        pass

    def _tell(self) -> None:
        for kind, data in self._program.turn(self._program, self._results):
            self._handler(SimpleNamespace(type=SimpleNamespace(value=kind), data=SimpleNamespace(**data), agent_id=None))


@pytest.fixture(autouse=True)
def _sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk, rpc = ModuleType("copilot"), ModuleType("copilot.rpc")
    sdk.Tool = lambda name, _, **more: SimpleNamespace(name=name, **more)  # type: ignore[attr-defined]
    rpc.HandlePendingToolCallRequest = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "copilot", sdk)
    monkeypatch.setitem(sys.modules, "copilot.rpc", rpc)


def chat(program: Program, outbound: Outbound | None = None, **more: Any) -> CopilotChat:
    model = copilot_chat(ModelSettings(**more), outbound or fake_outbound())
    return CopilotChat(model._service, model._model, model.spec, more.get("key", ""), model._outbound, program.connect)


class TestCopilot(suites.ChatModelContract):
    def make(self) -> ChatModel:
        return chat(Program())

    def calling(self) -> ChatModel:
        return chat(Program())

    def broken(self) -> ChatModel:
        return chat(Program(failing(status_code=500)))

    def stuck(self) -> ChatModel:
        return chat(Program(silent))


async def test_one_session_asks_for_tools_and_goes_on_with_their_results() -> None:
    program = Program(searches("a", "b"))
    model = chat(program)
    answer = await complete(model, [Message("system", "Be brief."), *SEARCH], [TOOL])
    assert (answer.finish, [dict(call.arguments) for call in answer.calls]) == ("tools", [{"query": "a"}, {"query": "b"}])
    results = [Message("tool", f"found {call.arguments['query']}", call_id=call.id) for call in answer.calls]
    final = await complete(model, [*SEARCH, Message("assistant", "", answer.calls), *results], [TOOL])
    assert final == Completion("found afound b")
    (session,) = program.sessions
    assert (session["model"], session["prompt"]) == ("gpt-4.1", "Search for login.")
    assert session["system_message"] == {"mode": "replace", "content": "Be brief."}
    assert session["available_tools"] == ["custom:search_code"]
    await until(lambda: program.ended)
    assert program.ended == ["1"]
    await model.aclose()
    assert program.stopped == 1


async def test_another_conversation_is_told_from_its_beginning() -> None:
    program = Program()
    model = chat(program)
    answer = await complete(model, SEARCH, [TOOL])
    call = ToolCall("unknown", "search_code", {"query": 'x"'})
    messages = [*SEARCH, Message("assistant", "Let me see.", (call,)), Message("tool", "Nothing.\n{", call_id="unknown")]
    await complete(model, [*messages, Message("user", "Go on.")])
    assert program.sessions[1]["prompt"].splitlines()[1:] == [
        '{"role": "user", "text": "Search for login."}',
        '{"role": "assistant", "text": "Let me see.", "calls": [{"tool": "search_code", "arguments": {"query": "x\\""}}]}',
        '{"role": "tool", "text": "Nothing.\\n{", "tool": "search_code"}',
        '{"role": "user", "text": "Go on."}',
    ]
    await complete(model, [Message("user", "/clear")])
    assert not program.sessions[2]["prompt"].startswith("/")
    assert answer.calls  # its session still waits, and ends with the program
    await model.aclose()
    assert sorted(program.ended) == ["1", "2", "3"]


async def test_sessions_that_nobody_answers_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    model = chat(program)
    for _ in range(copilot_program.MOST_WAITING + 2):
        await complete(model, SEARCH, [TOOL])
    await until(lambda: program.ended == ["1", "2"])
    monkeypatch.setattr(copilot_program, "REST_SECONDS", 0.01)
    await complete(model, ASKED)
    await until(lambda: (program.stopped, len(program.ended)) == (1, copilot_program.MOST_WAITING + 3))


async def test_a_cancel_stops_the_program_s_work() -> None:
    program = Program(silent)
    task = asyncio.create_task(complete(chat(program), ASKED))
    await until(lambda: program.sessions)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: program.sessions[0].get("aborted"))


@pytest.mark.parametrize(
    ("error", "message", "retryable"),
    [
        ({"status_code": 500}, "Copilot failed", True),
        ({"status_code": 429, "error_type": "rate_limit"}, r"no more requests for now \(429 rate_limit\)", False),
        ({"status_code": 401, "error_type": "authentication"}, r"refused the sign-in\. Sign in with", False),
        ({"error_type": "context_limit"}, r"failed \(context_limit\)", False),
        ({"error_type": KEY}, "Copilot's program failed", True),
    ],
)
async def test_a_fault_is_told_and_quotes_nobody(error: dict[str, Any], message: str, retryable: bool) -> None:
    with pytest.raises(ProviderError, match=message) as raised:
        await complete(chat(Program(failing(**error))), ASKED)
    assert raised.value.retryable is retryable
    assert KEY not in f"{raised.value!r} {raised.value.__dict__}"


async def test_nothing_is_started_where_nobody_allowed_it_or_signed_in() -> None:
    program = Program()
    outbound = fake_outbound()
    closed = Outbound(FakePermissions([]), outbound.keys, outbound.meter)
    with pytest.raises(NotAllowed, match=r"carrel confirm copilot api\.githubcopilot\.com"):
        await complete(chat(program, closed), ASKED)
    assert program.tokens == []
    with pytest.raises(ProviderError, match="Copilot isn't signed in"):
        await complete(chat(Program(signed_in=False)), ASKED)


async def test_a_model_of_ones_own_gets_no_token_of_githubs() -> None:
    program = Program()
    model = chat(program, fake_outbound(copilot=KEY), base_url="http://localhost:1234/v1", model="tiny")
    await complete(model, ASKED)
    provider = {"type": "openai", "base_url": "http://localhost:1234/v1", "wire_api": "completions"}
    assert (program.sessions[0]["provider"], model.spec.leaves_machine) == (provider, False)
    await complete(chat(program, fake_outbound(copilot=KEY)), ASKED)
    assert [token and token.reveal() for token in program.tokens] == [None, KEY]
    assert "provider" not in program.sessions[1]


async def test_tokens_are_counted() -> None:
    outbound = fake_outbound()
    await complete(chat(Program(), outbound, price=1.0), ASKED)
    assert isinstance(outbound.meter, FakeMeter)
    assert sum(load.tokens for _, load in outbound.meter.used) == 35
    assert sum(load.requests for _, load in outbound.meter.used) == 1


async def test_without_the_sdk_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copilot", None)
    with pytest.raises(ProviderError, match='pip install "github-copilot-sdk>='):
        await complete(copilot_chat(ModelSettings(), fake_outbound()), ASKED)


def test_the_program_gets_no_keys_of_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[dict[str, Any]] = []
    sdk = sys.modules["copilot"]

    def client(**options: Any) -> Program:
        made.append(options)
        return Program()

    monkeypatch.setattr(sdk, "CopilotClient", client, raising=False)
    monkeypatch.setattr(sdk, "RuntimeConnection", SimpleNamespace(for_stdio=lambda path: path), raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN"):
        monkeypatch.setenv(name, f"planted-{name}")
    monkeypatch.setenv("NO_PROXY", "localhost")
    monkeypatch.setenv("COPILOT_HOME", "kept")
    copilot_program._client(None, "http://127.0.0.1:3128", own_model=False)
    copilot_program._client(Secret("gho_own"), "", own_model=False)
    own, given = (options["env"] for options in made)
    assert (own["HTTPS_PROXY"], own["NO_PROXY"], own["COPILOT_HOME"]) == ("http://127.0.0.1:3128", "localhost", "kept")
    assert [value for value in own.values() if "planted" in value] == ["planted-GITHUB_TOKEN"]  # it signs in with that itself
    assert "planted" not in str(given)


async def test_a_session_that_waits_is_ended_where_its_next_request_is_refused() -> None:
    class Refusing(FakeMeter):
        async def admit(self, destination: Destination, load: Load) -> Hold:
            if self.used:
                raise ProviderError("The day's limit is reached")
            return await super().admit(destination, load)

    program = Program(searches("a"))
    model = chat(program, replace(fake_outbound(), meter=Refusing()))
    answer = await complete(model, SEARCH, [TOOL])
    results = [Message("tool", "found", call_id=call.id) for call in answer.calls]
    with pytest.raises(ProviderError, match="limit is reached"):
        await complete(model, [*SEARCH, Message("assistant", "", answer.calls), *results], [TOOL])
    await until(lambda: program.ended)
    assert program.ended == ["1"]
    await model.aclose()


async def test_models_are_closed_with_the_session_of_the_server(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    program = Program()
    composition = Composition()
    session = ServerSession(composition, longest_match)
    model = chat(program)
    monkeypatch.setattr("carrel.composition.composition.chat_models", lambda: SimpleNamespace(make=lambda *_: model))
    settings = Settings(models=Models(chat=ModelSettings(provider="copilot")))
    assert await complete(composition.chat_model(settings), ASKED)
    await session.close()
    assert program.stopped == 1
