"""Search among the tools of public MCP servers: how often a fitting tool is among the first five, and how long it takes.

    python -m tests.bench.tool_catalogue collect TOOLS --programs FOLDER ...   ask servers that are installed for their tools
    python -m tests.bench.tool_catalogue measure TOOLS [--fit]                 tests/bench/tool_requests.txt against all of them

`tests/bench/tool_servers.json` names the packages, all under MIT or Apache-2.0; their descriptions are not kept here.
Whether a server is kept aside was decided before any weight was fitted: the first byte of the SHA-256 of its name is a multiple
of three. `--fit` looks at the others only.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from random import Random

from carrel.composition.tools import tool_index
from carrel.extensions.tools.catalogue.files import from_mcp
from carrel.extensions.tools.catalogue.search import WEIGHTS, Signals, ToolIndex, ToolQuery
from carrel.extensions.tools.servers.mcp_tools import connected
from carrel.model.catalogue_tool import CatalogueTool
from carrel.model.errors import CarrelError
from carrel.model.fakes import fake_outbound
from carrel.model.ports import Embedder
from carrel.settings.tool_settings import ToolServer

HERE = Path(__file__).parent
K = 5


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and the tools that fit it; any of them is right."""

    text: str
    fitting: frozenset[str]

    @property
    def aside(self) -> bool:
        """Tell whether a server that was kept aside has the first of them."""
        return is_aside(self.first.partition(".")[0])

    @property
    def first(self) -> str:
        return min(self.fitting)


def is_aside(server: str) -> bool:
    """Tell whether a server was kept aside from fitting."""
    return hashlib.sha256(server.encode()).digest()[0] % 3 == 0


def requests() -> list[Request]:
    found = []
    for line in (HERE / "tool_requests.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, names = line.partition(" | ")
            found.append(Request(text, frozenset(name.strip() for name in names.split(","))))
    return found


def tools_in(folder: Path) -> list[CatalogueTool]:
    tools: list[CatalogueTool] = []
    for file in sorted(folder.glob("*.json")):
        tools += from_mcp(json.loads(file.read_text("utf-8")), file.stem)[0]
    return tools


async def collect(folder: Path, programs: list[Path]) -> None:
    servers = json.loads((HERE / "tool_servers.json").read_text("utf-8"))["servers"]
    for name, server in servers.items():
        os.environ.update(server.get("env", {}))
        found = (path / server["command"] for path in programs)
        command = next((path for path in found if path.exists()), None)
        if command is None or (folder / f"{name}.json").exists():
            continue
        with tempfile.TemporaryDirectory() as scratch:
            args, env = tuple(server.get("args", ())), tuple(server.get("env", {}))
            spec = ToolServer(command=str(command), args=args, env=env, cwd=scratch)
            try:
                async with connected(name, spec, fake_outbound()) as connection:
                    rows = await connection.list_tools()
            except CarrelError as error:
                print(f"{name}: {error}")
                continue
        (folder / f"{name}.json").write_text(json.dumps(rows), "utf-8")
        print(f"{name}: {len(rows)} tools")


def measure(folder: Path, *, fit: bool) -> int:
    tools = tools_in(folder)
    known = {tool.qualified for tool in tools}
    asked = [request for request in requests() if request.fitting & known]
    began = time.perf_counter()
    store, model = tool_index()
    index = ToolIndex(tools, store, model)
    print(
        f"{len(tools):,} tools of {len({tool.source for tool in tools})} servers, indexed in {time.perf_counter() - began:.2f} s"
    )
    vectors = {request.text: asyncio.run(model.embed([request.text], "query"))[0] for request in asked}

    found = {request.text: index.signals(ToolQuery(request.text, K), vectors[request.text]) for request in asked}

    def place(request: Request, weights: Signals) -> int:
        """Return how many tools stand before the first that fits."""
        scored = [
            (sum(map(mul, weights, signals)), tool.qualified in request.fitting) for tool, signals, _ in found[request.text]
        ]
        best = max((score for score, fits in scored if fits), default=-math.inf)
        return sum(score > best for score, _ in scored) if best > -math.inf else len(tools)

    def recall(some: list[Request], weights: Signals, k: int = K) -> float:
        return sum(place(request, weights) < k for request in some) / len(some) if some else 0.0

    fitting = [request for request in asked if not request.aside]
    if fit:
        print("best on those for fitting:", fitted(lambda weights: [place(request, weights) for request in fitting]))
        return 0
    aside = [request for request in asked if request.aside]
    for name, some in (("for fitting", fitting), ("kept aside", aside), ("all", asked)):
        print(f"{name}: {len(some)} requests, first {recall(some, WEIGHTS, 1):.3f}, among {K} {recall(some, WEIGHTS):.3f}")
    wall, processor = asyncio.run(timed(index, model, asked))
    print(f"a search with its embedding: median {wall:.2f} ms, {processor:.2f} ms of processor time")
    for request in asked:
        given = [item.tool.qualified for item in index.search(ToolQuery(request.text, K), vectors[request.text])]
        if not request.aside and not request.fitting & set(given):  # nobody shall mend what was kept aside
            print(f"  missed: {request.text} -> {', '.join(given)}")
    return 0


async def timed(index: ToolIndex, model: Embedder, asked: list[Request]) -> tuple[float, float]:
    """Return the median of a search, and its processor time, in milliseconds."""
    wall, processor = [], []
    for request in asked:
        started, used = time.perf_counter(), time.process_time()
        vector = (await model.embed([request.text], "query"))[0]
        index.search(ToolQuery(request.text, K), vector)
        wall.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - used))
    return statistics.median(wall), statistics.median(processor)


def fitted(places: Callable[[Signals], list[int]]) -> Signals:
    """Return better weights by a random walk that a seed repeats."""
    random = Random(1)  # noqa: S311 - it guards nothing

    def worth(weights: Signals) -> float:
        found = places(weights)
        return sum((place < K) + 0.5 / (1 + place) for place in found) / len(found)

    best, highest = WEIGHTS, worth(WEIGHTS)
    for _ in range(1_500):
        tried = tuple(max(0.0, weight * math.exp(random.gauss(0, 0.35))) if random.random() < 0.35 else weight for weight in best)
        if (reached := worth(tried)) > highest:
            best, highest = tried, reached
    return tuple(round(weight, 3) for weight in best)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("collect", "measure"))
    parser.add_argument("tools", type=Path)
    parser.add_argument("--programs", type=Path, nargs="*", default=[])
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    if arguments.action == "collect":
        arguments.tools.mkdir(parents=True, exist_ok=True)
        asyncio.run(collect(arguments.tools, arguments.programs))
        return 0
    return measure(arguments.tools, fit=arguments.fit)


if __name__ == "__main__":
    sys.exit(main())
