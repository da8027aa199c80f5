"""Chat models of OpenAI's API: dialects, faults in the middle of an answer, calls in pieces, cost, and what is sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.services.models import ASKED, KEY, SEARCH, TOOL, chat, keyed
from tests.services.standin import HANG, HELLO, Call, Reply, StandIn, failure
from tests.waiting import until

from carrel.composition.models import chat_models
from carrel.model.conversation import Completion, Message, RawArguments, ToolCall
from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.fakes import FakeMeter, fake_outbound
from carrel.model.ports import Delta, Sampling
from carrel.model_calls.chat_model import complete
from carrel.providers import chat as shared
from carrel.providers import openai as openai_chat
from carrel.settings.model_settings import ModelSettings

QUERY = {"query": "größe"}


def sse(*pieces: object, end: str = "data: [DONE]\n\n") -> Reply:
    """What a service sends that words its events in another way."""
    data = "".join(piece if isinstance(piece, str) else f"data: {json.dumps(piece)}\n\n" for piece in pieces)
    return Reply(body=(data + end).encode(), headers={"content-type": "text/event-stream"})


def said(text: str | None = None, reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text, **delta}, "finish_reason": reason}]}


def called(*calls: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return said(reason=reason, tool_calls=list(calls))


def call(name: str | None, arguments: object, **more: Any) -> dict[str, Any]:
    return {"function": {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}, **more}


ANSWERS: dict[str, tuple[Reply, Completion]] = {
    "whole events": (Reply(HELLO), Completion(HELLO)),
    "single bytes": (Reply("Größe 😀", usage=(1, 2), piece=1), Completion("Größe 😀")),
    "no [DONE]": (Reply(HELLO, done=False), Completion(HELLO)),
    "no reason": (Reply(HELLO, finish=None), Completion(HELLO)),
    "cut off": (Reply(HELLO, finish="length"), Completion(HELLO, finish="length")),
    "withheld": (Reply("", finish="content_filter"), Completion("", finish="filter")),
    "an unknown reason": (Reply(HELLO, finish="eos_token"), Completion(HELLO)),
    "thinking is no answer": (Reply(HELLO, thinking="The user says hello."), Completion(HELLO)),
    "calls that end with stop": (
        Reply(calls=(Call("search_code", QUERY),), finish="stop"),
        Completion("", (ToolCall("call_1", "search_code", QUERY),), "tools"),
    ),
    "no space, CR LF, no blank lines": (
        sse(
            "event: message\r\n",
            'data:{"choices":[{"delta":{"content":"a"}}]}\r\n',
            'data:{"choices":[{"delta":{"content":"b"}}]}\n',
        ),
        Completion("ab"),
    ),
    "an event of several lines": (sse('data: {"choices": [\ndata: {"delta": {"content": "a"}}]}\n\n'), Completion("a")),
    "no choices and nulls": (
        sse({"choices": []}, {"choices": None}, {"choices": [{"delta": None}]}, said("a", reason="stop")),
        Completion("a"),
    ),
    "text in parts": (sse(said([{"type": "text", "text": "a"}, {"type": "thinking"}], "stop")), Completion("a")),  # type: ignore[arg-type]
    "a refusal": (sse(said(None, "stop", refusal="No.")), Completion("No.")),
    "not streamed": (
        Reply(body=b'{"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}'),
        Completion("a", finish="length"),
    ),
    "not streamed, over lines": (
        Reply(body=json.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}, indent=1).encode()),
        Completion("a"),
    ),
    "calls without numbers": (
        sse(called(call("a", "{", id="1"), call(None, "}"), call("b", "{}", id="2")), said(reason="tool_calls")),
        Completion("", (ToolCall("1", "a", {}), ToolCall("2", "b", {})), "tools"),
    ),
    "calls that are all number 0": (
        sse(called(call("a", '{"x":1}', id="1", index=0)), called(call("a", "{}", id="2", index=0)), said(reason="stop")),
        Completion("", (ToolCall("1", "a", {"x": 1}), ToolCall("2", "a", {})), "tools"),
    ),
    "a call that names itself each time": (
        sse(called(call("a", '{"x"', id="1", index=0)), called(call("a", ":1}", id="1", index=0)), said(reason="stop")),
        Completion("", (ToolCall("1", "a", {"x": 1}),), "tools"),
    ),
    "two calls, mixed": (
        sse(
            called(call("a", '{"x"', id="1", index=0), call("b", "", id="2", index=1)),
            called(call(None, '{"y":2}', index=1)),
            called(call(None, ":1}", index=0)),
            said(reason="tool_calls"),
        ),
        Completion("", (ToolCall("1", "a", {"x": 1}), ToolCall("2", "b", {"y": 2})), "tools"),
    ),
    "arguments as an object": (
        sse(called(call("a", {"x": 1}, id="1", index=0)), said(reason="tool_calls")),
        Completion("", (ToolCall("1", "a", {"x": 1}),), "tools"),
    ),
    "no arguments": (
        sse(called(call("a", None, id="1", index=0)), called(call("b", "null", id="2", index=1)), said(reason="tool_calls")),
        Completion("", (ToolCall("1", "a", {}), ToolCall("2", "b", {})), "tools"),
    ),
    "garbage for calls": (sse(called(3, None, {}), said("a", "stop", tool_calls="x")), Completion("a")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_in_the_words_of_many_services(service: StandIn, name: str) -> None:
    reply, expected = ANSWERS[name]
    service.script = [reply]
    given = await complete(chat("openai", service.url), SEARCH, [TOOL])
    if name == "garbage for calls":  # a call that says nothing is the loop's to refuse
        given = replace(given, calls=(), finish="stop")
    assert given == expected


@pytest.mark.parametrize("written", ["{'query': 'login'}", '{"query": "lo', '["login"]', '"login"', "[" * 100_000])
async def test_malformed_arguments_are_given_on_as_they_are(service: StandIn, written: str) -> None:
    service.script = [Reply(calls=(Call("search_code", written),), finish="tool_calls"), Reply(HELLO)]
    model = chat("openai", service.url)
    made = (await complete(model, SEARCH, [TOOL])).calls[0]
    assert made.arguments == {}
    assert isinstance(made.arguments, RawArguments)
    assert made.arguments.value == written
    # The service is reminded of them as JSON: several refuse anything else.
    await complete(model, [*SEARCH, Message("assistant", "", (made,)), Message("tool", "Not run.", call_id=made.id)], [TOOL])
    sent = service.last.body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"not_a_json_object": written}


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("same", "same")])
async def test_each_call_has_an_id_of_its_own(service: StandIn, ids: tuple[str | None, str | None]) -> None:
    calls = tuple(Call("search_code", QUERY, identity, number) for number, identity in enumerate(ids))
    service.script = [Reply(calls=calls)]
    made = (await complete(chat("openai", service.url), SEARCH, [TOOL])).calls
    assert len({item.id for item in made if item.id}) == 2


FAULTS: dict[str, tuple[Reply, str, bool]] = {
    "no end": (Reply(HELLO, finish=None, done=False), "broke off", True),
    "nothing at all": (Reply(body=b""), "broke off", True),
    "a cut connection": (Reply(HELLO, cut_after=3), "cut the connection in the middle", True),
    "a page": (Reply(body=b"<html>Log in</html>"), "not JSON", False),
    "an event that is no JSON": (sse("data: {oops\n\n"), "not JSON", False),
    "an event that is no object": (sse("data: 3\n\n"), "no answer", False),
    "an error by code": (sse(said("a"), {"error": {"code": 502, "message": KEY}}), r"failed \(502\)", True),
    "an error of the rate": (sse({"error": {"code": 429, "message": KEY}}), "no more requests", True),
    "an error by word": (sse({"error": {"type": "server_error", "message": KEY}}), r"\(server_error\)", True),
    "an error for good": (sse({"error": {"code": "content_policy_violation"}}), r"\(content_policy_violation\)", False),
    "an error that is text": (sse({"error": KEY}), "failed in the middle", True),
    "an error by event": (sse(f'event: error\ndata: {{"message": "{KEY}"}}\n\n'), "failed in the middle", True),
    "an error of llama.cpp": (sse('error: {"code": 500, "type": "server_error"}\n\n'), r"failed \(500 server_error\)", True),
    "500": (failure(500, quoted=KEY), r"failed \(500 told\)", True),
    "401": (failure(401, quoted=KEY), "refused the key", False),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_and_quotes_nobody(service: StandIn, name: str, caplog: pytest.LogCaptureFixture) -> None:
    reply, message, retryable = FAULTS[name]
    service.script = [reply]
    with pytest.raises(ProviderError, match=message) as raised:
        await complete(chat("openai", service.url), ASKED)
    assert raised.value.retryable is retryable
    assert KEY not in f"{raised.value!r} {raised.value.__dict__} {raised.value.__cause__!r} {caplog.text}"


async def test_an_answer_is_whole_though_the_count_of_its_tokens_never_comes(
    service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_chat, "REST_SECONDS", 0.05)
    pieces = [b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'] + [
        b": still here\n\n",
        b'data: {"choices": []}\n\n',
    ] * 2_000
    service.script = [Reply(body=b"".join(pieces), piece=len(pieces[0]), pause=0.01)]
    assert await complete(chat("openai", service.url), ASKED) == Completion("a")
    service.script = [Reply("a", cut_after=4)]
    assert await complete(chat("openai", service.url), ASKED) == Completion("a")


async def test_a_refused_rate_is_waited_for(service: StandIn) -> None:
    service.script = [failure(429, retry_after="0"), failure(429, retry_after="0"), Reply(HELLO)]
    assert (await complete(chat("openai", service.url), ASKED)).text == HELLO
    assert len(service.requests) == 3


@pytest.mark.parametrize("endless", [Reply("again and again ", endless=True), Reply("x" * 900, endless=True)])
async def test_an_endless_answer_is_cut(service: StandIn, endless: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.chat.MOST_CHARACTERS", 2_000)
    service.script = [endless]
    answer = await complete(chat("openai", service.url), ASKED)
    assert (len(answer.text), answer.finish) == (2_000, "length")
    assert await asyncio.to_thread(service.last.gone.wait, 5)


async def test_endless_calls_are_cut(service: StandIn) -> None:
    numbered = (called(call("a", "{}", id=str(number), index=number)) for number in range(1_000))
    service.script = [sse(*numbered)]
    answer = await complete(chat("openai", service.url), ASKED, [TOOL])
    assert (len(answer.calls), answer.finish) == (shared.MOST_CALLS, "length")


@pytest.mark.parametrize("reply", [HANG, Reply("word ", endless=True, pause=0.01)])
async def test_a_cancel_closes_the_connection_at_once(service: StandIn, reply: Reply) -> None:
    service.script = [reply]
    task = asyncio.create_task(complete(chat("openai", service.url), ASKED))
    await until(lambda: service.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(service.last.gone.wait, 5)


async def test_the_cost_is_counted_by_what_the_service_says(service: StandIn) -> None:
    service.script = [Reply(HELLO, usage=(1_000, 500))]
    outbound = keyed()
    await complete(chat("openai", service.url, outbound, price=2.0, output_price=8.0), ASKED)
    assert isinstance(outbound.meter, FakeMeter)
    loads = [load for _, load in outbound.meter.used]
    assert sum(load.requests for load in loads) == 1
    assert sum(load.tokens for load in loads) == 1_500
    assert sum(load.dollars for load in loads) == pytest.approx(1_000 * 2e-6 + 500 * 8e-6)


async def test_what_is_broken_off_costs_what_was_said(service: StandIn) -> None:
    service.script = [Reply("word " * 100, cut_after=90)]
    outbound = keyed()
    with pytest.raises(ProviderError):
        await complete(chat("openai", service.url, outbound, output_price=8.0), ASKED)
    assert isinstance(outbound.meter, FakeMeter)
    assert sum(load.tokens for _, load in outbound.meter.used) > 80


async def test_a_service_that_refuses_what_it_does_not_know_is_asked_without(service: StandIn) -> None:
    service.script = [failure(422), Reply(HELLO)]
    model = chat("openai", service.url)
    assert (await complete(model, ASKED)).text == HELLO
    await complete(model, ASKED)
    assert ["stream_options" in asked.body for asked in service.requests] == [True, False, False]
    service.script = [failure(400, "context_length_exceeded")]
    with pytest.raises(ProviderError, match=r"smaller window .*\(400 context_length_exceeded\)"):
        await complete(chat("openai", service.url), ASKED)


SENT: dict[str, tuple[dict[str, Any], Sampling, dict[str, Any]]] = {
    "a model of one's own": (
        {"model": "qwen3-coder", "max_output": 500},
        Sampling(0.0, 900, ("a", "b", "c", "d", "e")),
        {"temperature": 0.0, "max_tokens": 500, "stop": ["a", "b", "c", "d"]},
    ),
    "its own choices": ({"model": "qwen3-coder"}, Sampling(), {}),
    "a model that thinks": ({"model": "o3-mini"}, Sampling(0.5, 900, ("a",)), {"max_completion_tokens": 8_900}),
    "another one": ({"model": "openai/gpt-5-mini"}, Sampling(0.5), {"max_completion_tokens": 128_000}),
    "one that doesn't": ({"model": "openai/gpt-4.1"}, Sampling(0.5, 10), {"temperature": 0.5, "max_tokens": 10}),
}


@pytest.mark.parametrize("name", SENT)
async def test_only_what_a_model_takes_is_sent(service: StandIn, name: str) -> None:
    settings, options, expected = SENT[name]
    await complete(chat("openai", service.url, **settings), ASKED, (), options)
    body = service.last.body
    assert {key: value for key, value in body.items() if key not in ("model", "messages", "stream", "stream_options")} == expected


async def test_messages_and_tools_are_sent_in_the_services_form(service: StandIn) -> None:
    calls = (ToolCall("1", "functions.search", {"query": "ü"}), ToolCall("2", "", {}))
    messages = [
        Message("system", "Be brief."),
        *SEARCH,
        Message("assistant", "", calls),
        Message("tool", "Nothing.", call_id="1"),
    ]
    await complete(chat("openai", service.url), messages, [TOOL])
    body = service.last.body
    functions = [{"name": "functions_search", "arguments": '{"query": "ü"}'}, {"name": "unnamed", "arguments": "{}"}]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Search for login."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": str(n + 1), "type": "function", "function": function} for n, function in enumerate(functions)],
        },
        {"role": "tool", "tool_call_id": "1", "content": "Nothing."},
    ]
    function = {"name": "search_code", "description": "Finds code.", "parameters": dict(TOOL.schema)}
    assert body["tools"] == [{"type": "function", "function": function}]
    await complete(chat("openai", service.url, tools=False), SEARCH, [TOOL])
    assert "tools" not in service.last.body


@pytest.mark.parametrize(
    ("model", "window", "longest", "tokenizer"),
    [
        ("gpt-4.1-mini", 1_047_576, 32_768, "o200k_base"),
        ("openai/gpt-4o-2024-08-06", 128_000, 16_384, "o200k_base"),
        ("gpt-4", 8_192, 8_192, "cl100k_base"),
        ("gpt-4-turbo", 128_000, 4_096, "cl100k_base"),
        ("o4-mini", 200_000, 100_000, "o200k_base"),
        ("anthropic/claude-sonnet-4.5", 200_000, None, None),
        ("qwen3-coder:30b", 8_192, None, None),
        ("gpt-oss:20b", 8_192, None, None),
        ("turbo4.1", 8_192, None, None),
    ],
)
def test_what_is_known_of_a_model(model: str, window: int, longest: int | None, tokenizer: str | None) -> None:
    spec = chat("openai", "http://127.0.0.1:9", model=model).spec
    assert (spec.id, spec.window, spec.max_output) == (f"openai:{model}", window, longest)
    assert (spec.tokenizer.name if spec.tokenizer else None) == tokenizer
    mine = chat("openai", "http://127.0.0.1:9", model=model, window=5_000, max_output=70, tools=False).spec
    assert (mine.window, mine.max_output, mine.tools, mine.leaves_machine) == (5_000, 70, False, False)


def settings(**more: Any) -> ModelSettings:
    return ModelSettings(provider="openai", **more)


async def test_a_key_nobody_named_goes_to_its_own_provider_only(service: StandIn) -> None:
    outbound = fake_outbound(openai=KEY)
    await complete(chat("openai", service.url, outbound, key=""), ASKED)
    assert KEY not in service.everything()
    assert "authorization" not in service.last.headers
    await complete(chat("openai", service.url, outbound, key="keyring"), ASKED)
    assert service.last.headers["authorization"] == f"Bearer {KEY}"
    service.script = [failure(401)]
    with pytest.raises(ProviderError, match=r"wants a key \(401\), and none was sent\. Say where it is"):
        await complete(chat("openai", service.url, outbound, key=""), ASKED)


async def test_openai_itself_wants_a_key_and_azure_has_a_header_of_its_own() -> None:
    model = chat_models().make(settings(), fake_outbound())
    assert (model.spec.id, model.spec.leaves_machine) == ("openai:gpt-4.1-mini", True)
    with pytest.raises(
        ProviderError, match=r"There is no key for openai\. Enter one with `carrel models key openai` or set `OPENAI_API_KEY`"
    ):
        await complete(model, ASKED)
    azure = openai_chat.openai_chat(
        "openai",
        ModelSettings(model="gpt-4.1", base_url="https://mine.openai.azure.com/openai/v1", key="keyring"),
        fake_outbound(openai=KEY),
    )
    assert await azure._client._auth.headers() == {"api-key": KEY}
    with pytest.raises(InvalidInput, match="Name the model"):
        chat_models().make(settings(base_url="http://localhost:1234/v1"), fake_outbound())


async def test_pieces_are_given_as_they_come(service: StandIn) -> None:
    service.script = [Reply("one two", pause=0.01)]
    pieces = [piece async for piece in chat("openai", service.url).stream(ASKED)]
    assert pieces == [Delta("one"), Delta(" two"), Delta(finish="stop")]


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.http.PAUSES", (0.0, 0.0, 0.0, 0.0))
