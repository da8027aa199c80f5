"""A day's worth of requests, compressed: `python -m tests.bench.day FOLDER [REQUESTS]` sends them to one real server.

Questions, searches, packs, saved files, pipelines, searches for tools, chats and looks at the log, in an order that a seed
decides; the runbooks and the MCP server of the tests are beside the folder, which is copied. Prints one JSON object: the server's
memory, open files, threads and log after a tenth, when all is loaded, after half and at the end, and latencies of the first and
the last fifth. 24 hours at one request in 40 seconds are 2,160.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import psutil  # type: ignore[import-untyped]
from tests.documents import write_documents
from tests.lsp_client import LspClient
from tests.shop import environment

ROOT = Path(__file__).parents[1]
MIX = {"context": 40, "search": 20, "sources": 10, "save": 15, "tools": 5, "pipeline": 4, "chat": 3, "audit": 2, "refused": 1}
QUESTIONS = (
    "how does login work",
    "database connection pool",
    "parse a configuration file",
    "class Response",
    "retry with a timeout",
)
RUNBOOKS = (
    "restart the Phoenix server according to protocol",
    "procedure when Atlas fails over",
    "contract with Globex",
    "Dublin replica",
)
STEPS = [{"tool": "sort"}, {"tool": "head", "args": {"lines": 2}}]


class Day:
    """One server and what is asked of it."""

    def __init__(self, client: LspClient, folder: Path, log: Path) -> None:
        self._client, self._folder, self._log = client, folder, log
        self._random = Random(24)  # noqa: S311 - the same day every time
        self._files = [path for path in sorted(folder.rglob("*.py")) if path.stat().st_size < 20_000][:50]
        self.latencies: list[tuple[str, float]] = []
        client.answers["carrel/complete"] = lambda _: {"text": "It is there."}

    async def ask(self) -> None:
        """Send one request of the mix."""
        kind = self._random.choices(list(MIX), list(MIX.values()))[0]
        question = f"{self._random.choice(QUESTIONS)} {self._random.randrange(1_000)}"
        runbook = self._random.choice(RUNBOOKS)
        chat = {"messages": [{"role": "user", "content": question}], "modelToken": "m"}
        began = time.perf_counter()
        match kind:
            case "context":
                await self._client.request("carrel/context", {"query": question, "trigger": "explicit"})
            case "search":
                await self._client.request("carrel/search", {"query": question})
            case "sources":
                await self._client.request("carrel/search", {"query": runbook})
            case "save":
                file = self._random.choice(self._files)
                file.write_text(f"{file.read_text('utf-8').rstrip()}\n# {self._random.random()}\n"[-30_000:], "utf-8")
                self._client.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
            case "tools":
                await self._client.request("carrel/tools/search", {"query": "find lines by a pattern"})
            case "pipeline":
                await self._client.request("carrel/pipeline/run", {"pipeline": {"steps": STEPS}, "inputData": "c\nb\na"})
            case "chat":
                await self._client.request("carrel/chat", chat)
            case "audit":
                await self._client.request("carrel/audit", {"limit": 20})
            case "refused":
                plan = {"steps": [{"tool": "ops.restart_server", "args": {"hostname": "x"}}]}
                run = await self._client.request("carrel/pipeline/run", {"pipeline": plan})
                assert not run["ok"]
        self.latencies.append((kind, 1000 * (time.perf_counter() - began)))

    def look(self) -> dict[str, Any]:
        """Describe the server at this moment."""
        server = psutil.Process(self._client.process.pid)
        logs = sum(path.stat().st_size for path in self._log.parent.glob(f"{self._log.name}*"))
        return {
            "requests": len(self.latencies),
            "rssMb": round(server.memory_info().rss / 1e6, 1),
            "openFiles": server.num_fds() if sys.platform != "win32" else server.num_handles(),
            "threads": server.num_threads(),
            "children": len(server.children()),
            "logKb": round(logs / 1e3, 1),
        }


async def main(source: Path, requests: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        env, folder = environment(home / "home"), Path(shutil.copytree(source, home / "project"))
        runbooks, settings = write_documents(home / "runbooks"), Path(env["XDG_CONFIG_HOME"]) / "carrel"
        settings.mkdir(parents=True)
        server = f"command = '{sys.executable}'\nargs = ['{ROOT / 'frontends/mcp' / 'ops_server.py'}', '{home / 'calls'}']\n"
        (settings / "settings.toml").write_text(
            f"[sources.runbooks]\nfolder = '{runbooks}'\n[tools.servers.ops]\n{server}", "utf-8"
        )
        client = await LspClient.spawn((sys.executable, "-P", "-m", "carrel", "serve"), env=env)
        await client.initialize(
            folder, options={"ragEnabled": True}, capabilities={"experimental": {"carrel": {"complete": True}}}
        )
        await client.request("carrel/index", {}, timeout=900)
        await client.request("carrel/tools/list", {"refresh": True}, timeout=120)
        await client.request("carrel/search", {"query": RUNBOOKS[0], "waitMs": 60_000}, timeout=120)
        day = Day(client, folder, Path(env["XDG_DATA_HOME"]) / "carrel" / "audit.sqlite")
        looks = []
        for number in range(requests):
            await day.ask()
            if number + 1 in (max(1, requests // 10), requests // 2, requests):
                await asyncio.sleep(1.0)  # what is gathered is written
                looks.append(day.look())
        fifth = max(1, requests // 5)
        result = {"looks": looks, "first": _medians(day.latencies[:fifth]), "last": _medians(day.latencies[-fifth:])}
        await client.stop()
        await client.kill()
        return result


def _medians(latencies: list[tuple[str, float]]) -> dict[str, float]:
    by_kind: dict[str, list[float]] = defaultdict(list)
    for kind, ms in latencies:
        by_kind[kind].append(ms)
    return {kind: round(statistics.median(values), 1) for kind, values in sorted(by_kind.items())}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2_160)), indent=1))
