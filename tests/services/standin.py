"""A stand-in for the services that Carrel asks: OpenAI's and Ollama's chat APIs, and rerankers. Real HTTP on loopback.

Without a script it answers each question sensibly: it calls the tool `search_code` when it is asked to search and has no result
yet, and says hello otherwise. `script` holds what to do instead, request by request; the last `Reply` counts for ever. What was
asked is in `requests`.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn

Events = Sequence[Mapping[str, Any]]
HELLO = "Hello, you. What shall we look at?"


@dataclass(frozen=True)
class Call:
    """A tool that the model calls. `arguments` as a string are sent as they are, malformed ones too."""

    name: str
    arguments: str | dict[str, Any] = field(default_factory=dict)
    id: str | None = "call_1"
    index: int | None = 0


@dataclass(frozen=True)
class Reply:
    """What to do with one request."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = "stop"
    usage: tuple[int, int] | None = None
    done: bool = True  # whether the end is announced
    thinking: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None  # sent as it is, instead of all above
    piece: int = 0  # bytes of a write, 0 for an event a write
    pause: float = 0.0  # seconds between writes
    cut_after: int | None = None  # the connection is cut after so many writes
    endless: bool = False  # the text is repeated until nobody listens
    hang: bool = False  # nothing is answered until nobody listens


HANG = Reply(hang=True)


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the connection before the answer's end."""

    @property
    def body(self) -> Any:
        """What was sent."""
        return json.loads(self.raw) if self.raw else None


class StandIn:
    """The service; `url` is where it listens."""

    def __init__(self, *script: Reply) -> None:
        self.script = list(script)
        self.requests: list[Asked] = []
        self.models = ["tiny:latest"]  # that Ollama has
        self.abilities = ["completion", "tools"]
        self.context_length = 32_768
        self.url = ""

    @property
    def last(self) -> Asked:
        """The last question, model lists and descriptions aside."""
        return next(asked for asked in reversed(self.requests) if asked.path not in ("/api/show", "/api/tags", "/v1/models"))

    def everything(self) -> str:
        """All that was ever sent here, headers included."""
        return "\n".join(f"{asked.path} {asked.headers} {asked.raw!r}" for asked in self.requests)

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        assert scope["type"] == "http"
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        raw = b""
        more = True
        while more:
            message = await receive()
            raw, more = raw + message.get("body", b""), message.get("more_body", False)
        asked = Asked(scope["method"], scope["path"], headers, raw)
        self.requests.append(asked)
        answering = asyncio.ensure_future(self._answer(asked, send))
        leaving = asyncio.ensure_future(receive())  # gives `http.disconnect`
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            asked.gone.set()
        for task in (answering, leaving):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await answering  # what it raised cuts the connection

    async def _answer(self, asked: Asked, send: Callable[[Any], Awaitable[None]]) -> None:
        if asked.path in ("/api/show", "/api/tags", "/v1/models"):
            reply = self._described(asked)
        else:
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0] if self.script else _sensible(asked)
        if reply.hang:
            await asyncio.Event().wait()
        kind, writes = _rendered(asked, reply)
        # A port that nobody closes would leave its connection to the garbage collector.
        headers = {"content-type": kind, "connection": "close", **reply.headers}
        start = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": start})
        number = 0
        async for write in _in_pieces(writes, reply):
            if number == reply.cut_after:
                raise ConnectionResetError("as told")
            await send({"type": "http.response.body", "body": write, "more_body": True})
            number += 1
            await asyncio.sleep(reply.pause)
        if reply.cut_after is not None:
            raise ConnectionResetError("as told")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _described(self, asked: Asked) -> Reply:
        if asked.path == "/api/show":
            name = asked.body["model"]
            if not {name, f"{name}:latest"} & set(self.models):
                return _json({"error": f"model '{name}' not found"}, 404)
            info = {"general.architecture": "tiny", "tiny.context_length": self.context_length}
            return _json({"model_info": info, "capabilities": self.abilities})
        if asked.path == "/api/tags":
            return _json({"models": [{"name": name} for name in self.models]})
        return _json({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})


