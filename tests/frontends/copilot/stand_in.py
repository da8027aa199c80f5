"""A server that records every byte it gets: `stand_in.py RECORD`. It asks for tools and dies on demand."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    record = Path(sys.argv[1]).open("ab", buffering=0)  # noqa: SIM115 - the process dies with it
    stdin = os.fdopen(0, "rb")
    sys.stderr.write("stand-in: started\n")
    sys.stderr.flush()
    while (header := stdin.readline()) and (blank := stdin.readline()):
        body = stdin.read(int(header.split(b":")[1]))
        record.write(header + blank + body)
        if len(sys.argv) > 2:  # echo everything
            os.write(1, header + blank + body)
            continue
        message = json.loads(body)
        method = message.get("method")
        if method == "test/exit":
            os._exit(message["params"])
        elif method == "test/kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif method == "test/say":
            send({"jsonrpc": "2.0", **message["params"]})
        elif method == "test/ask":
            send({"jsonrpc": "2.0", "id": 77, **message["params"]})
        if "id" in message and method:
            send({"jsonrpc": "2.0", "id": message["id"], "result": {"method": method}})
    os._exit(3)


def send(message: object) -> None:
    body = json.dumps(message).encode()
    data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
