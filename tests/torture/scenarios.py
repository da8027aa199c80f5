"""What a bad day brings, each as a loop of rounds that ends when its time is over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.lsp_client import LspClient, LspError
from tests.torture.workload import Workload, Wrong


@dataclass
class Arena:
    """Where a scenario happens: a project, a cache, a program to start, and until when."""

    work: Workload
    cache: Path
    program: Sequence[str]
    end: float
    rounds: int = 0
    asked: int = 0
    note: str = ""
    trail: list[str] = field(default_factory=list)
    """What was done last, for who looks into a failure."""

    @property
    def over(self) -> bool:
        return time.monotonic() > self.end and self.rounds > 0

    @property
    def options(self) -> dict[str, object]:
        return {"cacheFolder": str(self.cache), "ragEnabled": True}

    @property
    def index_files(self) -> list[Path]:
        return [path for path in sorted(self.cache.rglob("*")) if path.suffix == ".seg" or path.name.startswith("index.db")]

    async def spawn(self) -> LspClient:
        client = await LspClient.spawn(self.program, env=self.work.env, stderr=asyncio.subprocess.DEVNULL)
        await client.initialize(self.work.root, options=self.options)
        return client

    @asynccontextmanager
    async def server(self) -> AsyncIterator[LspClient]:
        client = await self.spawn()
        try:
            yield client
            if client.process.returncode is not None:
                raise Wrong(f"the server ended with {client.process.returncode}")
            await client.stop()
        finally:
            await client.kill()

    async def check(self, client: LspClient) -> None:
        self.asked += await self.work.check(client)
        self.rounds += 1


def tell(client: LspClient, work: Workload, paths: Sequence[str]) -> None:
    """Do what an editor does after files changed."""
    changes = [{"uri": (work.root / path).as_uri(), "type": 2 if (work.root / path).exists() else 3} for path in set(paths)]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})


async def kills(arena: Arena) -> None:
    """Kill the server at any moment while it indexes, and go on with another."""
    dice = arena.work.dice
    while not arena.over:
        for _ in range(3):
            arena.work.edit(dice.randrange(40))
            client = await arena.spawn()
            client.send("carrel/index", {"force": dice.random() < 0.3})
            await asyncio.sleep(dice.random() * 0.5)
            await client.kill()
        async with arena.server() as client:
            await client.request("carrel/index", {})
            await arena.check(client)


async def damage(arena: Arena) -> None:
    """Damage files of the index under a running server, and while none runs."""
    dice = arena.work.dice
    while not arena.over:
        async with arena.server() as client:
            await client.request("carrel/index", {})
            for _ in range(4):
                _damage_one(arena)
                await arena.check(client)
                tell(client, arena.work, arena.work.edit(dice.randrange(1, 6)))
                await arena.check(client)
            with contextlib.suppress(LspError):  # an index that is found damaged now is made anew by what follows
                await client.request("carrel/index", {})
            await arena.check(client)
        _damage_one(arena)


def _damage_one(arena: Arena) -> None:
    dice = arena.work.dice
    if not (files := [path for path in arena.index_files if path.is_file()]):
        return
    path = dice.choice(files)
    size = path.stat().st_size
    kind = dice.randrange(6)
    what = ("cut short", "overwritten in part", "deleted", "replaced by a folder", "overwritten", "deleted with its folder")[kind]
    arena.trail.append(f"{path.name} of {size} bytes {what}")
    if kind == 0:
        os.truncate(path, dice.randrange(size + 1))
    elif kind == 1 and size:
        with path.open("r+b") as file:
            file.seek(dice.randrange(size))
            file.write(dice.randbytes(dice.randrange(1, 5_000)))
    elif kind == 2:
        path.unlink()
    elif kind == 3:
        path.unlink()
        path.mkdir()
        (path / "inside").write_text("a folder in a file's place")
    elif kind == 4:
        path.write_bytes(dice.randbytes(dice.randrange(10_000)))
    else:
        shutil.rmtree(path.parent)


async def full_disk(arena: Arena) -> None:
    """Let the disk that the index is on become full, and have room again."""
    arena.cache.mkdir(parents=True, exist_ok=True)
    mounted = _mount(arena.cache)
    if not mounted:
        arena.note = "no disk of its own could be mounted: not run"
        arena.rounds = 1
        return
    try:
        ballast = arena.cache / "ballast"
        while not arena.over:
            async with arena.server() as client:
                with contextlib.suppress(LspError):
                    await client.request("carrel/index", {})
                _fill(ballast)
                tell(client, arena.work, arena.work.edit(30))
                with contextlib.suppress(LspError):
                    await client.request("carrel/index", {})
                await client.request("carrel/context", {"query": "what does the orchard hold", "trigger": "chat"})
                ballast.unlink()
                await client.request("carrel/index", {})
                await arena.check(client)
    finally:
        _unmount(arena.cache)


def _mount(folder: Path) -> bool:
    """Put a small disk in a folder's place, where this user may."""
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)]
    return sys.platform == "linux" and not subprocess.run(command, capture_output=True, check=False).returncode


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=False)


def _fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)


async def edits(arena: Arena) -> None:
    """Edit, rename, delete and switch branches under a running server, which is told or finds out."""
    work, dice = arena.work, arena.work.dice
    work.git("init", "-q", "-b", "main")
    work.git("add", ".")
    work.git("commit", "-qm", "first")
    branches = ["main"]
    async with arena.server() as client:
        await client.request("carrel/index", {})
        while not arena.over:
            if dice.random() < 0.5:
                tell(client, work, work.edit(dice.randrange(1, 30)))
            else:
                work.git("add", "-A")
                work.git("commit", "-qm", "work", "--allow-empty")
                if len(branches) < 4:
                    branches.append(f"branch{len(branches)}")
                    work.git("checkout", "-qb", branches[-1])
                    work.edit(40)
                    work.git("add", "-A")
                    work.git("commit", "-qm", "more", "--allow-empty")
                work.git("checkout", "-q", dice.choice(branches))
                work.look()
                await client.request("carrel/index", {})
            await arena.check(client)


async def two_processes(arena: Arena) -> None:
    """Run two servers and the command line on one folder, and kill the one that writes."""
    work, dice = arena.work, arena.work.dice
    while not arena.over:
        async with arena.server() as second:
            first = await arena.spawn()
            try:
                for _ in range(3):
                    changed = work.edit(dice.randrange(1, 20))
                    tell(first, work, changed)
                    tell(second, work, changed)
                    for client in (first, second):
                        with contextlib.suppress(LspError):
                            await client.request("carrel/index", {})
                    await arena.check(first)
                    await arena.check(second)
            finally:
                await first.kill()
            work.edit(10)
            command = [sys.executable, "-m", "carrel", "index", "--background", str(work.root)]
            beside = await asyncio.create_subprocess_exec(*command, env=work.env)
            with contextlib.suppress(LspError):
                await second.request("carrel/index", {})
            await beside.wait()
            await second.request("carrel/index", {})
            await arena.check(second)


SCENARIOS: dict[str, Callable[[Arena], Awaitable[None]]] = {
    "kills": kills,
    "damage": damage,
    "full-disk": full_disk,
    "edits": edits,
    "two-processes": two_processes,
}
