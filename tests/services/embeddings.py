"""A local HTTP server that behaves as OpenAI's, Ollama's and Copilot's embedding APIs do, faults included.

Vectors have a meaning: words of one line of `CONCEPTS` are the same to it. Rows of OpenAI's form come in reverse order, and
bodies in odd pieces.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import re
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.waiting import wait_until

from carrel.model.vectors import Vectors

KEY = "sk-planted-embedding-0123456789abcdef"
SIGN_IN = "ghu_plantedSignIn0123456789abcdefABCDEF01"
SESSION = "tid=plantedsession0123456789;exp=1;sku=x:feedfacefeedface"
DIMS = {
    "text-embedding-3-small": 1536,
    "nomic-embed-text": 768,
    "copilot-text-embedding-ada-002": 1536,
    "text-embedding-3-small-512": 512,
}
CONCEPTS = (
    "authenticate authenticated auth login password user signin credentials wombat",
    "total price cost sum items amount money koala",
    "database pool connection timeout configure",
)
_PLACES = {word: line for line in CONCEPTS for word in line.split()}
_WORD = re.compile(r"[a-z]+")


def meaning(text: str, dim: int) -> list[float]:
    """Return the counts of a text's words in hashed places."""
    row = [0.0] * dim
    for word in _WORD.findall(text.lower().replace("_", " ")):
        digest = hashlib.blake2b(_PLACES.get(word, word).encode(), digest_size=8).digest()
        row[int.from_bytes(digest, "big") % dim] += 3.0 if word in _PLACES else 1.0
    return row if any(row) else [1.0] + [0.0] * (dim - 1)


@dataclass
class Fault:
    """What is done instead of an answer, once. `kind`: `status`, `cut`, `hang`, `slow`, `endless`, or a change of the rows."""

    kind: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    value: int = 0


