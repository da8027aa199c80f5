"""A project on disk and real server processes that talk over stdio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.lsp_client import LspClient
from tests.shop import IGNORED, SHOP, environment, write_files

from carrel.frontends.common.uris import path_to_uri

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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LspClient]:
    """A server without folders for all tests of a module that end none and set none up; the module may name its CAPABILITIES."""
    kept = tmp_path_factory.mktemp("server")
    options = {"cacheFolder": str(kept / "cache"), "ragEnabled": True}
    capabilities = getattr(request.module, "CAPABILITIES", None)
    async with LspClient.started(options=options, capabilities=capabilities, env=environment(kept / "home")) as client:
        yield client


@pytest.fixture
def opened(server: LspClient) -> Start:
    """Open folders in the module's server: `async with opened(project) as client`; they are closed at the end."""

    @contextlib.asynccontextmanager
    async def with_folders(*folders: Path) -> AsyncIterator[LspClient]:
        named = [{"uri": path_to_uri(str(folder)), "name": folder.name} for folder in folders]
        before = {**vars(server), "answers": dict(server.answers)}
        server.notifications.clear()
        server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": named, "removed": []}})
        try:
            yield server
        finally:
            server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": named}})
            vars(server).clear()  # what the test replaced of the client
            vars(server).update(before)

    return with_folders


def paths(result: Any) -> list[str]:
    """Paths of a result's hits, in order."""
    return [hit["path"] for hit in result["hits"]]
