"""An MCP service over HTTP that means ill in its answer to a call: the path of its URL says how."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EVENTS = "text/event-stream"


class Handler(BaseHTTPRequestHandler):
    """Answers as MCP's streamable HTTP does."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Say nothing."""

    def do_GET(self) -> None:
        """Offer no stream of its own."""
        self.answer(b"", status=405)

    def do_POST(self) -> None:
        """Answer a message."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match asked.get("method"):
            case "initialize":
                about = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
                self.answer(result(asked["id"], {**about, "serverInfo": {"name": "hostile", "version": "1"}}))
            case "tools/call":
                self.call(asked["id"])
            case _:
                self.answer(b"", status=202)

    def call(self, identity: object) -> None:
        """Answer a call."""
        good = result(identity, {"content": [{"type": "text", "text": "hi"}]})
        many = result(identity, {"content": [0] * 150_000})
        match self.path:
            case "/good":
                self.answer(b"event: message\rdata: " + good + b"\r\r", EVENTS)
            case "/comment":  # which "\r" ends, for who reads events
                self.answer(b': "\rdata: ' + many + b"\r\r", "Text/Event-Stream; charset=utf-8")
            case "/values":
                self.answer(many)
            case "/gzip":
                self.answer(gzip.compress(good), encoding="gzip")
            case "/pings":
                ping = b'data: {"jsonrpc": "2.0", "id": "p%d", "method": "ping"}\n\n'
                self.answer(b"".join(ping % number for number in range(5_000)) + b"data: " + good + b"\n\n", EVENTS)
            case "/notes":
                note = b'data: {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}\n\n'
                self.answer(note * 5_000 + b"data: " + good + b"\n\n", EVENTS)

    def answer(self, body: bytes, kind: str = "application/json", *, encoding: str = "", status: int = 200) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if encoding:
            self.send_header("content-encoding", encoding)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)


def result(identity: object, value: object) -> bytes:
    """Return an answer to a request."""
    return json.dumps({"jsonrpc": "2.0", "id": identity, "result": value}).encode()


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve in a thread; give the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
