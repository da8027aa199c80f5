"""Requests whose length or form is in doubt, over a raw socket: the upstream gets one request or none, and the proxy goes on."""

from __future__ import annotations

import random
import socket
from urllib.parse import urlsplit

import pytest
from tests.frontends.chat_proxy.conftest import Proxy, Upstream

SMUGGLED = b"POST /smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
QUESTION = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'


def chunked(*pieces: bytes, extension: bytes = b"") -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in (*pieces, b""))


def post(*lines: bytes, body: bytes = b"", target: bytes = b"/v1/chat/completions", line: bytes = b"\r\n") -> bytes:
    return line.join((b"POST %s HTTP/1.1" % target, b"Host: localhost", *lines, b"", b"")) + body


LENGTH = b"Content-Length: %d" % len(QUESTION)
CHUNKED = b"Transfer-Encoding: chunked"
REQUESTS: dict[str, bytes] = {
    "two lengths": post(LENGTH, b"Content-Length: 3", body=QUESTION + SMUGGLED),
    "a list of lengths": post(b"Content-Length: %d, 3" % len(QUESTION), body=QUESTION + SMUGGLED),
    "a signed length": post(b"Content-Length: +%d" % len(QUESTION), body=QUESTION + SMUGGLED),
    "a negative length": post(b"Content-Length: -1", body=SMUGGLED),
    "a length in other digits": post("Content-Length: ٦٦".encode(), body=QUESTION + SMUGGLED),
    "a length that never ends": post(b"Content-Length: " + b"9" * 400, body=SMUGGLED),
    "an unknown coding": post(b"Transfer-Encoding: xchunked", body=SMUGGLED),
    "two codings": post(b"Transfer-Encoding: gzip, chunked", body=chunked(QUESTION) + SMUGGLED),
    "a coding twice": post(CHUNKED, b"Transfer-Encoding: identity", body=chunked(QUESTION) + SMUGGLED),
    "a blank before the colon": post(b"Transfer-Encoding : chunked", body=chunked(QUESTION) + SMUGGLED),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked, x", body=chunked(QUESTION) + SMUGGLED),
    "a chunk's size with a sign": post(CHUNKED, body=b"+42\r\n" + QUESTION + b"\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk's size with 0x": post(CHUNKED, body=b"0x42\r\n" + QUESTION + b"\r\n0\r\n\r\n" + SMUGGLED),
    "a chunk's size without end": post(CHUNKED, body=b"f" * 40 + b"\r\n" + SMUGGLED),
    "a chunk longer than it says": post(CHUNKED, body=b"1\r\n" + QUESTION + b"\r\n0\r\n\r\n" + SMUGGLED),
    "a line break in an extension": post(CHUNKED, body=chunked(QUESTION, extension=b';a="\n0\r\n\r\n')),
    "a zero byte in a header": post(LENGTH, b"X-A: a\0b", body=QUESTION),
    "a bare return in a header": post(LENGTH, b"X-A: a\rTransfer-Encoding: chunked", body=QUESTION),
    "a header without a name": post(LENGTH, b": x", body=QUESTION),
    "200,000 bytes of header": post(LENGTH, b"X-A: " + b"a" * 200_000, body=QUESTION),
    "10,000 headers": post(LENGTH, *(b"X-%d: a" % n for n in range(10_000)), body=QUESTION),
    "a version of its own": post(LENGTH, body=QUESTION).replace(b"HTTP/1.1", b"HTTP/3.0", 1),
    "no version": b"POST /v1/chat/completions\r\nHost: localhost\r\n\r\n",
    "HTTP/2 without being asked": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 40,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "a tunnel": b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    **{
        f"a tunnel or an echo called {name}": b"%s /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n" % name.encode()
        for name in (
            "".join(map(random.SystemRandom().choice, zip(word, word.lower(), strict=True))) for word in ("CONNECT", "TRACE")
        )
    },
    "all of the server": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
TWO_LENGTHS: dict[str, tuple[bytes, ...]] = {
    "chunks and a length": (CHUNKED, b"Content-Length: 5"),
    "a length and chunks": (b"Content-Length: 5", CHUNKED),
    "the right length": (CHUNKED, LENGTH),
    "a length of nothing": (CHUNKED, b"Content-Length: 0"),
    "other letters": (b"tRANSFER-eNCODING: ChUnKeD", b"CONTENT-LENGTH: 5"),
    "the same length twice": (CHUNKED, b"Content-Length: 5", b"Content-Length: 5"),
    "the same coding twice": (CHUNKED, CHUNKED, b"Content-Length: 5"),
    "a list of codings": (b"Transfer-Encoding: chunked, identity", b"Content-Length: 5"),
    "another coding first": (b"Transfer-Encoding: identity, chunked", b"Content-Length: 5"),
    "a coding of blanks": (b"Transfer-Encoding: \t chunked \t", b"Content-Length: 5"),
    "a tab in the coding": (b"Transfer-Encoding: \x0bchunked", b"Content-Length: 5"),
    "a folded coding": (b"Transfer-Encoding:\r\n chunked", b"Content-Length: 5"),
    "a folded length": (CHUNKED, b"Content-Length:\r\n 5"),
    "a length hidden as a hop's": (CHUNKED, b"Content-Length: 5", b"Connection: content-length"),
    "a coding hidden as a hop's": (CHUNKED, b"Content-Length: 5", b"Connection: close, transfer-encoding"),
}
TARGETS = (
    b"/v1/chat/completions",
    b"/v1/responses",
    b"/api/chat",
    b"/api/generate",
    b"/v1/embeddings",
    b"/w/shop/v1/other",
    b"/x",
)
PASSED: dict[str, bytes] = {
    "chunks with extensions": post(CHUNKED, body=chunked(QUESTION[:9], QUESTION[9:], extension=b";a=b;c")),
    "an upgrade": post(
        LENGTH, b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk", body=QUESTION
    ),
    "a websocket": post(LENGTH, b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Key: AAAA", body=QUESTION),
    "a length that is called a hop's": post(LENGTH, b"Connection: content-length", body=QUESTION),
    "a trailer": post(CHUNKED, b"Trailer: Authorization", body=chunked(QUESTION)[:-2] + b"Authorization: Bearer x\r\n\r\n"),
}


def exchange(url: str, sent: bytes) -> bytes:
    """Send bytes; return the first answer's status line, or nothing where the connection was closed without one."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port or 0), 20) as connection, connection.makefile("rb") as answer:
        try:
            connection.sendall(sent)
            return answer.readline()
        except (ConnectionResetError, BrokenPipeError):
            return b""  # what was refused isn't read to its end


def whole_exchange(url: str, sent: bytes) -> tuple[bytes, bytes]:
    """Send bytes; return the first answer's status line and all behind it, until the other side has closed the connection."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port or 0), 20) as connection, connection.makefile("rb") as answer:
        connection.sendall(sent)
        first = answer.readline()
        try:
            return first, answer.read()
        except ConnectionResetError:
            return first, b""  # what was refused isn't read to its end


@pytest.fixture
def url(proxy: Proxy) -> str:
    return proxy.url


def test_requests_in_doubt_never_become_two(url: str, upstream: Upstream) -> None:
    for name, sent in REQUESTS.items():
        answer = exchange(url, sent)
        refused = not answer or answer.split(b" ", 2)[1] in (b"400", b"405", b"413", b"431", b"501", b"505")
        # 502: the upstream itself refuses so many headers.
        passed = b"smuggled" not in sent and answer.split(b" ", 2)[1] in (b"200", b"502")
        assert refused or passed, (name, answer)
        assert [path for path, *_ in upstream.requests if path == "/smuggled"] == [], name
        upstream.requests.clear()
    for name, sent in PASSED.items():
        answer = exchange(url, sent)
        [(path, headers, body)] = upstream.requests
        assert (answer.split(b" ", 2)[1], path, body["messages"][-1]["content"]) == (b"200", "/v1/chat/completions", "hello"), (
            name
        )
        assert not {"upgrade", "http2-settings", "sec-websocket-accept", "transfer-encoding", "trailer"} & set(headers), name
        assert "authorization" not in headers, name
        upstream.requests.clear()


def test_a_request_with_two_lengths_is_refused_before_anything_is_sent(url: str, upstream: Upstream) -> None:
    for name, lines in TWO_LENGTHS.items():
        for target in TARGETS:
            for method in (b"POST", b"PUT", b"GET"):
                sent = post(*lines, target=target, body=chunked(QUESTION) + SMUGGLED).replace(b"POST", method, 1)
                first, rest = whole_exchange(url, sent)
                # 501: the server itself knows no such coding.
                assert first.split(b" ", 2)[1] in (b"400", b"501"), (name, target, method, first)
                assert b"HTTP/1.1" not in rest, (name, target, "a second answer on a connection that must be closed")
    old = post(CHUNKED, body=chunked(QUESTION) + SMUGGLED).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    assert exchange(url, old).split(b" ", 2)[1] == b"400"
    assert upstream.requests == []
    assert exchange(url, post(LENGTH, body=QUESTION)).startswith(b"HTTP/1.1 200")


def test_callers_that_send_slowly_or_nothing_hold_up_nobody(url: str, upstream: Upstream) -> None:
    parts = urlsplit(url)
    waiting = []
    for begun in (b"", b"POST /v1", post(LENGTH), post(LENGTH, body=QUESTION[:5]), post(CHUNKED, body=b"42\r\nx")) * 20:
        connection = socket.create_connection((parts.hostname, parts.port or 0), 20)
        connection.sendall(begun)
        waiting.append(connection)
    try:
        assert exchange(url, post(LENGTH, body=QUESTION)).startswith(b"HTTP/1.1 200")
        assert len(upstream.requests) == 1
    finally:
        for connection in waiting:
            connection.close()
    assert exchange(url, post(LENGTH, body=QUESTION)).startswith(b"HTTP/1.1 200")
