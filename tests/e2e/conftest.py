"""A project on disk and real server processes that talk over stdio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.lsp_client import LspClient

FILES = {
    "src/auth.py": (
        'def authenticate_user(name, password):\n    """Check a login against the user table."""\n'
        "    row = load_account(name)\n    return row is not None and row.verify(password)\n"
    ),
    "src/orders.py": (
        "class Order:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "src/pool.py": (
        "class DatabaseConnection:\n    def configure_pool(self, size, timeout):\n"
        "        self.pool_size = size\n        self.pool_timeout = timeout\n"
    ),
    "README.md": "# Shop\n\nA small shop. Orders are priced, logins are checked, connections are pooled.\n",
    ".env": "DATABASE_PASSWORD=hunter2hunter2\n",
    ".gitignore": "generated/\n",
    "generated/out.py": "def generated_wombat():\n    return 'this file is ignored by git, so it is never read'\n",
}

Start = Callable[..., AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the person who runs the tests is read or written."""
    homes = {
        name: str(tmp_path / "home" / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "LOCALAPPDATA", "APPDATA")
    }
    return {**homes, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"cacheFolder": str(tmp_path / "cache"), "ragEnabled": True}


@pytest.fixture
def start(env: dict[str, str], options: dict[str, Any]) -> Start:
    """Start a server on folders: `async with start(project, ragEnabled=False) as client`."""

    @contextlib.asynccontextmanager
    async def started(*folders: Path, capabilities: dict[str, Any] | None = None, **more: Any) -> AsyncIterator[LspClient]:
        settings = {**options, **more}
        async with LspClient.started(*folders, options=settings, capabilities=capabilities, env=env) as client:
            yield client

    return started


def write_many(root: Path, files: int, lines: int) -> None:
    """A workspace that takes a while to index."""
    for number in range(files):
        folder = root / f"package{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        functions = (
            f"def function_{number}_{i}(value):\n    result = value * {i}\n    return result + {number}\n\n\n"
            for i in range(lines // 5)
        )
        (folder / f"module{number}.py").write_text("".join(functions), "utf-8")


def paths(result: Any) -> list[str]:
    """Paths of a result's hits, in order."""
    return [hit["path"] for hit in result["hits"]]
