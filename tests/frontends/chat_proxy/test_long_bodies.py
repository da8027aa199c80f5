"""A long body goes on, as it came where looking into it would take too long, and nobody else waits for that."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import Proxy, Upstream

from carrel.frontends.chat_proxy.questions import conversation_in
from carrel.frontends.common import json_splice

QUESTION = {"role": "user", "content": "how does login work?"}
PATH = "/v1/chat/completions"
MANY = json_splice.MOST_SIGNS


def drawn_bodies() -> dict[str, Any]:
    count = random.SystemRandom().randrange(MANY, 2 * MANY)
    return {
        "numbers": {"messages": [QUESTION], "x": [1] * count},
        "messages": {"messages": [QUESTION] * (count // 8)},
        "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * (count // 8)}]},
        "quotes": {"messages": [{"role": "assistant", "content": '"' * count}, QUESTION]},
        "objects": {"messages": [QUESTION], "x": [{}] * count},
    }


@pytest.mark.parametrize("kind", ["numbers", "messages", "parts", "quotes", "objects"])
async def test_others_are_answered_meanwhile(proxy: Proxy, upstream: Upstream, kind: str) -> None:
    body = json.dumps({"model": "m", **drawn_bodies()[kind]}, separators=(",", ":")).encode()
    async with httpx.AsyncClient(base_url=proxy.url, timeout=60) as http:
        long = asyncio.create_task(http.post(PATH, content=body))
        slowest = 0.0
        while not long.done():
            began = time.monotonic()
            assert (await http.post(PATH, json={"model": "m", "messages": [QUESTION]})).status_code == 200
            slowest = max(slowest, time.monotonic() - began)
        answer = await long
    assert (answer.status_code, answer.headers["x-carrel-context"]) == (200, "too long")
    assert body in upstream.raw
    assert slowest < 5, "it took 10 to 40 s"


async def test_a_long_conversation_gets_its_context(proxy: Proxy, upstream: Upstream) -> None:
    said = {"role": "assistant", "content": "".join(random.SystemRandom().choices('ab ",\n', k=MANY))}
    sent = {"model": "m", "messages": [QUESTION, said, QUESTION], "options": {"num_ctx": 10**6}}
    async with httpx.AsyncClient(base_url=proxy.url, timeout=60) as http:
        answer = await http.post(PATH, json=sent)
    assert answer.headers["x-carrel-context"].startswith("1 place")
    assert "def authenticate_user" in upstream.question


async def test_what_is_not_sent_again_is_not_called_so(proxy: Proxy, upstream: Upstream) -> None:
    sent = json.dumps({"model": "m", "user": str(random.SystemRandom().random()), "messages": [QUESTION]}).encode()
    twice = sent.replace(b"{", b'{"messages":[],', 1)  # nobody can tell which of them the upstream reads
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        notes = [(await http.post(PATH, content=body)).headers["x-carrel-context"] for body in (sent, sent, twice)]
    assert notes == ["1 place", "1 remembered", "no question"]
    assert upstream.raw[-1] == twice


def test_what_a_program_repeats_at_the_end_is_cut_off_wherever_it_begins() -> None:
    drawn = random.SystemRandom()

    def words(count: int) -> str:
        return "".join(drawn.choices(["a ", "b ", "\n\n", "\n\n\n", "c"], k=count))

    for _ in range(200):
        instructions = words(300)
        text = (
            "how does login work?"
            + words(20)
            + instructions[drawn.randrange(len(instructions)) :]
            + drawn.choice(["", "\n", "d"])
        )
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        conversation = conversation_in(PATH, json.dumps({"messages": messages}).encode())
        assert conversation
        at = text.find("\n\n", max(len(text) - len(instructions) - 80, 0))
        while at >= 0 and len(text[at:].strip()) >= 80 and text[at:].strip() not in instructions:
            at = text.find("\n\n", at + 2)
        expected = text[:at] if at >= 0 and len(text[at:].strip()) >= 80 else text
        assert conversation.question == expected, (instructions, text)


def test_a_text_of_many_paragraphs_takes_no_minutes() -> None:
    messages = [{"role": "system", "content": "a\n\n" * 300_000}, {"role": "user", "content": "who?" + "\n\nb" * 200_000}]
    began = time.monotonic()
    assert conversation_in(PATH, json.dumps({"messages": messages}).encode())
    assert time.monotonic() - began < 20
