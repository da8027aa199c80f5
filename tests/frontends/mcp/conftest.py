"""A project on disk, and the official SDK's client over stdio to the real process."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TextIO

import pytest
import pytest_asyncio
from mcp import StdioServerParameters, stdio_client
from mcp.client import Client
from tests.shop import IGNORED, SHOP, environment, write_files

FILES = {**SHOP, **IGNORED, "src/baskets.py": SHOP["src/orders.py"].replace("Order", "Basket")}

PACKAGE = {"PYTHONPATH": str(Path(__file__).parents[3] / "python")}
ON_SHARED = pytest.mark.asyncio(loop_scope="module")

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    """All of a server's environment: the SDK hands nothing else on that would lead to Carrel."""
    return {**env, **PACKAGE}


@contextlib.asynccontextmanager
async def connected(
    env: dict[str, str], *roots: Path, cwd: Path, more: tuple[str, ...] = (), log: TextIO = sys.stderr, **options: Any
) -> AsyncIterator[Client]:
    """Start a server of all tools, whose results are values too, and connect; folders become `--root`."""
    arguments = [
        "-m",
        "carrel",
        "mcp",
        "--tools",
        "all",
        "--structured",
        *(part for root in roots for part in ("--root", str(root))),
        *more,
    ]
    process = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=cwd)
    async with Client(stdio_client(process, errlog=log), read_timeout_seconds=60, **options) as client:
        yield client


@pytest.fixture
def connect(env: dict[str, str], project: Path) -> Connect:
    """Start a server and connect: `async with connect(project) as client`."""

    def connecting(*roots: Path, cwd: Path = project, **options: Any) -> AbstractAsyncContextManager[Client]:
        return connected(env, *roots, cwd=cwd, **options)

    return connecting


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """Connect to the one server of a module's tests that change nothing: mark them with `ON_SHARED`."""
    folder = tmp_path_factory.mktemp("shared")
    project = write_files(folder / "shop", FILES)
    opened, finished = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def hold() -> None:  # the SDK's client is closed by the task that opened it
        async with connected({**environment(folder / "home"), **PACKAGE}, project, cwd=project) as client:
            opened.set_result(client)
            await finished.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait({opened, holding}, return_when=asyncio.FIRST_COMPLETED)
    if holding.done():
        holding.result()
    yield opened.result()
    finished.set()
    await holding
