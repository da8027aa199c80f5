"""A project on disk, and the official SDK's client over stdio to the real process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TextIO

import pytest
from mcp.client import Client
from tests.shop import IGNORED, SHOP, write_files

from mcp import StdioServerParameters, stdio_client

FILES = {**SHOP, **IGNORED, "src/baskets.py": SHOP["src/orders.py"].replace("Order", "Basket")}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    """All of a server's environment: the SDK hands nothing else on that would lead to Carrel."""
    return {**env, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}


@pytest.fixture
def connect(env: dict[str, str], project: Path) -> Connect:
    """Start a server and connect: `async with connect(project) as client`; folders become `--root`."""

    @contextlib.asynccontextmanager
    async def connected(
        *roots: Path, cwd: Path = project, more: tuple[str, ...] = (), log: TextIO = sys.stderr, **options: Any
    ) -> AsyncIterator[Client]:
        arguments = ["-m", "carrel", "mcp", *(part for root in roots for part in ("--root", str(root))), *more]
        process = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=cwd)
        async with Client(stdio_client(process, errlog=log), read_timeout_seconds=60, **options) as client:
            yield client

    return connected
