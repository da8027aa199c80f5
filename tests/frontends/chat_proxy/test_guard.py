"""Raw requests to the real `carrel proxy`: none reaches another server than the upstream, and no web page is answered."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest
from tests.frontends.chat_proxy.conftest import Start, Upstream

KEY = "sk-of-the-upstream"
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "how does login work?"}]}'


def ask(url: str, target: bytes, *lines: bytes, method: bytes = b"POST", version: bytes = b"HTTP/1.1") -> int:
    """Send a request of exactly these bytes; gives the status."""
    parts = urlsplit(url)
    assert parts.port
    body = BODY if method == b"POST" else b""
    start = method + b" " + target + b" " + version
    head = [start, *(lines or (b"Host: localhost",)), b"Connection: close", b"Content-Length: %d" % len(body)]
    with socket.create_connection((parts.hostname, parts.port), 20) as connection:
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        answer = connection.makefile("rb").readline()
    return int(answer.split()[1])


@pytest.fixture
def stranger() -> Iterator[tuple[int, list[str]]]:
    """Another server: its port, and the request lines and keys that it was sent."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.requestline} {self.headers['Authorization']}")
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port, seen
    server.shutdown()
    server.server_close()
    thread.join()


TARGETS = [
    b":%d/v1/chat/completions",
    b"@127.0.0.1:%d/v1/chat/completions",
    b"user:word@127.0.0.1:%d/v1/chat/completions",
    b".evil.example/v1/chat/completions",
    b"http://127.0.0.1:%d/v1/chat/completions",
    b"HTTP://localhost:%d/v1/models",
    b"//127.0.0.1:%d/v1/chat/completions",
    b"///127.0.0.1:%d/v1/chat/completions",
    b"/\\127.0.0.1:%d/v1/chat/completions",
    b"\\\\127.0.0.1:%d/v1/chat/completions",
    b"/w/shop//127.0.0.1:%d/v1/chat/completions",
    b"/w//@127.0.0.1:%d/../v1",
    b"/v1/../../admin",
    b"/v1/%2e%2E/admin",
    b"/v1/..%2fadmin",
    b"/v1/..%5cadmin",
    b"/w/shop/../admin",
    b"/w/..//127.0.0.1:%d/v1",
    b"/w/%2e%2e/v1/models",
    b"/w/%00/v1/models",
    b"/v1/./models",
    b"/v1/models#@127.0.0.1:%d",
    b"/v1/models%0d%0aHost:%20evil.example",
    b"/v1/models%00",
    b"/v1/mod\tels",
    b"/v1/mod\rels",
    b"/v1/mod\nels",
    b"/v1/mod\xffels",
    b"*",
    b"127.0.0.1:%d",
    b"?@127.0.0.1:%d/",
    b"%%2f%%2f127.0.0.1:%d/",
]


def test_no_target_leads_to_another_server(start: Start, stranger: tuple[int, list[str]]) -> None:
    port, seen = stranger
    proxy = start("--upstream", "http://127.0.0.1", "--upstream-key-env", "K", K=KEY)  # no port: what follows it would be one
    filled = [target % port if b"%d/" in target or target.endswith(b"%d") else target for target in TARGETS]
    given = {target: ask(proxy.url, target) for target in filled}
    assert given == dict.fromkeys(filled, 400)
    for method, target in ((b"CONNECT", b"127.0.0.1:%d" % port), (b"CONNECT", b"/v1/models"), (b"TRACE", b"/v1/models")):
        assert ask(proxy.url, target, method=method) == 405
    assert seen == []
    assert KEY not in proxy.stop()


def test_paths_queries_and_keys_pass_as_they_come(start: Start, upstream: Upstream) -> None:
    proxy = start("--upstream", upstream.url + "/base/v1", "--upstream-key-env", "K", K=KEY)
    for target in (b"/v1/models/org%2Fname?a=/../b&c=@d:1", b"/w/shop/v1/models/a:b@c", b"/models/..a"):
        assert ask(proxy.url, target, method=b"GET") == 200
    assert [path for path, _, _ in upstream.requests] == [
        "/base/v1/models/org%2Fname?a=/../b&c=@d:1",
        "/base/v1/models/a:b@c",
        "/base/v1/models/..a",
    ]
    assert {headers["authorization"] for _, headers, _ in upstream.requests} == {f"Bearer {KEY}"}


