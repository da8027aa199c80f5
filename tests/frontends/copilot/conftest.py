from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.shop import index, write_files

from carrel.frontends.common.transport import frame, read_frame
from carrel.frontends.common.uris import path_to_uri

STAND_IN = Path(__file__).with_name("stand_in.py")
LOGIN = (
    "def authenticate_user(name, password):\n    row = load_account(name)\n    return row is not None and row.verify(password)\n"
)


class Client:
    """A blocking client of whatever command: sends frames, reads frames."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **env}, bufsize=0)
        assert self.process.stdout
        assert self.process.stdin
        self.out, self.into = self.process.stdout, self.process.stdin

    def send(self, message: Any) -> None:
        self.into.write(frame(json.dumps(message).encode()))

    def read(self) -> dict[str, Any]:
        body = read_frame(_Bytewise(self.out))  # type: ignore[arg-type]
        assert body is not None, "the other side ended"
        return dict(json.loads(body))

    def request(self, identity: Any, method: str, params: Any) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        while (message := self.read()).get("id") != identity or "method" in message:
            pass
        return message

    def end(self) -> tuple[int, bytes]:
        self.into.close()
        code = self.process.wait(20)
        assert self.process.stderr
        return code, self.process.stderr.read()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


class _Bytewise:
    """An unbuffered pipe with the two methods that a frame is read by."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def readline(self, _: int) -> bytes:
        line = b""
        while not line.endswith(b"\n") and (byte := self._raw.read(1)):
            line += byte
        return line

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (piece := self._raw.read(size - len(data))):
            data += piece
        return data


@pytest.fixture
def project(tmp_path: Path, env: dict[str, str]) -> Path:
    """An indexed folder."""
    pool = "def configure_pool(size):\n    return DatabaseConnection(size).open_pool()\n"
    root = write_files(tmp_path / "shop", {"auth.py": LOGIN, "pool.py": pool})
    index(root, env)
    return root


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


Start = Callable[..., Client]


@pytest.fixture
def start(env: dict[str, str], record: Path) -> Iterator[Start]:
    """Start the proxy, before the stand-in unless another command is given."""
    clients: list[Client] = []

    def started(*options: str, command: list[str] | None = None) -> Client:
        server = command or [sys.executable, str(STAND_IN), str(record)]
        clients.append(Client([sys.executable, "-m", "carrel", "copilot-proxy", *options, "--", *server], env))
        return clients[-1]

    yield started
    for client in clients:
        client.kill()


def initialize(client: Client, root: Path, **more: Any) -> None:
    uri = path_to_uri(str(root))
    client.request(
        0, "initialize", {"processId": os.getpid(), "capabilities": {}, "workspaceFolders": [{"uri": uri, "name": "x"}], **more}
    )
    client.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})


def recorded(record: Path, method: str) -> list[dict[str, Any]]:
    with record.open("rb") as stream:
        found = []
        while (body := read_frame(stream)) is not None:
            message = json.loads(body)
            if message.get("method") == method:
                found.append(message)
        return found
