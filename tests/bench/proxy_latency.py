"""What the two proxies add: `python -m tests.bench.proxy_latency FOLDER [ROUNDS]` prints one JSON object. FOLDER must be indexed.

Copilot proxy: the round trip of a frame through an echoing server, with the proxy minus without, halved (a round trip passes it
twice), with 1 kB and 1 MB. Chat proxy: time to the short answer of a local upstream over a kept
connection, with context, minus without a proxy.
Rounds alternate between the two sides, so that a busy machine slows both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

ECHO = "import os\nwhile data := os.read(0, 1 << 20):\n    while data:\n        data = data[os.write(1, data):]\n"
QUESTIONS = (
    "how does login work?",
    "database connection pool",
    "parse a configuration file",
    "retry with a timeout",
    "class Response",
)


def main(folder: Path, rounds: int) -> dict[str, Any]:
    return {"copilotProxy": _frames(rounds), "chatProxy": _chat(folder, max(rounds // 4, 20))}


def _frames(rounds: int) -> dict[str, Any]:
    server = [sys.executable, "-c", ECHO]
    sides = [_spawn(server), _spawn([sys.executable, "-m", "carrel", "copilot-proxy", "--", *server])]
    result = {}
    try:
        for name, size, count in (("1kB", 1_000, rounds), ("1MB", 1_000_000, max(rounds // 10, 20))):
            body = json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {"text": "x" * size}}
            ).encode()
            data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            times = _alternate([partial(_echo, side, data) for side in sides], count)
            direct, proxied = (statistics.median(t) for t in times)
            result[name] = {
                "directMs": round(direct, 4),
                "proxiedMs": round(proxied, 4),
                "addedPerFrameUs": round(1000 * (proxied - direct) / 2, 1),
                "ratio": round(proxied / direct, 2),
                "n": count,
            }
    finally:
        for side in sides:
            side.kill()
    return result


def _spawn(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)


def _echo(side: subprocess.Popen[bytes], data: bytes) -> None:
    assert side.stdin
    assert side.stdout
    target, source = side.stdin.fileno(), side.stdout.fileno()
    writer = None
    if len(data) > 60_000:  # more than a pipe holds: write and read at once
        writer = threading.Thread(target=_write, args=(target, data))
        writer.start()
    else:
        _write(target, data)
    left = len(data)
    while left:
        left -= len(os.read(source, 1 << 20))
    if writer:
        writer.join()


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _alternate(calls: list[Callable[[], Any]], rounds: int) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + 10):
        for side, call in enumerate(calls):
            began = time.perf_counter()
            call()
            if number >= 10:  # the first ones warm up
                times[side].append(1000 * (time.perf_counter() - began))
    return times


class _Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n")


def _chat(folder: Path, rounds: int) -> dict[str, Any]:
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{upstream.server_port}"
    command = [sys.executable, "-m", "carrel", "proxy", "--upstream", url, "--port", "0", "--workspace", str(folder)]
    process = subprocess.Popen([*command, "--deadline-ms", "5000", "--rate-limit", "0"], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    proxied = process.stderr.readline().split("Listening on ")[1].split(",")[0]
    notes: list[str] = []
    asked = iter(range(1 << 30))
    with httpx.Client() as client:

        def ask(base: str, path: str = "/v1/chat/completions") -> None:
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": QUESTIONS[next(asked) // 2 % 5]}]}
            # Read to the end: chat programs keep their connections, and a second answer may wait for what a first one doesn't.
            response = client.post(base + path, json=body)
            notes.append(response.headers.get("x-carrel-context", ""))

        try:
            direct, through = _alternate([lambda: ask(url), lambda: ask(proxied)], rounds)
            context = sum(note.endswith("places") for note in notes)
            plain, passed = _alternate([lambda: ask(url, "/v1/other"), lambda: ask(proxied, "/v1/other")], rounds)
        finally:
            process.terminate()
            process.wait()
            upstream.shutdown()
    return {
        "directMs": round(statistics.median(direct), 2),
        "proxiedMs": round(statistics.median(through), 2),
        "addedToFirstByteMs": round(statistics.median(through) - statistics.median(direct), 2),
        "p90ProxiedMs": round(sorted(through)[int(len(through) * 0.9)], 2),
        "withContext": context,
        "addedWithoutContextMs": round(statistics.median(passed) - statistics.median(plain), 2),
        "n": rounds,
    }


if __name__ == "__main__":
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]).resolve(), rounds), indent=2) + "\n")
