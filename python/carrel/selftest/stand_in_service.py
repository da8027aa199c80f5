"""Stand in for GitHub in `carrel selftest`: Copilot's token exchange and embeddings, and the releases of Qdrant.

Its embeddings are the bundled model's, at the length of Copilot's: what is alike in meaning is alike here.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

DIM = 1536
SIGN_IN = "ghu_of-the-stand-in"
_SESSION = "session-of-the-stand-in"


class StandIn(Struct, frozen=True):
    """Where it listens."""

    url: str


@contextmanager
def serving(embed: Callable[[str], bytes], archive_name: str, version: str) -> Iterator[StandIn]:
    """Serve for as long as this is open. `embed` gives a text's vector as little-endian float32."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    archive = _archive(archive_name)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/copilot_internal/v2/token":
                allowed = self.headers.get("Authorization") == f"token {SIGN_IN}"
                self._send(*((200, _session()) if allowed else (401, {"message": "Bad credentials"})))
            elif self.path == f"/releases/tags/v{version}":
                digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
                asset = {"name": archive_name, "browser_download_url": f"{url}/{archive_name}", "digest": digest}
                self._send(200, {"assets": [{**asset, "size": len(archive)}]})
            elif self.path == f"/{archive_name}":
                self._send_bytes(200, archive, "application/octet-stream")
            else:
                self._send(404, {"message": "Not Found"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path != "/embeddings" or self.headers.get("Authorization") != f"Bearer {_SESSION}":
                self._send(401, {"message": "Bad credentials"})
                return
            rows = [{"index": place, "embedding": _long(embed(text))} for place, text in enumerate(body["input"])]
            self._send(200, {"data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}})

        def _send(self, status: int, value: Any) -> None:
            self._send_bytes(status, json.dumps(value).encode(), "application/json")

        def _send_bytes(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing: what is asked here is of no interest to anybody."""

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield StandIn(url)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _session() -> dict[str, Any]:
    return {"token": _SESSION, "expires_at": int(time.time()) + 1_800, "refresh_in": 1_500}


def _long(vector: bytes) -> list[float]:
    values = struct.unpack(f"<{len(vector) // 4}f", vector)
    return [*values, *([0.0] * (DIM - len(values)))]


def _archive(name: str) -> bytes:
    """Pack something that stands for Qdrant's program."""
    packed, program = io.BytesIO(), b"#!/bin/sh\necho qdrant 0.0.0\n"
    if name.endswith(".zip"):
        with zipfile.ZipFile(packed, "w") as zipped:
            zipped.writestr("qdrant.exe", program)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            member = tarfile.TarInfo("qdrant")
            member.size = len(program)
            tar.addfile(member, io.BytesIO(program))
    return packed.getvalue()
