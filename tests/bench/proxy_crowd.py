"""Measure how long a crowd waits for the chat proxy.

`python -m tests.bench.proxy_crowd FOLDER [ROUNDS]` prints a JSON line for each number of clients at once. FOLDER must be indexed.

The upstream is another process and answers at once. Each client keeps its connection and asks ROUNDS questions, one after the
other, each a conversation of its own; the proxy's deadline is the default of 300 ms. Times are of whole answers, in ms.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

CROWDS = (1, 8, 50)
QUESTIONS = ("how does login work?", "database connection pool", "parse a configuration file", "retry with a timeout")
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n"
_LISTENING = "Listening on "


def main(folder: Path, rounds: int) -> None:
    upstream = subprocess.Popen([sys.executable, __file__, "--upstream"], stdout=subprocess.PIPE, text=True)
    assert upstream.stdout
    url = upstream.stdout.readline().strip()
    command = [sys.executable, "-m", "carrel", "proxy", "--upstream", url, "--port", "0", "--workspace", str(folder)]
    proxy = subprocess.Popen([*command, "--rate-limit", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert proxy.stderr
        address = proxy.stderr.readline().split(_LISTENING)[1].split(",")[0]
        asyncio.run(_crowd(address, 1, 20))  # loads the index
        for clients in CROWDS:
            for name, base in (("direct", url), ("proxy", address)):
                times, notes = asyncio.run(_crowd(base, clients, rounds))
                sys.stdout.write(json.dumps({"clients": clients, "way": name, **_figures(times), **notes}) + "\n")
    finally:
        for process in (proxy, upstream):
            process.terminate()
            process.wait()


async def _crowd(base: str, clients: int, rounds: int) -> tuple[list[float], dict[str, int]]:
    times: list[float] = []
    notes: Counter[str] = Counter()
    host, port = base.removeprefix("http://").split(":")

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for at in range(rounds):
            asked = f"{QUESTIONS[(number + at) % len(QUESTIONS)]} ({time.monotonic_ns()})"
            body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": asked}]}).encode()
            began = time.perf_counter()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            await reader.readexactly(int(headers["content-length"]))
            times.append(1000 * (time.perf_counter() - began))
            note = headers.get("x-carrel-context", "")
            notes["context" if note.endswith("places") else note] += bool(note)
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return times, dict(+notes)


def _figures(times: list[float]) -> dict[str, Any]:
    times = sorted(times)
    shares = {"p50": 0.5, "p90": 0.9}
    return {
        "n": len(times),
        **{name: round(times[int(len(times) * share)]) for name, share in shares.items()},
        "max": round(times[-1]),
    }


async def _upstream() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            writer.write(_ANSWER)

    async with await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


if __name__ == "__main__":
    if "--upstream" in sys.argv:
        asyncio.run(_upstream())
    else:
        main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 4)
