"""The providers in their surroundings: the server's other questions, keys, permissions, and OpenAI's own client."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import openai
import pytest
from msgspec.structs import replace
from tests.services.models import ASKED, KEY, SEARCH, TOOL, chat, keyed, reranker
from tests.services.standin import HANG, HELLO, Call, Reply, StandIn, failure, running
from tests.support.workspaces import Open, indexed, open_workspace  # noqa: F401 - a fixture
from tests.waiting import until

from carrel.composition.composition import Composition
from carrel.composition.models import chat_models, rerankers
from carrel.composition.outbound import OutboundServices
from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.fakes import FakePermissions
from carrel.model.outbound import Destination, collect, summed
from carrel.model.types import Query
from carrel.model_calls.chat_model import complete
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.service import queries
from carrel.service.asks import ReviewRequest, review
from carrel.service.model_report import report
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs


@pytest.fixture
def _nobodys(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)


async def test_hung_models_delay_no_other_question(open_workspace: Open, service: StandIn) -> None:  # noqa: F811
    service.script = [HANG]
    jobs = Jobs()
    asking = await indexed(open_workspace("asking", jobs=jobs))
    quick = await indexed(open_workspace("quick", jobs=jobs))
    models = [chat(provider, service.url) for provider in ("openai", "ollama", "openrouter", "openai")]
    hung: list[asyncio.Task[Any]] = [
        asyncio.create_task(review(asking, ReviewRequest("Logins fail"), model, lambda _: None)) for model in models
    ]
    hung += [asyncio.create_task(reranker("cohere", service.url).rerank("a", ["b"])) for _ in range(4)]
    await until(lambda: sum(asked.path != "/api/show" for asked in service.requests) == 8)
    found = await queries.search(quick, Query("authenticate_user", 1), 0)
    assert found.hits[0].chunk.symbol == "authenticate_user"
    assert not any(task.done() for task in hung)
    for task in hung:
        task.cancel()
    await asyncio.gather(*hung, return_exceptions=True)
    waiting = [asked for asked in service.requests if asked.path != "/api/show"]
    assert all([await asyncio.to_thread(asked.gone.wait, 5) for asked in waiting])


@pytest.mark.parametrize(
    "reply", [failure(401, quoted=KEY), failure(500, quoted=KEY), Reply("x", cut_after=1), Reply(HELLO), 302, 307, 308]
)
async def test_a_key_is_in_no_log_no_error_and_at_no_other_host(
    service: StandIn, reply: Reply | int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with running() as other:
        if isinstance(reply, int):
            reply = Reply(status=reply, body=b"", headers={"location": f"{other.url}/v1/chat/completions"})
        service.script = [reply]
        told = ""
        for provider in ("openai", "openrouter", "ollama"):
            try:
                await complete(chat(provider, service.url, key="keyring"), ASKED)
            except ProviderError as error:
                told += f"{error!r} {error.__dict__} {error.__cause__!r}"
        with suppress(ProviderError):
            await reranker("cohere", service.url, key="keyring").rerank("a", ["b"])
        assert KEY in service.everything()
        assert other.requests == []
        assert KEY not in told + caplog.text


@pytest.mark.parametrize("provider", ["openai", "openrouter"])
async def test_nothing_leaves_the_machine_where_nobody_allowed_it(provider: str) -> None:
    outbound = replace(keyed(), permissions=FakePermissions([]))
    model = chat_models().make(ModelSettings(provider=provider, model="m"), outbound)
    assert model.spec.leaves_machine
    with collect() as receipt, pytest.raises(NotAllowed, match=f"carrel confirm {provider}"):
        await complete(model, ASKED)
    with pytest.raises(NotAllowed, match=r"carrel confirm cohere api\.cohere\.com"):
        await rerankers().make(ModelSettings(provider="cohere"), outbound).rerank("a", ["b"])
    assert receipt.sent == []


async def test_the_settings_choose_the_models_and_a_receipt_names_them(service: StandIn, tmp_path: Any) -> None:
    composition = Composition(
        outbound=OutboundServices(PermissionFile(tmp_path / "allowed.json"), meter=UsageMeter(None, Limits))
    )
    ollama = ModelSettings(provider="ollama", model="tiny", base_url=service.url)
    settings = Settings(models=Models(chat=ollama, reranker=ModelSettings(provider="tei", base_url=service.url)))
    with collect() as receipt:
        answer = await complete(composition.chat_model(settings), SEARCH, [TOOL])
        judge = composition.reranker(settings)
        assert judge
        assert (await judge.rerank("password", ["password"]))[0] == 1
        assert composition.chat_model(settings) is composition.chat_model(settings)  # with its connections
        assert composition.chat_model(settings, "other") is not composition.chat_model(settings)
    assert [call.name for call in answer.calls] == ["search_code"]
    assert [(sent.destination.provider, sent.role) for sent in summed(receipt)] == [
        ("ollama", "chat"),
        ("tei", "reranker"),
    ]


async def test_the_chat_model_judges_where_the_settings_say_so(service: StandIn, tmp_path: Any) -> None:
    composition = Composition(
        outbound=OutboundServices(PermissionFile(tmp_path / "allowed.json"), meter=UsageMeter(None, Limits))
    )
    ollama = ModelSettings(provider="ollama", model="tiny", base_url=service.url)
    settings = Settings(models=Models(chat=ollama, reranker=ModelSettings(provider="chat")))
    judge = composition.reranker(settings)
    assert judge
    assert judge.spec.id.startswith("judge:ollama")
    with pytest.raises(ProviderError):  # the stand-in says hello to everything
        await judge.rerank("the password", ["draw a circle", "check it"])
    assert "check it" in str(service.last.body)
    (_, state, _) = await report(composition, settings)
    assert (state.role, state.provider, len(state.destinations)) == ("reranker", "ollama", 1)
    with pytest.raises(ProviderError, match="chat model"):
        composition.reranker(Settings(models=Models(reranker=ModelSettings(provider="chat"))))
    await composition.close()


@pytest.mark.usefixtures("_nobodys")
@pytest.mark.parametrize(
    ("provider", "role", "host"),
    [
        ("openai", "chat", "api.openai.com"),
        ("openrouter", "chat", "openrouter.ai"),
        ("ollama", "chat", "localhost:11434"),
        ("copilot", "chat", "api.githubcopilot.com"),
        ("cohere", "reranker", "api.cohere.com"),
        ("jina", "reranker", "api.jina.ai"),
        ("voyage", "reranker", "api.voyageai.com"),
        ("tei", "reranker", "localhost:8080"),
    ],
)
async def test_each_provider_says_where_text_goes(provider: str, role: str, host: str) -> None:
    settings = Settings(models=Models(**{role: ModelSettings(provider=provider, model="m")}))
    (*_, state) = await report(Composition(), settings)
    assert (state.role, state.destinations, state.problem) == (role, (Destination(provider, host),), "")
    assert state.allowed is state.destinations[0].local


async def test_openais_own_client_understands_the_stand_in(service: StandIn) -> None:
    tools: Any = [{"type": "function", "function": {"name": "search_code", "parameters": dict(TOOL.schema)}}]
    messages: Any = [{"role": "user", "content": "Search for login."}]
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="sk", max_retries=0) as client:
        whole = await client.chat.completions.create(model="m", messages=messages, tools=tools)
        calls = [call.function for call in whole.choices[0].message.tool_calls or () if call.type == "function"]
        assert [(call.name, call.arguments) for call in calls] == [("search_code", '{"query": "login"}')]
        service.script = [Reply("Größe", calls=(Call("search_code", "{"),), usage=(3, 4))]
        written, said, used = "", "", None
        async for piece in await client.chat.completions.create(
            model="m", messages=messages, stream=True, stream_options={"include_usage": True}
        ):
            used = piece.usage or used
            for choice in piece.choices:
                said += choice.delta.content or ""
                written += "".join((part.function and part.function.arguments) or "" for part in choice.delta.tool_calls or ())
        assert (said, written, used and used.prompt_tokens) == ("Größe", "{", 3)
        service.script = [failure(429)]
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="m", messages=messages)
