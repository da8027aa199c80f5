"""A project on disk and real server processes that talk over stdio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.shop import IGNORED, SHOP, write_files

from carrel.frontends.common.lsp_client import LspClient

FILES = {
    **SHOP,
    **IGNORED,
    "src/pool.py": (
        "class DatabaseConnection:\n    def configure_pool(self, size, timeout):\n"
        "        self.pool_size = size\n        self.pool_timeout = timeout\n"
    ),
}

Start = Callable[..., AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"cacheFolder": str(tmp_path / "cache"), "ragEnabled": True}


@pytest.fixture
def start(env: dict[str, str], options: dict[str, Any]) -> Start:
    """Start a server on folders: `async with start(project, ragEnabled=False) as client`."""

    @contextlib.asynccontextmanager
    async def started(*folders: Path, capabilities: dict[str, Any] | None = None, **more: Any) -> AsyncIterator[LspClient]:
        settings = {**options, **more}
        if capabilities and isinstance(capabilities.get("experimental"), dict):
            experimental = capabilities["experimental"]
            if isinstance(experimental.get("carrel"), dict):
                told = {"ownSettings": True, **experimental["carrel"]}
                capabilities = {**capabilities, "experimental": {**experimental, "carrel": told}}
        async with LspClient.started(*folders, options=settings, capabilities=capabilities, env=env) as client:
            yield client

    return started


def paths(result: Any) -> list[str]:
    """Paths of a result's hits, in order."""
    return [hit["path"] for hit in result["hits"]]