def test_a_redirect_is_not_followed(start: Start, upstream: Upstream, stranger: tuple[int, list[str]]) -> None:
    port, seen = stranger
    upstream.redirect = f"http://127.0.0.1:{port}/v1/chat/completions"
    proxy = start("--upstream-key-env", "K", K=KEY)
    answer = httpx.post(proxy.url + "/v1/chat/completions", content=BODY)
    assert (answer.status_code, answer.headers["location"]) == (307, upstream.redirect)
    assert upstream.requests[-1][1]["authorization"] == f"Bearer {KEY}"
    assert seen == []


HERE = b"Host: localhost"
REFUSED = [
    (b"Host: [::1",),
    (b"Host: ::1",),
    (b"Host: [::1]evil.example",),
    (b"Host: evil.example@127.0.0.1",),
    (b"Host: 127.0.0.1:80@evil.example",),
    (b"Host: 127.0.0.1/evil.example",),
    (b"Host: localhost:port",),
    (b"Host: localhost:99999",),
    (b"Host: localhost, evil.example",),
    (b"Host: localhost.evil.example",),
    (b"Host: localhost%2eevil.example",),
    (b"Host: localhost..",),
    (b"Host: 0.0.0.0",),
    (b"Host: evil.example",),
    (b"Host:",),
    (HERE, b"Host: evil.example"),
    (HERE, b"Origin: http://[::1"),
    (HERE, b"Origin: http://evil.example@127.0.0.1"),
    (HERE, b"Origin: http://localhost/path"),
    (HERE, b"Origin: http://localhost evil.example"),
    (HERE, b"Origin: https://evil.example"),
    (HERE, b"Origin: //localhost"),
    (HERE, b"Origin: localhost"),
    (HERE, b"Origin: null"),
    (HERE, b"Origin:"),
    (HERE, b"Origin: http://localhost", b"Origin: https://evil.example"),
    (HERE, b"Sec-Fetch-Site: cross-site"),
    (HERE, b"Sec-Fetch-Site: same-origin", b"Sec-Fetch-Site: Cross-Site"),
]
ANSWERED = [
    (b"Host: LOCALHOST.:4141",),
    (b"Host: [::1]:4141",),
    (b"Host: 127.0.0.2",),
    (HERE, b"Origin: http://localhost:3000", b"Sec-Fetch-Site: cross-site"),  # a page of this machine by its other name
    (HERE, b"Origin: http://[::1]:3000"),
    (HERE, b"Origin: tauri://localhost"),
    (HERE, b"Sec-Fetch-Site: none"),
]


def test_callers_are_told_by_host_and_origin(start: Start, upstream: Upstream) -> None:
    proxy = start("--upstream-key-env", "K", K=KEY)
    refused = {lines: ask(proxy.url, b"/v1/models", *lines, method=b"GET") for lines in REFUSED}
    assert {lines: status for lines, status in refused.items() if status not in (400, 403)} == {}
    assert ask(proxy.url, b"/v1/models", b"X: no host", method=b"GET", version=b"HTTP/1.0") in (400, 403)
    assert upstream.requests == []
    answered = {lines: ask(proxy.url, b"/v1/models", *lines, method=b"GET") for lines in ANSWERED}
    assert answered == dict.fromkeys(ANSWERED, 200)


def test_the_callers_token_never_goes_on(start: Start, upstream: Upstream) -> None:
    proxy = start("--token-env", "T", T="open-sesame")
    lines = (HERE, b"Authorization: Bearer of-the-upstream", b"Authorization: Bearer open-sesame", b"X-Carrel-Token: open-sesame")
    assert ask(proxy.url, b"/v1/models", *lines, method=b"GET") == 200
    assert upstream.requests[-1][1]["authorization"] == "Bearer of-the-upstream"


def test_names_of_workspaces_open_nothing(start: Start, upstream: Upstream) -> None:
    proxy = start()
    names = (b"%2Fetc", b"%ff", b"a@b:1", b"[", b"x" * 5_000)
    assert {name: ask(proxy.url, b"/w/" + name + b"/v1/chat/completions") for name in names} == dict.fromkeys(names, 200)
    for name in (b"../..", b"/etc/passwd", b"\xff", b"http://127.0.0.1/"):
        assert ask(proxy.url, b"/v1/chat/completions", HERE, b"X-Carrel-Workspace: " + name) == 200
    assert {path for path, _, _ in upstream.requests} == {"/v1/chat/completions"}
    assert all(body["messages"][0]["content"] == "how does login work?" for _, _, body in upstream.requests)


def test_a_key_that_everybody_may_use_is_told(start: Start) -> None:
    assert "--token-env" in start("--upstream-key-env", "K", K=KEY).stop()
    assert "--token-env" not in start("--upstream-key-env", "K", "--token-env", "T", K=KEY, T="open-sesame").stop()
