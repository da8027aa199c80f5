from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.shop import environment, index, write_files

WORDS = ["The ", "login ", "checks ", "the ", "password."]


@dataclass
class Upstream:
    """A local API that does what the model's name says, and keeps what it was sent."""

    url: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)  # the bodies as they came
    lists: list[dict[str, str]] = field(default_factory=list)  # headers of the proxy's own requests for the models
    says: str = ""  # what every answer is, where this is set
    windows: dict[str, int] = field(default_factory=dict)  # what they are told, by model
    redirect: str = ""  # where every question is sent to, if anywhere
    dropped: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))  # a word each of the model "held"
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # tools that a stream calls first, all at once

    @property
    def question(self) -> Any:
        return self.requests[-1][2]["messages"][-1]["content"]


class Handler(BaseHTTPRequestHandler):
    server: Server
    upstream: Upstream
    protocol_version = "HTTP/1.1"

    def parse_request(self) -> bool:
        self.upstream = self.server.upstream  # of the test that sent it: a connection may outlive one
        return super().parse_request()

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if headers.get("user-agent") == "carrel":
            self.upstream.lists.append(headers)
            data = [{"id": name, "context_length": window} for name, window in self.upstream.windows.items()]
            self.answer(200, {"object": "list", "data": data})
            return
        self.upstream.requests.append((self.path, headers, None))
        self.answer(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.upstream.raw.append(raw)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = {}
        self.upstream.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        model = body.get("model", "")
        if self.upstream.redirect:
            self.send_response(307)
            self.send_header("Location", self.upstream.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif model.isdigit():
            self.answer(int(model), {"error": {"message": f"as told: {model}", "type": "told", "code": "told"}}, retry=True)
        elif self.path.startswith("/v1/messages") and body.get("stream"):
            done = any("tool_result" in str(message["content"]) for message in body["messages"][-2:])
            self.agents_stream([] if done else self.upstream.calls)
        elif body.get("stream"):
            asked = self.upstream.calls and not any(message["role"] == "tool" for message in body["messages"])
            self.stream(model, self.upstream.calls if asked else [])
        elif "embeddings" in self.path:
            self.answer(200, {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "m"})
        elif self.path.startswith("/api/"):
            self.answer(200, {"message": {"role": "assistant", "content": "yes"}, "done": True})
        else:
            self.answer(
                200,
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "m",
                    "choices": [choice(self.upstream.says or "yes")],
                },
            )

    def answer(self, status: int, value: Any, *, retry: bool = False) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Upstream", "yes")
        if retry:
            self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(data)

    def stream(self, model: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if calls:
                self.event(piece({"role": "assistant", "tool_calls": [tool_call(*numbered) for numbered in enumerate(calls)]}))
                self.event(piece({}, "tool_calls"))
            words = re.findall(r"\S+ ?", self.upstream.says) or WORDS
            for word in [] if calls else words * (1_000 if model == "endless" else 1):
                if model == "held":
                    self.upstream.let_go.acquire(timeout=60)
                self.event(piece({"role": "assistant", "content": word}))
                if model == "cut":
                    self.close_connection = True
                    self.connection.close()
                    return
                time.sleep(0.05 if model in ("slow", "endless") else 0)
            self.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        except OSError:
            self.upstream.dropped.set()

    def agents_stream(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for value in agents_events(calls):
            self.event(value, value["type"])
        self.wfile.write(b"0\r\n\r\n")

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def event(self, value: Any, name: str = "") -> None:
        data = f"{f'event: {name}{chr(10)}' if name else ''}data: {json.dumps(value)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def agents_events(calls: list[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The events of an answer to `/v1/messages`: calls of tools, or words."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    yield {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}
    for at, (name, given) in enumerate(calls or [("", {})]):
        block = (
            {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": name, "input": {}}
            if name
            else {"type": "text", "text": ""}
        )
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(given)}
            if name
            else {"type": "text_delta", "text": "".join(WORDS)}
        )
        yield {"type": "content_block_start", "index": at, "content_block": block}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None},
        "usage": usage,
    }
    yield {"type": "message_stop"}


def choice(text: str) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}


def piece(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choices = [{"index": 0, "finish_reason": reason, "delta": delta}]
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def tool_call(number: int, call: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    function = {"name": call[0], "arguments": json.dumps(call[1])}
    return {"index": number, "id": f"call-{number}", "type": "function", "function": function}


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a broken connection is what some tests are about


@pytest.fixture(scope="module")
def local_api() -> Iterator[Server]:
    server = Server(Upstream())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def upstream(local_api: Server) -> Upstream:
    local_api.upstream = Upstream(f"http://127.0.0.1:{local_api.server_port}")
    return local_api.upstream


LOGIN = {"auth.py": "def authenticate_user(name, password):\n    return load_account(name).verify(password)\n"}


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    """An indexed project that the test may change."""
    root = write_files(tmp_path / "shop", LOGIN)
    index(root, env)
    return root


@dataclass
class Shop:
    """An indexed project that no test changes, and the environment that its index is in."""

    root: Path
    env: dict[str, str]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("proxy")
    made = Shop(write_files(folder / "shop", LOGIN), environment(folder / "home"))
    index(made.root, made.env)
    return made


@dataclass
class Proxy:
    """A running `carrel proxy`."""

    process: subprocess.Popen[str]
    url: str
    told: str  # before it listened

    def stop(self) -> str:
        self.process.terminate()
        _, noise = self.process.communicate(timeout=20)
        return self.told + noise


Start = Callable[..., Proxy]


def listening(shop: Shop, upstream: str, *options: str, **more: str) -> Proxy:
    """Start `carrel proxy` on a project before an upstream, and wait until it listens."""
    words = ["proxy", "--upstream", upstream, "--port", "0", "--workspace", str(shop.root), "--deadline-ms", "3000", *options]
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "carrel", *words]
    process = subprocess.Popen(command, env={**os.environ, **shop.env, **more}, stdout=pipe, stderr=pipe, text=True)
    assert process.stderr
    told = ""
    while "Listening on " not in (line := process.stderr.readline()):
        assert line, told
        told += line
    return Proxy(process, line.split("Listening on ")[1].split(",")[0], told)


def end(proxy: Proxy) -> None:
    if proxy.process.poll() is None:
        proxy.stop()
    for stream in (proxy.process.stdout, proxy.process.stderr):
        if stream:
            stream.close()


@pytest.fixture
def start(request: pytest.FixtureRequest, upstream: Upstream) -> Iterator[Start]:
    """Start a proxy of the test's own; a test that takes `project` or `env` has it on its own project, others on the module's."""
    running: list[Proxy] = []
    if {"project", "env"} & {*request.fixturenames}:
        shop = Shop(request.getfixturevalue("project"), request.getfixturevalue("env"))
    else:
        shop = request.getfixturevalue("shop")

    def started(*options: str, **more: str) -> Proxy:
        running.append(listening(shop, upstream.url, *options, **more))
        return running[-1]

    yield started
    for proxy in running:
        end(proxy)


@pytest.fixture(scope="module")
def running(shop: Shop, local_api: Server) -> Iterator[Proxy]:
    proxy = listening(shop, f"http://127.0.0.1:{local_api.server_port}")
    yield proxy
    end(proxy)


@pytest.fixture
def proxy(running: Proxy, upstream: Upstream) -> Proxy:
    """The module's one proxy, for tests that neither set it up nor end it, before a fresh upstream."""
    return running
