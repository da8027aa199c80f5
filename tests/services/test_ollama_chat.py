"""Ollama's chat API: its window, its models, calls without ids, faults in the middle of an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.services.models import ASKED, KEY, SEARCH, TOOL, chat, keyed
from tests.services.standin import HANG, HELLO, Call, Reply, StandIn, failure
from tests.waiting import until

from carrel.composition.models import chat_models
from carrel.model.conversation import Completion, Message, RawArguments, ToolCall
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeMeter, fake_outbound
from carrel.model.ports import Sampling
from carrel.model_calls.chat_model import complete
from carrel.settings.model_settings import ModelSettings


def lines(*pieces: object) -> Reply:
    return Reply(body="\n".join(piece if isinstance(piece, str) else json.dumps(piece) for piece in pieces).encode())


def said(text: str = "", **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}, "done": False, **more}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(HELLO), Completion(HELLO)),
        (Reply("Größe 😀", piece=1), Completion("Größe 😀")),
        (Reply(HELLO, thinking="They say hello."), Completion(HELLO)),
        (Reply(HELLO, finish="length"), Completion(HELLO, finish="length")),
        (lines(said("a"), "", said("b", done=True)), Completion("ab")),
        (lines({"message": None}, said(3, done=True)), Completion("")),  # type: ignore[arg-type]
        (lines({"message": {"tool_calls": [3, {}, {"function": 1}]}}, said("a", done=True)), Completion("a")),
    ],
)
async def test_an_answer(service: StandIn, reply: Reply, expected: Completion) -> None:
    service.script = [reply]
    assert await complete(chat("ollama", service.url), ASKED) == expected


async def test_calls_have_ids_and_results_name_their_tool(service: StandIn) -> None:
    written = '{"query": "lo'
    service.script = [Reply(calls=(Call("search_code", {"query": "x"}), Call("search_code", written))), Reply(HELLO)]
    model = chat("ollama", service.url)
    answer = await complete(model, SEARCH, [TOOL])
    first, second = answer.calls
    assert answer.finish == "tools"
    assert first.id != second.id
    assert isinstance(second.arguments, RawArguments)
    assert second.arguments.value == written
    await complete(model, [*SEARCH, Message("assistant", "", answer.calls), Message("tool", "None.", call_id=second.id)], [TOOL])
    assert service.last.body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "search_code", "arguments": {"query": "x"}}},
                {"function": {"name": "search_code", "arguments": {"not_a_json_object": written}}},
            ],
        },
        {"role": "tool", "content": "None.", "tool_name": "search_code"},
    ]


@pytest.mark.parametrize(
    ("reply", "message", "retryable"),
    [
        (Reply(HELLO, done=False), "broke off", True),
        (Reply(HELLO, cut_after=2), "cut the connection", True),
        (lines(said("a"), {"error": f"llama runner has ended: {KEY}"}), "failed in the middle", True),
        (lines("<html>"), "not JSON", False),
        (lines("3"), "not JSON", False),
        (failure(500, quoted=KEY), "failed", True),
    ],
)
async def test_a_fault_is_told_and_quotes_nobody(service: StandIn, reply: Reply, message: str, retryable: bool) -> None:
    service.script = [reply]
    with pytest.raises(ProviderError, match=message) as raised:
        await complete(chat("ollama", service.url), ASKED)
    assert raised.value.retryable is retryable
    assert KEY not in f"{raised.value!r} {raised.value.__dict__}"


async def test_a_model_that_is_missing_is_named_with_what_to_do(service: StandIn) -> None:
    with pytest.raises(ProviderError, match=r"Ollama has no model qwen3:4b\. Get it with `ollama pull qwen3:4b`"):
        await complete(chat("ollama", service.url, model="qwen3:4b"), ASKED)
    with pytest.raises(InvalidInput, match="Name the model"):
        chat("ollama", service.url, model="")
    model = chat("ollama", service.url)
    await complete(model, ASKED)
    service.script = [failure(404)]  # deleted since
    with pytest.raises(ProviderError, match="ollama pull tiny"):
        await complete(model, ASKED)


async def test_the_window_is_sent_and_never_longer_than_the_models_own(service: StandIn) -> None:
    model = chat("ollama", service.url)
    assert model.spec.window == 8_192
    await complete(model, ASKED, (), Sampling(0.2, 50, ("x",)))
    assert service.last.body["options"] == {"num_ctx": 8_192, "num_predict": 50, "temperature": 0.2, "stop": ["x"]}
    service.context_length = 20_000
    model = chat("ollama", service.url, window=100_000, max_output=30)
    await complete(model, ASKED)
    assert service.last.body["options"] == {"num_ctx": 20_000, "num_predict": 30}
    assert model.spec.window == 20_000
    assert [asked.path for asked in service.requests] == ["/api/show", "/api/chat"] * 2


async def test_a_model_that_thinks_may_think_before_a_short_answer(service: StandIn) -> None:
    service.abilities = ["completion", "thinking"]
    await complete(chat("ollama", service.url), ASKED, (), Sampling(max_tokens=50))
    assert service.last.body["options"]["num_predict"] == 8_050


async def test_a_model_that_cannot_call_tools_says_so(service: StandIn) -> None:
    service.abilities = ["completion"]
    with pytest.raises(ProviderError, match="The model tiny can't call tools"):
        await complete(chat("ollama", service.url), SEARCH, [TOOL])
    await complete(chat("ollama", service.url, tools=False), SEARCH, [TOOL])
    assert "tools" not in service.last.body


async def test_an_address_of_the_other_api_is_understood_and_no_key_is_sent(service: StandIn) -> None:
    model = chat_models().make(
        ModelSettings(provider="ollama", model="tiny", base_url=f"{service.url}/v1/"), fake_outbound(ollama=KEY)
    )
    assert (await complete(model, ASKED)).text == HELLO
    assert KEY not in service.everything()
    default = chat_models().make(ModelSettings(provider="ollama", model="tiny"), fake_outbound())
    assert (default.spec.id, default.spec.leaves_machine, default.spec.price) == ("ollama:tiny", False, 0.0)


async def test_tokens_are_counted(service: StandIn) -> None:
    service.script = [Reply(HELLO, usage=(70, 30))]
    outbound = keyed()
    await complete(chat("ollama", service.url, outbound), ASKED)
    assert isinstance(outbound.meter, FakeMeter)
    assert sum(load.tokens for _, load in outbound.meter.used) == 100


async def test_an_endless_answer_is_cut(service: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.chat.MOST_CHARACTERS", 2_000)
    service.script = [Reply("again and again ", endless=True)]
    answer = await complete(chat("ollama", service.url), ASKED)
    assert (len(answer.text), answer.finish) == (2_000, "length")
    assert await asyncio.to_thread(service.last.gone.wait, 5)


async def test_a_cancel_closes_the_connection_at_once(service: StandIn) -> None:
    service.script = [HANG]
    task = asyncio.create_task(complete(chat("ollama", service.url), ASKED))
    await until(lambda: any(asked.path == "/api/chat" for asked in service.requests))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(service.last.gone.wait, 5)


def test_a_call_is_equal_to_its_like() -> None:
    assert ToolCall("1", "a", RawArguments("x")) == ToolCall("1", "a", {})
