"""A project that changes at random, and what must be found in it whatever happened."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lsp_client import LspClient, LspError

FILES = 120
PATIENCE_S = 60.0


class Wrong(AssertionError):
    """A promise was broken."""


class Workload:
    """Files with a function each whose name stands nowhere else. `truth` says which file defines which name now."""

    def __init__(self, root: Path, dice: random.Random, env: Mapping[str, str]) -> None:
        self.root, self.dice, self.env = root, dice, {**os.environ, **env}
        self.truth: dict[str, str] = {}
        self.gone: set[str] = set()
        self._count = 0
        root.mkdir(parents=True)
        for _ in range(FILES):
            self.write(self.a_path())

    def a_path(self) -> str:
        return f"part{self.dice.randrange(8)}/file{self.dice.randrange(FILES * 2)}.py"

    def write(self, path: str) -> None:
        """Give a file new content."""
        self._count += 1
        name = f"marker_{self._count}_{self.dice.randrange(10**9):09d}"
        (self.root / path).parent.mkdir(exist_ok=True)
        body = "".join(f"    value = value * {n} + {self.dice.randrange(99)}\n" for n in range(self.dice.randrange(1, 40)))
        text = f"def {name}(value):\n    # counts what the orchard of part {path} holds\n{body}    return value\n"
        (self.root / path).write_text(text, "utf-8")
        self._forget(path)
        self.truth[path] = name

    def delete(self, path: str) -> None:
        """Delete a file that is there."""
        (self.root / path).unlink()
        self._forget(path)

    def move(self, path: str, to: str) -> None:
        """Rename a file over another path."""
        (self.root / to).parent.mkdir(exist_ok=True)
        name = self.truth[path]
        (self.root / path).replace(self.root / to)
        self._forget(to)
        del self.truth[path]
        self.truth[to] = name

    def edit(self, times: int) -> list[str]:
        """Change so many files at random; gives their paths."""
        changed = []
        for _ in range(times):
            path = self.dice.choice(sorted(self.truth)) if self.truth else self.a_path()
            kind = self.dice.random()
            if kind < 0.7 or len(self.truth) < FILES // 2:
                path = path if kind < 0.5 else self.a_path()
                self.write(path)
            elif kind < 0.85:
                self.delete(path)
            else:
                to = self.a_path()
                if to == path:
                    continue
                self.move(path, to)
                changed.append(to)
            changed.append(path)
        return changed

    def git(self, *words: str) -> None:
        """Run git in the project."""
        settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *settings, *words], cwd=self.root, check=True, capture_output=True, env=self.env)

    def look(self) -> None:
        """Take the truth from the disk, after git changed it."""
        before = set(self.truth.values()) | self.gone
        self.truth = {
            path.relative_to(self.root).as_posix(): path.read_text("utf-8").split("(", 1)[0].removeprefix("def ")
            for path in self.root.glob("part*/*.py")
        }
        self.gone = before - set(self.truth.values())

    def _forget(self, path: str) -> None:
        if name := self.truth.pop(path, None):
            self.gone.add(name)

    async def check(self, client: LspClient, asked: int = 12) -> int:
        """Ask for names that are there and for names that are gone until the answers are right; gives how many were asked."""
        there = [(name, [path]) for path, name in self.truth.items()]
        gone: list[tuple[str, list[str]]] = [(name, []) for name in sorted(self.gone)]
        questions = self.dice.sample(there, min(asked, len(there))) + self.dice.sample(gone, min(asked // 3, len(gone)))
        for name, expected in questions:
            end = time.monotonic() + PATIENCE_S
            while (found := await self.found(client, name)) != expected:
                if time.monotonic() > end:
                    status: Any = await client.request("carrel/status", {})
                    raise Wrong(f"{name} is answered by {found}, not {expected}; the server says {status}")
                await asyncio.sleep(0.1)
        return len(questions)

    async def found(self, client: LspClient, name: str) -> list[str]:
        """Return the files that define a name, as a search has it."""
        try:
            answer: Any = await client.request("carrel/search", {"query": name, "limit": 5, "waitMs": 30_000})
        except LspError:
            return ["(an error)"]  # while a disk is full, or an index is made anew: asked again
        return sorted({hit["path"] for hit in answer["hits"] if name in hit["text"]})
