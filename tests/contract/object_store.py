"""An object store for tests: a stand-in on this machine, or a real S3-compatible server where `CARREL_S3_ENDPOINT` names one.

Its keys are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY then, and its bucket is made. With `moto[server]`, for one:

    moto_server -p 5599 & CARREL_S3_ENDPOINT=http://127.0.0.1:5599 python -m pytest tests/extensions/team

So does LanceDB's contract (`tests/contract/test_vector_stores.py -k ObjectStore`), for which the stand-in is too simple.
"""

from __future__ import annotations

import hashlib
import hmac
import http.server
import os
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

BUCKET = "carrel-tests"
ENDPOINT = os.environ.get("CARREL_S3_ENDPOINT", "")
KEYS = {
    "AWS_ACCESS_KEY_ID": os.environ.get("AWS_ACCESS_KEY_ID", "") if ENDPOINT else "AKIA-test",
    "AWS_SECRET_ACCESS_KEY": os.environ.get("AWS_SECRET_ACCESS_KEY", "") if ENDPOINT else "the secret of the test",
}
_PART = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")


@contextmanager
def running(certificate: Path | None = None) -> Iterator[str]:
    """Give the address of a server that has the bucket; with a certificate, its key beside it, of a stand-in with TLS."""
    if ENDPOINT and certificate is None:
        httpx.put(f"{ENDPOINT}/{BUCKET}", trust_env=False)
        yield ENDPOINT
        return
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Objects) as server:
        server.held = {}  # type: ignore[attr-defined]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_suffix(".key"))
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Objects(http.server.BaseHTTPRequestHandler):
    """What an object store answers to putting and getting; a request that isn't signed with its key is refused."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self._may(body):
            self._held[self.path] = body
            self._answer(200, b"")

    def do_GET(self) -> None:
        if self._may(b""):
            found = self._held.get(self.path)
            self._answer(404 if found is None else 200, found or b"")

    @property
    def _held(self) -> dict[str, bytes]:
        held: dict[str, bytes] = self.server.held  # type: ignore[attr-defined]
        return held

    def _may(self, body: bytes) -> bool:
        if not self._signed(body):
            self._answer(403, b"")
        elif not self.path.startswith(f"/{BUCKET}/"):
            self._answer(404, b"")
        else:
            return True
        return False

    def _signed(self, body: bytes) -> bool:
        """Check the signature, version 4, as Amazon's documentation says."""
        said = dict(_PART.findall(self.headers.get("authorization", "")))
        access, *scope = said.get("Credential", "").split("/")
        digest = hashlib.sha256(body).hexdigest()
        if access != KEYS["AWS_ACCESS_KEY_ID"] or self.headers["x-amz-content-sha256"] != digest:
            return False
        headers = "".join(f"{name}:{self.headers[name].strip()}\n" for name in said["SignedHeaders"].split(";"))
        parts = urlsplit(self.path)
        request = "\n".join((self.command, parts.path, parts.query, headers, said["SignedHeaders"], digest))
        key = ("AWS4" + KEYS["AWS_SECRET_ACCESS_KEY"]).encode()
        for part in scope:
            key = hmac.digest(key, part.encode(), "sha256")
        text = "\n".join(
            ("AWS4-HMAC-SHA256", self.headers["x-amz-date"], "/".join(scope), hashlib.sha256(request.encode()).hexdigest())
        )
        return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), said["Signature"])

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Sun, 22 Nov 2026 10:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class names it so
