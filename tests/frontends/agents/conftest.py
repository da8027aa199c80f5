"""The real hook program and the server that it starts, for one test."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from tests.shop import SHOP, environment, write_files
from tests.waiting import wait_until

from carrel.frontends.agents.meeting_place import program

ASKED = "How is a login checked against the user table?"


class Hooks:
    """A user's hooks: a home and a runtime folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.env = {**environment(folder / "h"), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(folder / "r")}
        self.runtime = folder / "r" / "carrel" if sys.platform != "win32" else Path(self.env["LOCALAPPDATA"]) / "carrel/run"
        (folder / "r").mkdir(mode=0o700)

    @property
    def socket(self) -> Path:
        return self.runtime / "agents.sock"

    def run(self, agent: str, raw: bytes, **more: Any) -> dict[str, Any]:
        """Run the program on what stands on its standard input."""
        done = subprocess.run([program(), agent], input=raw, env=self.env, capture_output=True, timeout=60, check=False, **more)
        assert (done.returncode, done.stderr) == (0, b"")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def ask(self, folder: Path | str, prompt: Any = ASKED, agent: str = "claude-code", **more: Any) -> dict[str, Any]:
        return self.run(agent, json.dumps({"cwd": str(folder), "prompt": prompt, **more}).encode())

    def added(self, folder: Path, prompt: str = ASKED, agent: str = "claude-code", **more: Any) -> str:
        """Ask until there is context, as it is from the first index on."""

        def text() -> str:
            answer = self.ask(folder, prompt, agent, **more)
            return str(answer.get("hookSpecificOutput", answer).get("additionalContext", ""))

        return wait_until(text)

    def servers(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter(["cmdline"]):
            try:
                if "agents serve" in " ".join(process.info["cmdline"] or ()) and self.env["HOME"] == process.environ().get(
                    "HOME"
                ):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def say(self, line: bytes) -> bytes:
        """Say something to the server as no program of ours does."""
        if sys.platform == "win32":
            with self.pipe() as pipe:
                pipe.write(line)
                return pipe.read(100)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(self.socket))
            client.sendall(line)
            return client.recv(100)

    def pipe(self) -> FileIO:
        """Connect to the server on Windows; while it is busy it can't be opened."""

        found: list[FileIO] = []

        def opened() -> bool:
            with suppress(OSError):
                found.append(FileIO((self.runtime / "agents.pipe").read_text("utf-8"), "r+b"))
            return bool(found)

        wait_until(opened)
        return found[0]

    def end(self) -> None:
        if sys.platform == "win32":  # where a process ends in order only by itself
            if (self.runtime / "agents.pipe").exists():
                self.say(b"carrel-hook/1 9.9.9 codex 2\n{}")
                wait_until(lambda: not (self.runtime / "agents.pipe").exists())
            return
        for process in self.servers():
            process.terminate()
            process.wait(30)


@pytest.fixture
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooks]:
    hooks = Hooks(tmp_path_factory.mktemp("u"))  # a socket's path has about a hundred bytes
    yield hooks
    hooks.end()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return write_files(tmp_path / "shop", SHOP)
