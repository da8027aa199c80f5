"""What the Copilot Language Server asks of GitHub, as far as a chat needs it: a sign-in that holds, one model, and its answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "gpt-4.1"
_TOKEN = "ghu_made_up"  # noqa: S105 - of the stand-in
_LIMITS = {"max_context_window_tokens": 128_000, "max_output_tokens": 4_096, "max_prompt_tokens": 64_000}
_MODEL = {
    "id": MODEL,
    "name": MODEL,
    "object": "model",
    "vendor": "test",
    "version": MODEL,
    "preview": False,
    "model_picker_enabled": True,
    "is_chat_default": True,
    "is_chat_fallback": True,
    "capabilities": {
        "family": MODEL,
        "type": "chat",
        "object": "model_capabilities",
        "tokenizer": "o200k_base",
        "limits": _LIMITS,
        "supports": {"streaming": True, "tool_calls": True},
    },
    "supported_endpoints": ["/chat/completions"],
    "policy": {"state": "enabled", "terms": ""},
}


@dataclass
class GitHubApi:
    """Where it listens, what it answers, and the prompts that it got."""

    answer: Sequence[str] = ()
    prompts: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What the language server must find to be signed in here."""
        return {"GH_COPILOT_TOKEN": _TOKEN, "GH_COPILOT_API_URL": self.url, "GH_COPILOT_SERVER_URL": self.url}

    def reply(self, path: str) -> Any:
        """Return the JSON of a path; None where there is none."""
        places = dict.fromkeys(("api", "proxy", "telemetry", "origin-tracker"), self.url)
        if path == "/models":
            return {"data": [_MODEL, {**_MODEL, "id": "gpt-4o-mini"}], "object": "list"}
        if path == "/copilot_internal/user":
            return {"login": "me", "chat_enabled": True, "copilot_plan": "individual", "endpoints": places, "quota_snapshots": {}}
        if path == "/copilot_internal/v2/token":
            return {"token": "tid=x;exp=9999999999", "expires_at": 9_999_999_999, "refresh_in": 3_000, "endpoints": places}
        return None


@contextmanager
def listening() -> Iterator[GitHubApi]:
    """Serve it on a port of this machine."""
    api = GitHubApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            found = api.reply(self.path.partition("?")[0])
            self.send(200 if found else 404, "application/json", json.dumps(found or {}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.path != "/chat/completions":
                self.send(200, "application/json", "{}")
                return
            api.prompts.append(body.decode())
            pieces = [*({"content": text} for text in api.answer), {"content": ""}]
            events = (
                {
                    "id": "x",
                    "created": 1,
                    "model": MODEL,
                    "object": "chat.completion.chunk",
                    "choices": [
                        {
                            "index": 0,
                            "delta": {"role": "assistant", **delta},
                            "finish_reason": None if delta["content"] else "stop",
                        }
                    ],
                }
                for delta in pieces
            )
            lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            self.send(200, "text/event-stream", f"{lines}data: [DONE]\n\n")

        def send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            headers = {"Content-Type": kind, "Content-Length": str(len(data)), "X-GitHub-Request-Id": "test"}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        api.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