@dataclass
class EmbeddingService:
    """What the server knows and was asked. `faults` are used up in turn; `always` stands, and so do the words in `refused` and
    `answers_to`, which names a status for a text."""

    dims: dict[str, int] = field(default_factory=lambda: dict(DIMS))
    faults: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    refused: str = ""
    answers_to: dict[str, int] = field(default_factory=dict)
    pause: float = 0.0
    keeps_connections: bool = True
    lifetime: float = 1_800.0
    requests: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    bytes_in: int = 0
    bytes_out: int = 0
    sessions: int = 0
    held: int = 0
    url: str = ""

    def reset(self) -> None:
        """Forget everything but where it is."""
        fresh = EmbeddingService(url=self.url, keeps_connections=self.keeps_connections)
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(fresh, name))

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for."""
        return [text for _, _, body in self.requests if body for text in _texts(body)]

    def app(self) -> Starlette:
        """Return the application."""
        return Starlette(
            routes=[
                Route("/v1/embeddings", self._openai, methods=["POST"]),
                Route("/api/embed", self._ollama, methods=["POST"]),
                Route("/copilot_internal/v2/token", self._exchange, methods=["GET", "POST"]),
                Route("/embeddings", self._copilot, methods=["POST"]),
            ]
        )

    async def _openai(self, request: Request) -> Response:
        body = await self._note(request)
        if request.headers.get("authorization") not in (None, f"Bearer {KEY}"):
            return _refusal(401, f"Incorrect API key provided: {request.headers['authorization']}")
        return await self._answer(body, lambda rows: _openai_form(rows, body.get("encoding_format") == "base64"))

    async def _ollama(self, request: Request) -> Response:
        body = await self._note(request)
        if body["model"] not in self.dims:
            return JSONResponse({"error": f'model "{body["model"]}" not found, try pulling it first'}, 404)
        return await self._answer(body, lambda rows: {"model": body["model"], "embeddings": rows})

    async def _exchange(self, request: Request) -> Response:
        await self._note(request, body=False)
        if request.headers.get("authorization") != f"token {SIGN_IN}":
            return _refusal(401, f"Bad credentials {request.headers.get('authorization')}")
        if fault := self._fault("exchange"):
            return Response(b"{}", fault.status)
        self.sessions += 1
        expires = time.time() + self.lifetime
        return JSONResponse({"token": f"{SESSION}{self.sessions}", "expires_at": expires, "refresh_in": self.lifetime - 300})

    async def _copilot(self, request: Request) -> Response:
        body = await self._note(request)
        proof = f"Bearer {SESSION}{self.sessions}"
        needed = ("editor-version", "editor-plugin-version", "copilot-integration-id")
        if request.headers.get("authorization") != proof:
            return _refusal(401, f"unauthorized: {request.headers.get('authorization')}")
        if not all(name in request.headers for name in needed):
            return _refusal(400, "missing Editor-Version header for IDE auth")
        return await self._answer(body, lambda rows: _openai_form(rows, packed=False))

    async def _note(self, request: Request, *, body: bool = True) -> Any:
        raw = await request.body()
        self.bytes_in += len(raw)
        read = json.loads(raw) if body else None
        self.requests.append((request.url.path, dict(request.headers), read))
        self.at.append(time.monotonic())
        return read

    def _fault(self, kind: str | None = None) -> Fault | None:
        if self.faults and (self.faults[0].kind == "exchange") == (kind == "exchange"):
            return self.faults.pop(0)
        return None if kind else self.always

    async def _answer(self, body: Any, form: Any) -> Response:
        await asyncio.sleep(self.pause)
        statuses = {**({self.refused: 400} if self.refused else {}), **self.answers_to}
        if status := next((statuses[word] for word in statuses for text in _texts(body) if word in text), 0):
            return _refusal(status, "this text isn't embedded")
        fault = self._fault() or Fault("none")
        match fault.kind:
            case "status":
                return Response(json.dumps({"error": {"message": f"quotes {KEY}"}}), fault.status, dict(fault.headers))
            case "hang":
                self.held += 1
                with contextlib.suppress(asyncio.CancelledError):  # the server stops: nothing to report
                    await asyncio.sleep(3_600)
                return Response(status_code=503)
            case "endless":
                return StreamingResponse(_endless(), media_type="application/json")
        model = body.get("model") or body["embedding_model"]
        dim = fault.value if fault.kind == "dim" else body.get("dimensions") or self.dims.get(model, 64)
        rows: list[Any] = [meaning(text, dim) for text in _texts(body)]
        if any(not text.strip() for text in _texts(body)):
            return _refusal(400, "'$.input' is invalid: no text may be empty")
        rows = _changed(rows, fault.kind)
        answer = form(rows)
        if fault.kind == "same index":
            for item in answer["data"]:
                item["index"] = 0
        if fault.kind == "no index":
            answer["data"] = [{"embedding": row} for row in rows]
        data = json.dumps(answer).encode() if fault.kind != "html" else b"<html>busy</html>"
        self.bytes_out += len(data)
        headers = {"content-length": str(len(data))}
        return StreamingResponse(_pieces(data, fault.kind), media_type="application/json", headers=headers)


def _changed(rows: list[Any], kind: str) -> list[Any]:
    """Return rows with the fault of this kind."""
    match kind:
        case "fewer":
            return rows[:-1]
        case "alike":
            return [rows[0]] * len(rows)
        case "nan":
            rows[0][0] = float("nan")
        case "words":
            rows[0] = "no vector"
        case "zeros" | "flat":
            rows[-1] = [float(kind == "flat")] * len(rows[-1])
    return rows


def _texts(body: Any) -> list[str]:
    texts: list[str] = body.get("input") or body.get("inputs") or []
    return texts


def _openai_form(rows: list[Any], packed: bool) -> Any:
    if packed:
        rows = [base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() if isinstance(row, list) else row for row in rows]
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "code": "invalid_api_key"}}, status)


async def _pieces(data: bytes, kind: str) -> AsyncIterator[bytes]:
    """Give a body in odd pieces; all at once but the last byte, slowly, or cut in the middle."""
    if kind == "cut":
        yield data[: len(data) // 2]
        raise ConnectionAbortedError
    at, size = 0, 1
    while at < len(data):
        yield data[at : at + size]
        at, size = at + size, min(size * 3 + 1, 60_000)
        if kind == "slow":
            await asyncio.sleep(0.02)


async def _endless() -> AsyncIterator[bytes]:
    yield b'{"data": ['
    for _ in range(200):  # more than anybody reads; a server doesn't always learn that its client has left
        yield b" " * 100_000
        await asyncio.sleep(0.001)


@contextlib.contextmanager
def running(service: EmbeddingService | None = None, port: int = 0) -> Iterator[EmbeddingService]:
    """Serve on this machine, in a thread, until the block ends; `url` says where."""
    service = service or EmbeddingService()
    headers = [] if service.keeps_connections else [("connection", "close")]
    config = uvicorn.Config(
        service.app(), "127.0.0.1", port, log_config=None, lifespan="off", timeout_graceful_shutdown=0, headers=headers
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    service.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)


def unit(text: str, dim: int) -> bytes:
    """Return the vector that the service gives a text, as Carrel has it."""
    return Vectors.unit([meaning(text, dim)], dim).data
