"""A long time with two editor windows, compressed: `python -m tests.torture.soak [SCALE]`; 1 is 24 hours, .02 a minute or two.

Two real servers have one git repository open; one is told of edits, the other notices them. At 20 moments all edits are on disk
and both are compared with a fresh index, question by question, and memory, open files, disk and latency are noted. In the first
half kills take either server, in the second the one that doesn't write, so that its memory is that of half the time. Prints one
JSON object and fails at the first answer that differs, or where something grew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from tests.lsp_client import SERVER, LspClient, LspError
from tests.shop import environment, write_many
from tests.torture.workload import Workload, Wrong

ACTS = {"edit": 200_000, "ask": 20_000, "switch": 500, "kill": 50}
BRANCHES = 4
QUESTIONS = ("counts what the orchard holds", "function that adds to a result", "README", "where is the value of part3 returned")
OPEN = 8
"""Documents that are open at a time."""


class Soak:
    """A project, two servers on it, and what was measured."""

    def __init__(self, home: Path, scale: float, moments: int = 20, program: Sequence[str] = SERVER) -> None:
        self.home, self.scale, self.moments, self.program = home, scale, moments, program
        (home / "tmp").mkdir()
        # The environment names the folders for what a server keeps and for what it needs for a while, so that both are measured.
        env = {**environment(home / "home"), **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(home / "tmp"))}
        env["PYTHONPATH"] = os.pathsep.join((str(Path.cwd()), str(Path.cwd() / "python")))
        self.work = Workload(home / "project", random.Random(24), env)  # noqa: S311 - the same every time
        write_many(self.work.root / "steady", 200, 60)
        self.servers: list[LspClient] = []
        self.opened: dict[str, int] = {}
        self.branches = ["main"]
        self.done = dict.fromkeys(ACTS, 0)
        self.looks: list[dict[str, Any]] = []
        self._latencies: list[float] = []
        self._fresh_bytes = 0

    async def run(self) -> dict[str, Any]:
        """Do everything; return what was measured."""
        for words in (
            ("init", "-q", "-b", "main"),
            ("config", "gc.autoDetach", "false"),
            ("add", "."),
            ("commit", "-qm", "first"),
        ):
            self.work.git(*words)
        try:
            self.servers = [await self._spawn("cache"), await self._spawn("cache")]
            for moment in range(1, self.moments + 1):
                acts = [kind for kind, times in ACTS.items() for _ in range(self._share(times, moment))]
                self.work.dice.shuffle(acts)
                for kind in acts:
                    await self._act(kind, moment)
                await self._compare()
                await self._look()
        finally:
            for server in self.servers:
                await server.kill()
        judge(self.looks)
        return {"scale": self.scale, "done": self.done, "looks": self.looks}

    def _share(self, times: int, moment: int) -> int:
        """Return how many of so many acts happen before this moment and after the last."""
        whole = max(2, round(times * self.scale))
        return whole * moment // self.moments - whole * (moment - 1) // self.moments

    async def _spawn(self, cache: str) -> LspClient:
        client = await LspClient.spawn(self.program, env=self.work.env, stderr=asyncio.subprocess.DEVNULL)
        options = {"cacheFolder": str(self.home / cache), "ragEnabled": True}
        await client.initialize(self.work.root, options=options)
        await _index(client)
        return client

    async def _act(self, kind: str, moment: int) -> None:
        self.done[kind] += 1
        match kind:
            case "edit":
                self._edit()
            case "ask":
                await self._ask()
            case "switch":
                await self._switch()
            case _:
                await self._kill(moment)

    def _edit(self) -> None:
        """Type into an open document or save it, four of five times; else change files outside the editor."""
        work, dice, told = self.work, self.work.dice, self.servers[0]
        if dice.random() < 0.2:
            self._leave(*work.edit(1))
            return
        path = dice.choice(sorted(self.opened if len(self.opened) >= OPEN else work.truth))
        file = work.root / path
        if path not in self.opened:
            self.opened[path] = 1
            told.open(file, file.read_text("utf-8"))
        elif dice.random() < 0.5:
            self.opened[path] += 1
            typed = f"# typed {dice.randrange(10**9)}\n"
            told.change(file, file.read_text("utf-8") + typed, self.opened[path])
        else:
            self.opened[path] += 1
            work.write(path)
            told.change(file, file.read_text("utf-8"), self.opened[path])
            told.save(file)
        if dice.random() < 0.05:
            self._leave(path)

    def _leave(self, *paths: str) -> None:
        """Close documents."""
        for path in paths:
            if self.opened.pop(path, None):
                self.servers[0].close(self.work.root / path)

    async def _ask(self) -> None:
        """Ask one of the servers; some of the questions are taken back."""
        dice, client = self.work.dice, self.work.dice.choice(self.servers)
        question = dice.choice([*QUESTIONS, dice.choice(sorted(self.work.truth.values()))])
        method = "carrel/context" if dice.random() < 0.5 else "carrel/search"
        if dice.random() < 0.05:
            number, _ = client.send(method, {"query": question})
            client.cancel(number)
            return
        began = time.perf_counter()
        await client.request(method, {"query": question}, timeout=120)
        self._latencies.append(1000 * (time.perf_counter() - began))
        for server in self.servers:
            server.notifications.clear()

    async def _switch(self) -> None:
        """Commit everything, and switch to another branch."""
        work = self.work
        self._leave(*self.opened)
        work.git("add", "-A")
        work.git("commit", "-qm", "work", "--allow-empty")
        if len(self.branches) < BRANCHES:
            self.branches.append(f"branch{len(self.branches)}")
            work.git("checkout", "-qb", self.branches[-1])
            work.edit(40)
        else:
            work.git("checkout", "-q", work.dice.choice(self.branches))
        work.look()
        work.gone = set(work.dice.sample(sorted(work.gone), min(1_000, len(work.gone))))  # names, of which any are asked

    async def _kill(self, moment: int) -> None:
        """Kill a server, as a rule in the middle of a run over everything, and start another."""
        writes = [(await server.request("carrel/status", {}))["role"] == "writer" for server in self.servers]
        victim = self.work.dice.randrange(2) if moment <= self.moments // 2 else writes.index(False)
        client = self.servers[victim]
        if victim == 0:
            self.opened.clear()
        client.send("carrel/index", {"force": True})
        await asyncio.sleep(self.work.dice.random() * 0.3)
        await client.kill()
        self.servers[victim] = await self._spawn("cache")

    async def _compare(self) -> None:
        """Compare both servers' answers with those of a fresh index."""
        work = self.work
        self._leave(*self.opened)
        for server in self.servers:
            await _index(server)
            await work.check(server)
        fresh = await self._spawn("fresh")
        try:
            for question in (*QUESTIONS, *work.dice.sample(sorted(work.truth.values()), 4)):
                expected = await _answer(fresh, question)
                for server in self.servers:
                    end = time.monotonic() + 60
                    while (answer := await _answer(server, question)) != expected:
                        if time.monotonic() > end:
                            raise Wrong(f"{question!r}: {answer}\nand not, as by a fresh index, {expected}")
                        await asyncio.sleep(0.1)
            await fresh.stop()
        finally:
            await fresh.kill()
        self._fresh_bytes = _bytes(self.home / "fresh")

    async def _look(self) -> None:
        """Note what the servers take."""
        servers = [psutil.Process(server.process.pid) for server in self.servers]
        writes = [(await server.request("carrel/status", {}))["role"] == "writer" for server in self.servers]
        if True not in writes:
            raise Wrong("no server writes")
        self.looks.append(
            {
                "writer": servers[writes.index(True)].pid,
                "writerMb": round(servers[writes.index(True)].memory_info().rss / 1e6, 1),
                "rssMb": [round(server.memory_info().rss / 1e6, 1) for server in servers],
                "openFiles": [server.num_fds() if sys.platform != "win32" else server.num_handles() for server in servers],
                "threads": [server.num_threads() for server in servers],
                "children": sum(len(server.children()) for server in servers),
                "indexMb": round(_bytes(self.home / "cache") / 1e6, 2),
                "indexFiles": _files(self.home / "cache"),
                "freshMb": round(self._fresh_bytes / 1e6, 2),
                "keptMb": round(_bytes(self.home / "home") / 1e6, 2),
                "scratchFiles": _files(self.home / "tmp"),
                "questionMs": round(statistics.median(self._latencies or [0.0]), 1),
            }
        )
        self._latencies.clear()
        print(json.dumps(self.looks[-1]), file=sys.stderr, flush=True)


