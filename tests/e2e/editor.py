"""An editor that starts a program of Carrel, talks to it, and leaves it as it is told: `editor.py HOW COMMAND…`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import IO, Any


def write(stream: IO[bytes], message: dict[str, Any], *, lines: bool) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(body + b"\n" if lines else b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def read(stream: IO[bytes], *, lines: bool) -> bytes:
    """Return the next message."""
    if lines:
        return stream.readline()
    length = 0
    while (line := stream.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    return stream.read(length)


def main() -> None:
    how, *command = sys.argv[1:]
    lines = "mcp" in command  # one message a line
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    params: dict[str, Any] = (
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "editor", "version": "1"}}
        if lines
        else {"processId": None, "capabilities": {}, "rootUri": None}
    )
    write(child.stdin, {"id": 1, "method": "initialize", "params": params}, lines=lines)
    assert b"result" in read(child.stdout, lines=lines)
    write(child.stdin, {"method": "notifications/initialized" if lines else "initialized", "params": {}}, lines=lines)
    if lines:  # what the SDK has to be loaded for
        write(child.stdin, {"id": 2, "method": "resources/list"}, lines=lines)
        assert b"result" in read(child.stdout, lines=lines)
    print("ready", flush=True)
    if how == "killed":
        time.sleep(600)
    if how == "normal" and not lines:
        write(child.stdin, {"id": 2, "method": "shutdown"}, lines=lines)
        read(child.stdout, lines=lines)
        write(child.stdin, {"method": "exit"}, lines=lines)
    if how == "closed":
        child.stdout.close()  # what it writes from now on breaks its pipe
    child.stdin.close()
    child.wait(30)


if __name__ == "__main__":
    main()
