"""A project on disk, and the official SDK's client over stdio to the real process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from mcp import StdioServerParameters

FILES = {
    "src/auth.py": (
        'def authenticate_user(name, password):\n    """Check a login against the user table."""\n'
        "    row = load_account(name)\n    return row is not None and row.verify(password)\n"
    ),
    "src/orders.py": (
        "class Order:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "src/baskets.py": (
        "class Basket:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def total_price(self):\n        return sum(item.price for item in self.items)\n"
    ),
    "README.md": "# Shop\n\nA small shop. Orders are priced, logins are checked, connections are pooled.\n",
    ".env": "DATABASE_PASSWORD=hunter2hunter2\n",
    ".gitignore": "generated/\n",
    "generated/out.py": "def generated_wombat():\n    return 'this file is ignored by git, so it is never read'\n",
}

Connect = Callable[..., AbstractAsyncContextManager[Client]]


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
    names = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "LOCALAPPDATA", "APPDATA")
    package = str(Path(__file__).parent.parent.parent / "python")
    return {**{name: str(tmp_path / "home" / name) for name in names}, "PYTHONPATH": package, "GIT_CONFIG_GLOBAL": "/dev/null"}


@pytest.fixture
def connect(env: dict[str, str], project: Path) -> Connect:
    """Start a server and connect: `async with connect(project) as client`; folders become `--root`."""

    @contextlib.asynccontextmanager
    async def connected(*roots: Path, cwd: Path = project, more: tuple[str, ...] = (), **options: Any) -> AsyncIterator[Client]:
        arguments = ["-m", "carrel", "mcp", *(part for root in roots for part in ("--root", str(root))), *more]
        process = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=cwd)
        async with Client(process, read_timeout_seconds=60, **options) as client:
            yield client

    return connected


def write_many(root: Path, files: int) -> None:
    """A workspace that takes a while to index."""
    for number in range(files):
        folder = root / f"package{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        functions = (
            f"def function_{number}_{i}(value):\n    result = value * {i}\n    return result + {number}\n\n\n" for i in range(40)
        )
        (folder / f"module{number}.py").write_text("".join(functions), "utf-8")