LIMITS = {
    "writerMb": (1.15, 20.0),
    "openFiles": (1.0, 8.0),
    "threads": (1.0, 8.0),
    "children": (1.0, 2.0),
    "indexMb": (1.5, 4.0),
    "indexFiles": (1.5, 20.0),
    "scratchFiles": (1.0, 4.0),
    "questionMs": (3.0, 100.0),
}
"""By how much each figure may differ from one end of the second half to the other: times so much, and so much more."""


def judge(looks: Sequence[Mapping[str, Any]]) -> None:
    """Raise `Wrong` where something grew in the second half, in which the server that writes stayed."""
    half = looks[len(looks) // 2 :]
    if len({look["writer"] for look in half}) > 1:
        raise Wrong("another server took over the writing from one that was alive")
    for name, (times, more) in LIMITS.items():
        before, after = (max(_largest(look[name]) for look in some) for some in (half[:3], half[-3:]))
        if after > before * times + more:
            raise Wrong(f"{name} grew from {before} to {after}")


def _largest(value: Any) -> float:
    return float(max(value)) if isinstance(value, list) else float(value)


def _files(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*") if path.is_file())


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


async def _index(client: LspClient) -> None:
    """Have the index brought up to date; one that another server doesn't write soon enough is looked at by what follows."""
    with contextlib.suppress(LspError):
        await client.request("carrel/index", {}, timeout=300)


async def _answer(client: LspClient, question: str) -> Any:
    """Return what a search gives, but for what is told of the request itself."""
    answer = await client.request("carrel/search", {"query": question, "limit": 10, "waitMs": 30_000}, timeout=120)
    return [(hit["path"], hit["startLine"], hit["endLine"], round(hit["score"], 4), hit["text"]) for hit in answer["hits"]]


def soak(scale: float, **how: Any) -> dict[str, Any]:
    """Run at this scale in a folder that is deleted; raise `Wrong` where a promise is broken."""
    with tempfile.TemporaryDirectory(prefix="carrel-soak-") as scratch:
        return asyncio.run(Soak(Path(scratch), scale, **how).run())


if __name__ == "__main__":
    print(json.dumps(soak(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0), indent=1))
