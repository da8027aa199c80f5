"""An upstream that breaks the protocol or speaks as Carrel: the caller gets its answer or a clear 502, and knows who spoke."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import Proxy, Shop, end, listening

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "how does login work?"}]}
JSON = b"Content-Type: application/json\r\n"
BODY = json.dumps({"choices": [{"message": {"role": "assistant", "content": "See auth.py:1-2."}}]}).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


class OddUpstream:
    """Answers every request with the same bytes, and leaves."""

    def __init__(self) -> None:
        self.answer = b""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection, connection.makefile("rb") as request:
                length, line = 0, b""
                while (line := request.readline()).strip():
                    length = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else length
                request.read(length)
                if not line:
                    return  # nothing was said: it is the end
                connection.sendall(self.answer)

    def close(self) -> None:
        socket.create_connection(self._socket.getsockname()).close()
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def odd() -> Iterator[OddUpstream]:
    upstream = OddUpstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="module")
def before_odd(odd: OddUpstream, shop: Shop) -> Iterator[Proxy]:
    proxy = listening(shop, odd.url)
    yield proxy
    end(proxy)


def asked(proxy: Proxy, odd: OddUpstream, *answer: bytes) -> httpx.Response:
    odd.answer = b"".join(answer)
    return httpx.post(f"{proxy.url}/v1/chat/completions", json=QUESTION, timeout=20, trust_env=False)


def test_what_is_no_whole_answer_is_told_as_such(odd: OddUpstream, before_odd: Proxy) -> None:
    drawn = random.SystemRandom()
    statuses = [str(number).zfill(3).encode() for number in (0, 99, 600, 999, *drawn.sample(range(600, 1_000), 3))]
    bad = [b"HTTP/1.1 %s Odd\r\n%s\r\n%s" % (status, LENGTH, BODY) for status in statuses]
    bad += [b"HTTP/1.1 200 OK\r\n" + JSON + b"Content-Length: %d\r\n\r\n" % (len(BODY) + drawn.randrange(1, 10**6)) + BODY]
    bad += [b"HTTP/1.1 200 OK\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + drawn.choice([b"zz", b"-1", b"5\r\nab"])]
    bad += [(b"HTTP/1.1 200 OK\r\n" + JSON + LENGTH + b"\r\n")[: drawn.randrange(60)], drawn.randbytes(200)]
    for answer in bad:
        given = asked(before_odd, odd, answer)
        assert (given.status_code, given.json()["error"]["type"]) == (502, "carrel_upstream_unreachable"), answer[:60]


def test_nobody_but_carrel_says_what_carrel_did(odd: OddUpstream, before_odd: Proxy) -> None:
    for name in ("x-carrel-context", "X-Carrel-Citations", "x-cArrel-" + random.SystemRandom().choice(["id", "audit", "a"])):
        forged = f"{name}: forged\r\nConnection: x-of-this-hop\r\nX-Of-This-Hop: 1\r\n".encode()
        given = asked(before_odd, odd, b"HTTP/1.1 200 OK\r\n", JSON, LENGTH, forged, b"\r\n", BODY)
        assert given.content == BODY
        assert "forged" not in str(given.headers)
        assert "x-of-this-hop" not in given.headers
        assert given.headers["x-carrel-context"] in ("1 place", "1 remembered")
