"""The real `carrel proxy` between the official client and a local upstream."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from tests.frontends.chat_proxy.conftest import WORDS, Proxy, Start, Upstream
from tests.shop import index, write_files
from tests.waiting import until

QUESTION = "how does login work?"
MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


def client_of(proxy: Proxy, path: str = "/v1", key: str = "sk-secret", **more: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=proxy.url + path, api_key=key, max_retries=0, **more)


async def test_context_goes_before_the_last_question_streamed_and_not(start: Start, upstream: Upstream) -> None:
    proxy = start()
    async with client_of(proxy) as client:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert answer.choices[0].message.content == "yes"
        assert upstream.question.startswith("<rag_context>")
        assert 'file="auth.py"' in upstream.question
        assert upstream.question.endswith(f"\n\n{QUESTION}")
        assert upstream.requests[-1][2]["messages"][0] == MESSAGES[0]
        assert upstream.requests[-1][1]["authorization"] == "Bearer sk-secret"
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        assert [chunk.choices[0].delta.content async for chunk in stream] == WORDS
        assert [model.id async for model in client.models.list()] == ["m"]
        await client.embeddings.create(model="m", input=QUESTION, encoding_format="float")
        assert upstream.requests[-1][2]["input"] == QUESTION
    noise = proxy.stop()
    assert "sk-secret" not in noise
    assert "login" not in noise


async def test_pieces_arrive_as_they_are_sent(proxy: Proxy, upstream: Upstream) -> None:
    async with client_of(proxy) as client:
        stream = await client.chat.completions.create(model="held", messages=MESSAGES, stream=True)
        pieces = aiter(stream)
        for word in WORDS:
            upstream.let_go.release()
            async with asyncio.timeout(20):  # a buffer would wait for the next word, which isn't sent before this one is here
                assert (await anext(pieces)).choices[0].delta.content == word


@pytest.mark.parametrize(
    ("status", "error"), [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)]
)
async def test_the_upstreams_errors_pass_unchanged(proxy: Proxy, status: int, error: type[openai.APIStatusError]) -> None:
    async with client_of(proxy) as client:
        with pytest.raises(error) as caught:
            await client.chat.completions.create(model=str(status), messages=MESSAGES)
    assert caught.value.body == {"message": f"as told: {status}", "type": "told", "code": "told"}
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["x-upstream"] == "yes"


async def test_a_cut_connection_is_cut_here_too(proxy: Proxy) -> None:
    async with client_of(proxy) as client:
        stream = await client.chat.completions.create(model="cut", messages=MESSAGES, stream=True)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError, openai.APIConnectionError)):
            async for _ in stream:
                pass


async def test_nobody_upstream_is_a_plain_error(start: Start) -> None:
    async with client_of(start("--upstream", "http://127.0.0.1:9")) as client:
        with pytest.raises(openai.InternalServerError, match="can't be reached"):
            await client.chat.completions.create(model="m", messages=MESSAGES)


async def test_who_leaves_in_mid_stream_ends_the_upstreams_work(proxy: Proxy, upstream: Upstream) -> None:
    async with client_of(proxy) as client:
        stream = await client.chat.completions.create(model="endless", messages=MESSAGES, stream=True)
        await anext(aiter(stream))
        await stream.close()
        await until(upstream.dropped.is_set)
        assert (await client.chat.completions.create(model="m", messages=MESSAGES)).choices


async def test_fifty_streams_at_once(proxy: Proxy, upstream: Upstream) -> None:
    async with client_of(proxy) as client:

        async def one(number: int) -> list[str | None]:
            messages: Any = [{"role": "user", "content": f"{QUESTION} {number}"}]
            stream = await client.chat.completions.create(model="slow", messages=messages, stream=True)
            return [chunk.choices[0].delta.content async for chunk in stream]

        answers = await asyncio.gather(*(one(number) for number in range(50)))
    assert answers == [WORDS] * 50
    sent = sorted(int(body["messages"][-1]["content"].rsplit(" ", 1)[1]) for _, _, body in upstream.requests)
    assert sent == list(range(50))


async def test_other_apis_get_context_too(proxy: Proxy, upstream: Upstream) -> None:
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        await http.post("/api/chat", json={"model": "m", "messages": MESSAGES})
        assert upstream.requests[-1][0] == "/api/chat"
        assert upstream.question.startswith("<rag_context>")
        await http.post("/api/generate", json={"model": "m", "prompt": QUESTION})
        assert upstream.requests[-1][2]["prompt"].startswith("<rag_context>")
        filling = {"model": "m", "prompt": "def f(", "suffix": "return 1"}
        await http.post("/api/generate", json=filling)
        assert upstream.requests[-1][2] == filling
        parts = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
        await http.post("/v1/responses", json={"model": "m", "input": parts})
        assert upstream.requests[-1][2]["input"][0]["content"][0]["text"].startswith("<rag_context>")


ODD: list[dict[str, Any]] = [
    {"messages": [{"role": "system", "content": "Be brief."}]},
    {"messages": []},
    {"messages": "how does login work?"},
    {"messages": [{"role": "user", "content": None}, 7]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
    {"messages": [{"role": "user", "content": "/help"}]},
    {"messages": [{"role": "user", "content": "### Task:\nGenerate a title for: how does login work?"}]},
    {"input": "how does login work?"},
]


@pytest.mark.parametrize("body", ODD)
async def test_what_holds_no_question_passes_unchanged(proxy: Proxy, upstream: Upstream, body: dict[str, Any]) -> None:
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        answer = await http.post("/v1/chat/completions", json={"model": "m", **body})
        assert answer.headers["x-carrel-context"] == "no question"
    assert upstream.requests[0][2] == {"model": "m", **body}


async def test_only_the_question_of_an_agents_request_changes(proxy: Proxy, upstream: Upstream) -> None:
    calls = [{"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in range(2)]
    results = [{"role": "tool", "tool_call_id": f"c{i}", "content": "text"} for i in range(2)]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    body: dict[str, Any] = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
        "parallel_tool_calls": True,
        "messages": [
            MESSAGES[0],
            {"role": "user", "content": [picture, {"type": "text", "text": QUESTION}]},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *results,
        ],
    }
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        await http.post("/v1/chat/completions", json=body)
    sent = upstream.requests[-1][2]
    text = sent["messages"][1]["content"][1].pop("text")
    assert text.startswith("<rag_context>")
    assert text.endswith(f"</rag_context>\n\n{body['messages'][1]['content'][1].pop('text')}")
    assert sent == body


async def test_what_a_program_repeats_from_its_system_prompt_is_not_asked(
    start: Start, upstream: Upstream, project: Path, env: dict[str, str]
) -> None:
    """Aider does so. Asked as well, it would find what it speaks of; here that is the other file."""
    reminder = (
        "To change the database connection pool, return the whole file of the database connection pool.\n\nReply in English."
    )
    (project / "pool.py").write_text("def open_database_connection_pool(size):\n    return [connect() for _ in range(size)]\n")
    index(project, env)
    system = {"role": "system", "content": f"You are a programmer.\n{reminder}\n\n"}
    async with client_of(start()) as client:
        for told, found in ((system, False), (MESSAGES[0], True)):
            user = {"role": "user", "content": f"authenticate_user\n\n{reminder}"}
            messages: Any = [told, user]
            await client.chat.completions.create(model="m", messages=messages)
            assert ("pool.py" in upstream.question) == found
            assert upstream.question.endswith(f"\n\n{user['content']}")


async def test_the_workspace_is_chosen_among_those_that_are_open(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    proxy = start("--workspace", str(other))
    body = {"model": "m", "messages": MESSAGES}
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        notes = [
            (await http.post(path, json=body, headers={"X-Carrel-Workspace": name} if name else {})).headers["x-carrel-context"]
            for path, name in (
                ("/v1/chat/completions", ""),
                ("/w/shop/v1/chat/completions", ""),
                ("/w/other/v1/chat/completions", ""),
                ("/v1/chat/completions", "other"),
                ("/v1/chat/completions", str(tmp_path)),
            )
        ]
    assert notes == ["1 place", "1 remembered", "no index", "no index", "unknown workspace"]
    assert {path for path, _, _ in upstream.requests} == {"/v1/chat/completions"}


async def test_a_long_conversation_leaves_no_room(start: Start, upstream: Upstream) -> None:
    async with client_of(start("--window", "4000")) as client:
        long: Any = [{"role": "user", "content": "x" * 12_000}, *MESSAGES]
        await client.chat.completions.create(model="m", messages=long)
    assert upstream.question == QUESTION


async def test_the_context_grows_with_the_window_that_the_upstream_tells(
    start: Start, upstream: Upstream, project: Path, env: dict[str, str]
) -> None:
    step = "def login_{0}(name):\n{1}    return name\n\n\n"
    big = "".join(step.format(n, "    # how the login does its work, a step of many\n" * 60) for n in range(9))
    index(write_files(project, {"auth.py": big}), env)
    upstream.windows = {"m": 100_000}
    async with client_of(start()) as client:
        await client.chat.completions.create(model="m", messages=MESSAGES)
        small = len(upstream.question)
        await until(lambda: bool(upstream.lists))
        assert upstream.lists[0]["authorization"] == "Bearer sk-secret"
        async with asyncio.timeout(30):
            while len(upstream.question) <= small:  # the list is read beside the questions
                another = str(len(upstream.requests))
                await client.chat.completions.create(model="m", messages=MESSAGES, prompt_cache_key=another)
    assert small <= 4_000 + 100
    assert len(upstream.lists) == 1


@pytest.mark.parametrize("on", [True, False])
async def test_what_an_answer_cites_is_checked_while_it_passes(start: Start, upstream: Upstream, on: bool) -> None:
    upstream.says = "It is in auth.py:1-2 and, so it seems, in gone.py:7."
    proxy = start(*([] if on else ["--no-citations"]))
    body = {"model": "m", "messages": MESSAGES}
    async with httpx.AsyncClient(base_url=proxy.url) as client:
        whole = await client.post("/v1/chat/completions", json=body)
        streamed = await client.post("/v1/chat/completions", json={**body, "stream": True})
        plain = await client.post("/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "/x"}]})
    assert whole.json()["choices"][0]["message"]["content"] == upstream.says
    events, _, last = streamed.text.partition("data: [DONE]\n\n")
    said = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in events.splitlines() if line]
    assert "".join(said) == upstream.says
    assert "x-carrel-citations" not in plain.headers  # no context was given
    if not on:
        assert (last, "x-carrel-citations" in whole.headers) == ("", False)
        return
    found = json.loads(whole.headers["x-carrel-citations"])
    assert (found["cited"], found["unsupported"]) == (2, 1)
    assert found["places"] == [
        {"place": "gone.py:7-7", "ok": False, "reason": "the file was not given"},
        {"place": "auth.py:1-2", "ok": True},
    ]
    assert last == f": x-carrel-citations {whole.headers['x-carrel-citations']}\n\n"
    async with client_of(proxy) as official:
        stream = await official.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == upstream.says


async def test_only_this_machine_and_only_with_the_token(start: Start, upstream: Upstream) -> None:
    proxy = start("--token-env", "T", "--upstream-key-env", "K", T="open-sesame", K="sk-up")
    async with client_of(proxy, key="wrong") as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()
    async with client_of(proxy, key="open-sesame") as client:
        await client.models.list()
    assert upstream.requests[-1][1]["authorization"] == "Bearer sk-up"
    async with httpx.AsyncClient(base_url=proxy.url, headers={"X-Carrel-Token": "open-sesame"}) as http:
        assert (await http.get("/v1/models")).status_code == 200
        assert "x-carrel-token" not in upstream.requests[-1][1]
        assert (await http.get("/v1/models", headers={"Host": "evil.example"})).status_code == 403
        assert (await http.get("/v1/models", headers={"Origin": "https://evil.example"})).status_code == 403


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
async def test_past_the_limit_questions_go_on_as_they_came_and_it_is_told_once(start: Start, upstream: Upstream) -> None:
    proxy = start("--rate-limit", "12")  # two at once
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        bodies = [{"model": "m", "messages": [{"role": "user", "content": f"{QUESTION} {n}"}]} for n in range(4)]
        answers = [await http.post("/v1/chat/completions", json=body) for body in bodies]
        assert (await http.get("/v1/models")).status_code == 200
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.headers["x-carrel-context"] for answer in answers] == ["1 place", "1 place", "rate limit", "rate limit"]
    assert upstream.requests[3][2] == bodies[3]
    assert proxy.stop().count("--rate-limit N") == 1


def test_ctrl_c_ends_it_quietly(start: Start) -> None:
    proxy = start()
    proxy.process.send_signal(signal.SIGINT)
    assert proxy.process.communicate(timeout=20) == ("", "")
    assert proxy.process.returncode == 130


async def test_settings_that_cannot_be_read_break_no_chat_and_send_nothing(
    start: Start, upstream: Upstream, project: Path
) -> None:
    (project / ".carrel.toml").write_text('exclude = ["auth.py"\n')
    proxy = start()
    async with client_of(proxy) as client:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert answer.choices[0].message.content == "yes"
        assert upstream.question == QUESTION
    assert ".carrel.toml can't be read" in proxy.stop()


async def test_a_folder_that_is_switched_off_meanwhile_gives_nothing_from_the_next_question_on(
    start: Start, upstream: Upstream, project: Path
) -> None:
    proxy = start()
    async with client_of(proxy) as client:
        await client.chat.completions.create(model="m", messages=MESSAGES)
        assert upstream.question != QUESTION
        (project / ".carrel.toml").write_text("ragEnabled = false\n")
        raw = await client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
        assert raw.headers["x-carrel-context"] == "off"
        assert upstream.question == QUESTION
