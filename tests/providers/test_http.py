"""The HTTP client of the providers: what it sends, tries again, gives up, and says."""

from __future__ import annotations

import gzip
import logging
import pickle
from collections.abc import AsyncIterator, Callable, Sequence

import httpx
import pytest
from msgspec.structs import replace

from carrel.model.errors import InvalidInput, NotAllowed, ProviderError
from carrel.model.fakes import FakeMeter, FakePermissions, fake_outbound
from carrel.model.outbound import Destination, Load, Outbound, Secret, collect, is_loopback, summed
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers.http import KeyAuth, ServiceClient
from carrel.providers.service import Service

KEY = "sk-planted-0123456789"
OPENAI = Service("openai", "OpenAI", "https://api.openai.com/v1", "embedder")
Answer = httpx.Response | Exception


class Server:
    """Answers in turn; `requests` holds what came."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def client(
    server: Server, pauses: list[float] | None = None, service: Service = OPENAI, outbound: Outbound | None = None
) -> ServiceClient:
    async def sleep(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    outbound = outbound or fake_outbound(openai=KEY)
    return ServiceClient(
        service, outbound, KeyAuth(outbound, service.provider), sleep=sleep, transport=httpx.MockTransport(server)
    )


def ok(**more: str) -> httpx.Response:
    return httpx.Response(200, json={"fine": True}, headers=more)


async def test_a_request_has_the_key_and_json_and_is_counted() -> None:
    server, outbound = Server(ok()), fake_outbound(openai=KEY)
    with collect() as receipt:
        assert await client(server, outbound=outbound).post("/embeddings", {"input": ["ü\ud800"]}, Load(1, 2)) == {"fine": True}
    (request,) = server.requests
    assert str(request.url) == "https://api.openai.com/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.content.decode() == '{"input": ["ü?"]}'
    destination = Destination("openai", "api.openai.com")
    assert isinstance(outbound.meter, FakeMeter)
    assert outbound.meter.used == [(destination, Load(1, 2))]
    assert [(sent.destination, sent.load.texts) for sent in receipt.sent] == [(destination, 1)]


async def test_what_is_held_for_a_request_is_settled_however_it_ends() -> None:
    server = Server(httpx.Response(429), httpx.ConnectError("no"), httpx.Response(500), ok())
    meter = UsageMeter(None, lambda: Limits(cost_per_day=1.0))
    outbound = replace(fake_outbound(openai=KEY), meter=meter)
    asked = client(server, [], outbound=outbound)
    load = Load(1, tokens=5, dollars=0.1, reserve=0.6)
    for _ in range(2):
        with pytest.raises(ProviderError):
            await asked.post("/embeddings", {}, load)
    assert meter.total().dollars == pytest.approx(0)
    with collect() as receipt:
        async with asked.lines("/chat", {"a": 1}, load) as lines:
            assert meter.total().dollars == pytest.approx(0.7)
            assert [line async for line in lines]
            asked.used(Load(tokens=3, dollars=0.2))
    assert meter.total().dollars == pytest.approx(0.3)
    (sent,) = summed(receipt)
    assert (sent.bytes, sent.load.requests, sent.load.tokens, round(sent.load.dollars, 6)) == (7, 1, 8, 0.3)


@pytest.mark.parametrize(
    ("answers", "pauses"),
    [
        ([429, 429, 429, 429, 200], [0.5, 1, 2, 4]),
        ([("429", "7"), 200], [7]),
        ([("429", "900"), 200], [30]),
        ([("429", "0"), 200], [0]),
        ([("429", "soon"), 200], [0.5]),
        ([("429", "Wed, 21 Oct 2015 07:28:00 GMT"), 200], [0]),
    ],
)
async def test_a_rate_that_is_refused_is_waited_for(answers: Sequence[object], pauses: list[float]) -> None:
    slept: list[float] = []
    server = Server(*(_answer(item) for item in answers))
    assert await client(server, slept).post("/x", {}) == {}
    assert slept == pauses


async def test_five_refusals_of_the_rate_are_enough() -> None:
    server = Server(*(_answer(429) for _ in range(9)))
    with pytest.raises(ProviderError, match=r"allows no more requests for now \(429\)") as raised:
        await client(server, []).post("/x", {})
    assert len(server.requests) == 5
    assert not raised.value.retryable


@pytest.mark.parametrize(
    ("answer", "said", "retryable"),
    [
        (401, r"OpenAI refused the key \(401\)\. Enter another with `carrel models key openai`", False),
        (404, "knows no such model or path", False),
        (307, "wants the request sent elsewhere", False),
        (500, r"OpenAI failed \(500\)", True),
        (503, "failed", True),
        (422, r"refused the request \(422\)", False),
        (httpx.ConnectError(KEY), "can't be reached at api.openai.com", True),
        (httpx.ReadTimeout(KEY), "stopped answering for 60 s", True),
        (httpx.RemoteProtocolError(KEY), "cut the connection in the middle", True),
    ],
)
async def test_any_other_failure_is_told_at_once(answer: int | Exception, said: str, retryable: bool) -> None:
    server = Server(answer if isinstance(answer, Exception) else _answer(answer))
    with pytest.raises(ProviderError, match=said) as raised:
        await client(server).post("/x", {})
    assert len(server.requests) == 1
    assert raised.value.retryable is retryable


async def test_a_redirect_is_not_followed() -> None:
    server = Server(httpx.Response(302, headers={"location": "https://evil.example/"}), ok())
    with pytest.raises(ProviderError, match="elsewhere"):
        await client(server).post("/x", {})
    assert len(server.requests) == 1


async def test_what_a_service_says_with_an_error_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key", "type": KEY}}
    server = Server(httpx.Response(401, json=body))
    with pytest.raises(ProviderError) as raised:
        await client(server).post("/x", {"input": "def private(): ..."})
    assert "401 invalid_api_key" in str(raised.value)
    assert KEY not in f"{raised.value!r}{raised.value.__dict__}{caplog.text}"
    assert "private" not in caplog.text


async def test_nothing_is_sent_where_nobody_allowed_it() -> None:
    server, outbound = Server(ok()), replace(fake_outbound(openai=KEY), permissions=FakePermissions([]))
    with collect() as receipt, pytest.raises(NotAllowed, match=r"carrel confirm openai api\.openai\.com"):
        await client(server, outbound=outbound).post("/x", {})
    assert (server.requests, receipt.sent) == ([], [])


@pytest.mark.parametrize(("url", "sent"), [("http://llm.example/v1", False), ("http://127.0.0.1:8000/v1", True)])
async def test_a_key_is_sent_encrypted_or_on_this_machine(url: str, sent: bool) -> None:
    server = Server(ok())
    asked = client(server, service=replace(OPENAI, base_url=url))
    if sent:
        await asked.post("/x", {})
    else:
        with pytest.raises(ProviderError, match="without encryption"):
            await asked.post("/x", {})
    assert len(server.requests) == sent


@pytest.mark.parametrize(
    "url", ["ftp://x/", "https://", "https://a:b@x/", "https://x/?q=1", "nonsense", "http://x:0/", "http://[::1"]
)
def test_a_base_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="baseUrl"):
        replace(OPENAI, base_url=url)


@pytest.mark.parametrize(
    ("lines", "pieces"),
    [
        (["data: a", "", "data: b\u2028c"], [b"data: a\r\n", b"\r", b"\ndata: b\xe2\x80", b"\xa8c\n"]),
        (["one", "two"], [b"one\ntwo"]),
        ([], []),
    ],
)
async def test_lines_come_whole_however_their_bytes_do(lines: list[str], pieces: list[bytes]) -> None:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    server = Server(httpx.Response(200, content=body()))
    async with client(server).lines("/x", {}) as found:
        assert [line async for line in found] == lines


async def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrel.providers.http.MOST_BYTES", 1000)
    monkeypatch.setattr("carrel.providers.http.MOST_LINE", 1000)
    server = Server(httpx.Response(200, content=b"x" * 2000), httpx.Response(200, content=b"x" * 2000))
    asked = client(server)
    with pytest.raises(ProviderError, match="more than"):
        await asked.post("/x", {})
    async with asked.lines("/x", {}) as found:
        with pytest.raises(ProviderError, match="a line of more than"):
            _ = [line async for line in found]


@pytest.mark.parametrize("status", [200, 500])
async def test_a_compressed_answer_is_refused_before_it_is_unpacked(status: int) -> None:
    bomb = httpx.Response(status, stream=httpx.ByteStream(gzip.compress(b"0" * 10_000_000)), headers={"content-encoding": "gzip"})
    server = Server(bomb)
    with pytest.raises(ProviderError, match="compressed answer" if status == 200 else r"failed \(500\)"):
        await client(server).post("/x", {})
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_permission_that_is_withdrawn_stops_a_request_that_waits() -> None:
    permissions = FakePermissions([Destination("openai", "api.openai.com")])
    outbound = replace(fake_outbound(openai=KEY), permissions=permissions)
    server = Server(_answer(429), ok())
    asked = client(server, outbound=outbound)

    async def withdraw(_: float) -> None:
        permissions.allowed = []

    asked._sleep = withdraw
    with pytest.raises(NotAllowed):
        await asked.post("/x", {})
    assert len(server.requests) == 1


def test_a_host_that_is_allowed_for_https_is_not_allowed_without_encryption() -> None:
    hosts = [replace(OPENAI, base_url=url).destination.host for url in ("https://llm.example/v1", "http://llm.example/v1")]
    assert hosts == ["llm.example", "llm.example:80"]


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"", b"[" * 100_000])
async def test_what_is_not_json_is_a_clear_error(body: bytes) -> None:
    with pytest.raises(ProviderError, match="not JSON"):
        await client(Server(httpx.Response(200, content=body))).post("/x", {})


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *[(host, True) for host in ("localhost", "LOCALHOST:11434", "127.0.0.1", "127.3.2.1:80", "[::1]", "[::1]:80")],
        *[
            (host, False)
            for host in ("localhost.evil.example", "a.localhost", "10.0.0.1", "example.com", "127.0.0.1.nip.io", "[::2]")
        ],
    ],
)
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_key_shows_itself_to_nobody() -> None:
    key = Secret(KEY)
    assert KEY not in f"{key} {key!r} {[key]}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


def _answer(item: object) -> httpx.Response:
    after: Callable[[object], dict[str, str]] = lambda value: {"retry-after": str(value)}  # noqa: E731
    if isinstance(item, tuple):
        return httpx.Response(int(item[0]), json={}, headers=after(item[1]))
    assert isinstance(item, int)
    return httpx.Response(item, json={})