@contextmanager
def running(*script: Reply) -> Iterator[StandIn]:
    """Run a stand-in on a thread of its own."""
    service = StandIn(*script)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    service.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(service, log_level="critical", lifespan="off", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def failure(status: int, code: str = "told", *, quoted: str = "", retry_after: str | None = None) -> Reply:
    """Return a refusal as OpenAI words it; `quoted` is what its message repeats."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return _json({"error": {"message": f"As told. {quoted}", "type": "told", "code": code}}, status, headers)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status=status, body=json.dumps(value).encode(), headers={"content-type": "application/json", **(headers or {})})


def _sensible(asked: Asked) -> Reply:
    body = asked.body
    if asked.path.endswith("/rerank"):
        return Reply()
    messages = body.get("messages", [])
    searched = any(message["role"] == "tool" for message in messages)
    if body.get("tools") and not searched and "earch" in str(messages[-1]["content"]):
        return Reply(calls=(Call("search_code", {"query": "login"}),), finish="tool_calls", usage=(20, 8))
    return Reply(HELLO, usage=(12, 9))


def _rendered(asked: Asked, reply: Reply) -> tuple[str, Iterator[bytes]]:
    if reply.body is not None:
        return "application/octet-stream", iter([reply.body])
    if asked.path.endswith("/rerank"):
        return "application/json", iter([json.dumps(_scores(asked)).encode()])
    if asked.path == "/api/chat":
        return "application/x-ndjson", (json.dumps(piece).encode() + b"\n" for piece in _ollama(asked.body, reply))
    if asked.body.get("stream"):
        return "text/event-stream", _events(asked.body, reply)
    return "application/json", iter([json.dumps(_whole(asked.body, reply)).encode()])


async def _in_pieces(writes: Iterator[bytes], reply: Reply) -> AsyncIterator[bytes]:
    if not reply.piece:
        for write in writes:
            yield write
        return
    rest = b""
    for write in writes:
        rest += write
        while len(rest) >= reply.piece:
            yield rest[: reply.piece]
            rest = rest[reply.piece :]
    if rest:
        yield rest


def _words(reply: Reply) -> Iterator[str]:
    while True:
        yield from re.findall(r"\s*\S+", reply.text)
        if not reply.endless:
            return


# --- OpenAI


def _events(body: Any, reply: Reply) -> Iterator[bytes]:
    def event(delta: Mapping[str, Any] | None, reason: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": choices, **more}
        return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()

    yield b": a comment\n\n"
    yield event({"role": "assistant", "content": None if reply.calls else ""})
    if reply.thinking:
        yield event({"reasoning_content": reply.thinking})
    for word in _words(reply):
        yield event({"content": word})
    for call in reply.calls:
        yield from (event({"tool_calls": [delta]}) for delta in _call_deltas(call))
    if reply.finish:
        yield event({}, reply.finish)
    if reply.usage and (body.get("stream_options") or {}).get("include_usage"):
        yield event(None, usage={"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1]})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _call_deltas(call: Call) -> Iterator[dict[str, Any]]:
    written = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    number = {} if call.index is None else {"index": call.index}
    first = {"function": {"name": call.name, "arguments": ""}, "type": "function", **number}
    yield first if call.id is None else {"id": call.id, **first}
    for at in range(0, len(written), 7):
        yield {"function": {"arguments": written[at : at + 7]}, **number}


def _whole(body: Any, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
                },
            }
            for call in reply.calls
        ]
    usage = {"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1]} if reply.usage else None
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage}


# --- Ollama


def _ollama(body: Any, reply: Reply) -> Iterator[dict[str, Any]]:
    def piece(message: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        common = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}}
        return {**common, "done": False, **more}

    if reply.thinking:
        yield piece({"content": "", "thinking": reply.thinking})
    for word in _words(reply):
        yield piece({"content": word})
    for call in reply.calls:
        yield piece({"content": "", "tool_calls": [{"function": {"name": call.name, "arguments": call.arguments}}]})
    if reply.done:
        counts = {"prompt_eval_count": reply.usage[0], "eval_count": reply.usage[1]} if reply.usage else {}
        reason = "length" if reply.finish == "length" else "stop"  # also with calls
        yield piece({"content": ""}, done=True, done_reason=reason, **counts)


# --- rerankers


def _scores(asked: Asked) -> Any:
    """Score by shared words, best first, in the form of the service that is asked so."""
    body = asked.body
    texts = body.get("documents", body.get("texts"))
    words = set(re.findall(r"\w+", body["query"].lower()))
    shares = [len(words & set(re.findall(r"\w+", text.lower()))) / max(len(words), 1) for text in texts]
    order = sorted(range(len(texts)), key=lambda number: -shares[number])
    if "texts" in body:
        return [{"index": number, "score": shares[number]} for number in order]
    results = [{"index": number, "relevance_score": shares[number]} for number in order]
    return {"data": results, "object": "list"} if "truncation" in body else {"id": "1", "results": results, "meta": {}}
