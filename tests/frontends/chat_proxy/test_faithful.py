"""A question's body goes on byte for byte, but for the one text that takes the context; and as it came where anything fails."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import Proxy, Upstream

from carrel.frontends.chat_proxy import upstream as chat_upstream
from carrel.frontends.chat_proxy.app import ChatProxy
from carrel.frontends.chat_proxy.questions import conversation_in

PATH = "/v1/chat/completions"
ASKED = b'"how does login work?"'
QUESTION = b'{"role": "user", "content": ' + ASKED + b"}"


def body(more: bytes, question: bytes = QUESTION) -> bytes:
    return b'{ "model": "m",' + more + b'\t"messages" : [ ' + question + b" ] }\r\n"


REWRITTEN = [
    body(b'"temperature": 1e999, "top_p": NaN, "n": 1.0, "seed": -0, "x": 1e2, "y": 0.1000000000000000055511151231257827,'),
    body(b'"seed": 123456789012345678901234567890, "metadata": {"a": 1, "a": 2}, "z": "\\/\\u00e9\xc3\xa9",'),
    body(b'"lone": "\\ud83d", "n": 1, "n": 2,'),
    body(b'"tools": ' + b"[" * 900 + b"]" * 900 + b","),
    body(b"", b'{"role": "user", "content": [{"type": "text", "text": ' + ASKED + b'}, {"type": "image_url", "n": 1.0}]}'),
]
UNTOUCHED = [
    body(b'"tools": ' + b"[" * 978 + b"]" * 978 + b","),
    body(b'"tools": ' + b"[" * 100_000 + b"]" * 100_000 + b","),
    body(b'"seed": ' + b"9" * 5_000 + b","),
    body(b'"name": "\xff\xfe",'),
    b"\xef\xbb\xbf" + body(b""),
    body(b"").decode().encode("utf-16"),
    body(b'"messages": [],'),
    body(b"", b'{"role": "user", "content": "no", "content": ' + ASKED + b"}"),
    body(b"")[:-6],
]


async def test_every_byte_stays_but_the_question(proxy: Proxy, upstream: Upstream) -> None:
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        for sent in REWRITTEN:
            answer = await http.post(PATH, content=sent)
            assert answer.status_code == 200, sent[:200]
            assert answer.headers["x-carrel-context"] in ("1 place", "1 remembered"), sent[:200]
            before, after = sent.split(ASKED)
            got = upstream.raw[-1]
            assert got.startswith(before + b'"<rag_context>'), sent[:200]
            assert got.endswith(b"\\n\\n" + ASKED[1:] + after), sent[:200]
        for sent in UNTOUCHED:
            answer = await http.post(PATH, content=sent)
            assert answer.status_code == 200, sent[:200]
            if upstream.raw[-1] != sent:  # another Python reads deeper; then only the question may differ
                assert upstream.raw[-1].endswith(b"\\n\\n" + ASKED[1:] + sent.split(ASKED)[1])
                assert b"[" * 978 in sent


async def test_half_an_emoji_in_the_question_comes_through(proxy: Proxy, upstream: Upstream) -> None:
    half = ASKED.replace(b"login", b"login \\ud83d")
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        answer = await http.post(PATH, content=body(b"").replace(ASKED, half))
    assert (answer.status_code, answer.headers["x-carrel-context"]) == (200, "1 place")
    assert upstream.raw[-1].startswith(body(b"").split(ASKED)[0] + b'"<rag_context>')
    assert upstream.raw[-1].endswith(b"\\n\\n" + half[1:] + body(b"").split(ASKED)[1])


async def nothing() -> AsyncIterator[bytes]:
    yield b""


class Broken:
    async def rewrite(self, _path: str, raw: bytes, _name: str | None, *_: Any) -> Any:
        raise RuntimeError(f"the words of {raw!r}")


async def test_a_fault_lets_the_question_pass_and_is_logged_without_it(caplog: pytest.LogCaptureFixture) -> None:
    got: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        got.append(request.content)
        return httpx.Response(200, content=nothing())

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        proxy = ChatProxy(chat_upstream.Upstream("http://127.0.0.1:9"), Broken(), client)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=httpx.ASGITransport(proxy), base_url="http://localhost") as http:
            with caplog.at_level(logging.INFO):
                given = await http.post(PATH, content=body(b""))
    assert (given.status_code, given.headers["x-carrel-context"], got) == (200, "failed", [body(b"")])
    told = [record.getMessage() for record in caplog.records if record.name.startswith("carrel")]
    assert len(told) == 1
    assert "RuntimeError at test_faithful.py:" in told[0]
    assert "login" not in caplog.text


@pytest.mark.parametrize(
    ("before", "history"),
    [
        ([], []),
        ([("user", "how are orders priced?"), ("assistant", "By total_price.")], ["how are orders priced?", "By total_price."]),
        ([("system", "Be brief."), ("tool", "42"), (["user"], "x"), (None, "y"), ("user", "  ")], []),
        ([("user", [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}])], ["one\ntwo"]),
        ([("assistant", None), ("assistant", {"text": "x"}), ("assistant", "kept")], ["kept"]),
    ],
)
def test_what_was_said_before_a_question_is_its_history(before: list[tuple[Any, Any]], history: list[str]) -> None:
    said = [*before, ("user", "and who checks that?")]
    messages = [{"role": role, "content": content} for role, content in said]
    question = conversation_in(PATH, json.dumps({"messages": [*messages, 7, "x"]}).encode())
    assert question
    assert question.question == "and who checks that?"
    assert [turn.text for turn in question.history] == history
