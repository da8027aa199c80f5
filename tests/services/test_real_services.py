"""The providers before real programs and services. Each needs an environment variable, and is skipped without it.

CARREL_LLAMA_PYTHON   a Python with `xllamacpp` and `gguf`: the real llama.cpp serves a tiny model of random weights
CARREL_COPILOT_CLI    Copilot's program (npm's `@github/copilot`), which asks the stand-in; needs `github-copilot-sdk`
CARREL_LIVE_CHAT      settings of a chat model, such as {"provider": "openai", "model": "gpt-4.1-mini"}; a question costs money
CARREL_LIVE_RERANK    settings of a reranker, such as {"provider": "cohere"}
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contract import suites
from tests.services.models import ASKED, SEARCH, TOOL, chat, keyed, reranker
from tests.services.standin import HANG, Call, Reply, StandIn, failure, running

from carrel.composition.models import chat_models, rerankers
from carrel.model.conversation import Message, ToolSpec
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeMeter, fake_outbound
from carrel.model.outbound import Outbound
from carrel.model.ports import MODEL_DEFAULTS, ChatModel, Delta, Sampling
from carrel.model_calls.chat_model import complete
from carrel.providers.cohere_rerank import CohereReranker
from carrel.providers.copilot_chat import CopilotChat
from carrel.providers.keys import StandardKeys
from carrel.providers.openai import OpenAIChat
from carrel.settings.model_settings import ModelSettings


def named(variable: str, what: str) -> str:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} names no {what}")
    return value


# --- llama.cpp


@contextmanager
def llama(folder: Path, what: str) -> Iterator[str]:
    python = named("CARREL_LLAMA_PYTHON", "Python with xllamacpp and gguf")
    command = [python, str(Path(__file__).with_name("tiny_llama.py")), str(folder), what]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=clean)
        assert process.stdout
        try:
            line = next((line for line in process.stdout if line.startswith("Listening on ")), "")
            assert line, (folder / "log").read_text()
            yield line.removeprefix("Listening on ").strip()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


async def test_llama_cpp_answers_counts_and_refuses(tmp_path: Path) -> None:
    with llama(tmp_path, "chat") as url:
        outbound = keyed()
        model = chat("openai", url, outbound)
        assert isinstance(model, OpenAIChat)
        answer = await complete(model, ASKED, (), Sampling(temperature=1.0, max_tokens=12))
        assert (answer.finish, bool(answer.text)) == ("length", True)
        assert isinstance(outbound.meter, FakeMeter)
        assert sum(load.tokens for _, load in outbound.meter.used) > 60  # the template's words are the service's to count
        with pytest.raises(ProviderError, match="smaller window than the request needs"):
            await complete(model, [Message("user", "word " * 10_000)])
        stream = model.stream(ASKED, (), Sampling(max_tokens=1_500))
        assert (await anext(stream)).text
        assert isinstance(stream, AsyncGenerator)
        await stream.aclose()
        assert (await complete(model, ASKED, (), Sampling(max_tokens=3))).finish == "length"
        await model.aclose()


async def test_llama_cpp_calls_tools(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"query": {"enum": ["login"]}}, "required": ["query"]}
    with llama(tmp_path, "chat") as url:
        model = chat("openai", url)
        assert isinstance(model, OpenAIChat)
        body = model._body
        # Random weights call nothing by themselves: the token that begins a call is favoured, then the server's grammar rules.
        forced = {"tool_choice": "required", "logit_bias": [[262, 100]]}
        model._body = lambda *given: {**body(*given), **forced}  # type: ignore[method-assign]
        answer = await complete(model, SEARCH, [replace(TOOL, schema=schema)], Sampling(max_tokens=400))
        *whole, _ = answer.calls  # it calls for ever, and the last is cut
        assert len({call.id for call in whole}) == len(whole) > 1
        assert all((call.name, call.arguments) == ("search_code", {"query": "login"}) for call in whole)
        assert answer.finish == "length"
        model._body = body  # type: ignore[method-assign]
        result = Message("tool", "No relevant code found.", call_id=whole[0].id)
        said = [*SEARCH, Message("assistant", "", (whole[0],)), result]
        assert (await complete(model, said, [TOOL], Sampling(max_tokens=5))).finish == "length"
        await model.aclose()


async def test_llama_cpp_reranks(tmp_path: Path) -> None:
    with llama(tmp_path, "rerank") as url:
        model = reranker("cohere", f"{url}/v1", model="tiny")
        scores = await model.rerank("password", ["check the password", "draw a circle", "", "x" * 300])
        assert len(scores) == 4
        assert all(0 <= score <= 1 for score in scores)
        assert isinstance(model, CohereReranker)
        await model.aclose()


# --- Copilot's program


@pytest.fixture
def copilot(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("copilot", reason="github-copilot-sdk is not installed")
    program = named("CARREL_COPILOT_CLI", "program of Copilot's")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COPILOT_CLI_PATH", program)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def by_copilot(service: StandIn) -> CopilotChat:
    settings = ModelSettings(provider="copilot", model="gpt-4.1", base_url=f"{service.url}/v1")
    model = chat_models().make(settings, fake_outbound())
    assert isinstance(model, CopilotChat)
    return model


def what_holds(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.usefixtures("copilot")
async def test_copilots_program_lets_our_loop_run_the_tools(service: StandIn, tmp_path: Path) -> None:
    service.script = [
        Reply(
            calls=(Call("search_code", {"query": "a"}, "1", 0), Call("search_code", {"query": "b"}, "2", 1)), finish="tool_calls"
        ),
        Reply("Nothing there.", usage=(9, 4)),
    ]
    model = by_copilot(service)
    try:
        answer = await complete(
            model, [Message("system", "Be brief."), *SEARCH], [TOOL, ToolSpec("grep", "Finds.", {"type": "object"})]
        )
        assert [(call.name, dict(call.arguments)) for call in answer.calls] == [
            ("search_code", {"query": "a"}),
            ("search_code", {"query": "b"}),
        ]
        results = [Message("tool", f"found {call.arguments['query']}", call_id=call.id) for call in answer.calls]
        final = await complete(model, [*SEARCH, Message("assistant", "", answer.calls), *results], [TOOL])
        assert (final.text, final.finish) == ("Nothing there.", "stop")
        first, second = service.requests
        assert first.body["messages"][0] == {"role": "system", "content": "Be brief."}
        assert [tool["function"]["name"] for tool in first.body["tools"]] == ["search_code", "grep"]
        assert [message["content"] for message in second.body["messages"][-2:]] == ["found a", "found b"]
        service.script = [failure(401)]
        with pytest.raises(ProviderError, match="refused the sign-in"):
            await complete(model, ASKED)
        service.script = [HANG]
        task = asyncio.create_task(complete(model, ASKED))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(service.last.gone.wait, 10)
    finally:
        await model.aclose()
    assert not what_holds(tmp_path, b"Search for login")


class Closing:
    """Ends the program when nobody asks any more: the contracts close nothing."""

    def __init__(self, model: CopilotChat) -> None:
        self.spec, self._model, self._users = model.spec, model, 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), options: Sampling = MODEL_DEFAULTS
    ) -> AsyncIterator[Delta]:
        self._users += 1
        try:
            async for piece in self._model.stream(messages, tools, options):
                yield piece
        finally:
            self._users -= 1
            if not self._users:
                closing = asyncio.ensure_future(self._model.aclose())
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(closing)


@pytest.mark.usefixtures("copilot")
class TestCopilotsProgram(suites.ChatModelContract):
    @pytest.fixture(autouse=True)
    def _service(self) -> Iterator[None]:
        with running() as self.service:
            yield

    def make(self) -> ChatModel:
        return Closing(by_copilot(self.service))

    def calling(self) -> ChatModel:
        return self.make()

    def broken(self) -> ChatModel:
        self.service.script = [failure(401)]
        return self.make()

    def stuck(self) -> ChatModel:
        self.service.script = [HANG]
        return self.make()


# --- live services


def own_outbound() -> Outbound:
    return replace(fake_outbound(), keys=StandardKeys())


async def test_a_live_chat_model() -> None:
    settings = ModelSettings(**json.loads(named("CARREL_LIVE_CHAT", "chat model")))
    model = chat_models().make(settings, own_outbound())
    answer = await complete(model, [Message("user", "Say hello in one word.")], (), Sampling(max_tokens=50))
    assert answer.text
    if model.spec.tools:
        asked = [Message("user", "Use the tool to find the code of the login.")]
        called = await complete(model, asked, [TOOL], Sampling(max_tokens=200))
        assert [call.name for call in called.calls] == ["search_code"]
        result = Message("tool", "login.py:3 def login(user)", call_id=called.calls[0].id)
        final = await complete(model, [*asked, Message("assistant", called.text, called.calls), result], [TOOL])
        assert final.finish in ("stop", "tools")


async def test_a_live_reranker() -> None:
    settings = ModelSettings(**json.loads(named("CARREL_LIVE_RERANK", "reranker")))
    scores = (
        await rerankers()
        .make(settings, own_outbound())
        .rerank("where is the password checked?", ["draw a red circle", "def check(password): return hash(password) == stored"])
    )
    assert scores[1] > scores[0]
