"""A stand-in for the APIs that terminal agents speak: it answers every turn with the same words and keeps what was sent.

Anthropic's `/v1/messages`, OpenAI's `/v1/responses` and `/v1/chat/completions`, Gemini's `:generateContent` and its stream.
A turn whose tools hold `wanted` is answered by a call of that tool first. It listens on loopback alone.
"""

from __future__ import annotations

import fnmatch
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = "It is in src/auth.py."
Event = tuple[str, dict[str, Any]]


@dataclass
class StandIn:
    """What was sent, in order, and where to send it."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    wanted: str = ""  # a glob of the tool to call, with its arguments
    arguments: dict[str, Any] = field(default_factory=dict)

    def called(self, names: list[str], answered: bool) -> str:
        """Return the tool to call now, if there is one."""
        fitting = [name for name in names if self.wanted and fnmatch.fnmatchcase(name, self.wanted)]
        return fitting[0] if fitting and not answered else ""


def _anthropic(body: dict[str, Any], stand_in: StandIn) -> tuple[dict[str, Any], list[Event]]:
    name = stand_in.called(
        [tool.get("name", "") for tool in body.get("tools", [])], "tool_result" in json.dumps(body["messages"])
    )
    block: dict[str, Any] = {"type": "text", "text": WORDS}
    if name:
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": stand_in.arguments}
    reason = "tool_use" if name else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "usage": usage}
    whole |= {"content": [block], "stop_reason": reason, "stop_sequence": None}
    empty = {**block, "input": {}} if name else {**block, "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(stand_in.arguments)}
        if name
        else {"type": "text_delta", "text": WORDS}
    )
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return whole, [(event["type"], event) for event in events]


def _responses(body: dict[str, Any], stand_in: StandIn) -> tuple[dict[str, Any], list[Event]]:
    grouped = [(inner, tool) for tool in body.get("tools", []) for inner in tool.get("tools", [tool])]
    offered = {inner.get("name", ""): tool["name"] if inner is not tool else "" for inner, tool in grouped}
    name = stand_in.called(list(offered), "function_call_output" in json.dumps(body.get("input", [])))
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": WORDS, "annotations": []}]
    if name:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
        item["arguments"] = json.dumps(stand_in.arguments)
        item |= {"namespace": offered[name]} if offered[name] else {}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body.get("model")}
    whole |= {"output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return whole, [(event["type"], {**event, "sequence_number": at}) for at, event in enumerate(events)]


def _chat(body: dict[str, Any], stand_in: StandIn) -> tuple[dict[str, Any], list[Event]]:
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    name = stand_in.called(names, any(message.get("role") == "tool" for message in body["messages"]))
    message: dict[str, Any] = {"role": "assistant", "content": None if name else WORDS}
    if name:
        call = {"name": name, "arguments": json.dumps(stand_in.arguments)}
        message["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": call}]
    reason = "tool_calls" if name else "stop"
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunk = {**whole, "object": "chat.completion.chunk"}
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**chunk, "choices": [], "usage": usage},
        {},  # the end
    ]
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}, [
        ("", one) for one in chunks
    ]


def _gemini(body: dict[str, Any], stand_in: StandIn) -> tuple[dict[str, Any], list[Event]]:
    offered = [tool["name"] for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
    name = stand_in.called(offered, "functionResponse" in json.dumps(body["contents"]))
    part: dict[str, Any] = {"functionCall": {"name": name, "args": stand_in.arguments}} if name else {"text": WORDS}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage}
    return whole, [("", whole)]


_APIS = {"/messages": _anthropic, "/responses": _responses, "/chat/completions": _chat, "enerateContent": _gemini}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, *_: Any) -> None: ...

    def do_HEAD(self) -> None:
        self._send({})

    def do_GET(self) -> None:
        self._send(
            {"object": "list", "data": [{"id": "stand-in", "object": "model", "type": "model", "display_name": "stand-in"}]}
        )

    def do_POST(self) -> None:
        raw = self._body()
        path = self.path.partition("?")[0]
        api = next((answer for end, answer in _APIS.items() if path.endswith(end)), None)
        if api is None:
            self._send({"input_tokens": 1, "totalTokens": 1})
            return
        body = json.loads(raw)
        whole, events = api(body, self.stand_in)
        self.stand_in.bodies.append(body)
        self.stand_in.paths.append(path)
        if not body.get("stream") and "streamGenerateContent" not in path:
            self._send(whole)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, event in events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(event) if event else '[DONE]'}\n\n".encode())
        self.close_connection = True

    def _send(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        data = b""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """Serve until the block ends."""
    stand_in = StandIn()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stand_in": stand_in}))
    server.daemon_threads = True
    stand_in.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        server.server_close()
