"""How soon `carrel mcp` answers what a client asks first: python -m tests.bench.mcp_start FOLDER."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median
from typing import Any

STARTS = 5
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
ASKED: dict[str, dict[str, Any]] = {
    "initialize": CLIENT,
    "tools/list": {},
    "prompts/list": {},
    "resources/list": {},
    "tools/call": {"name": "index_status", "arguments": {}},
}


def main(folder: str) -> None:
    """Print the milliseconds from the start to each answer."""
    found: dict[str, list[int]] = {method: [] for method in ASKED}
    for _ in range(STARTS):
        for method, milliseconds in _start(folder).items():
            found[method].append(milliseconds)
    for method, all_of_them in found.items():
        print(f"{method}: median {median(all_of_them):.0f} ms, {min(all_of_them)} to {max(all_of_them)} ms")


def _start(folder: str) -> dict[str, int]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "carrel", "mcp", "--root", folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin
        assert server.stdout
        taken = {}
        for number, (method, params) in enumerate(ASKED.items()):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(request).encode() + b"\n")
            server.stdin.flush()
            while json.loads(server.stdout.readline()).get("id") != number:  # a notification, once the folders are open
                pass
            taken[method] = round(1000 * (time.perf_counter() - began))
            if method == "initialize":
                server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.close()
    return taken


if __name__ == "__main__":
    main(sys.argv[1])
