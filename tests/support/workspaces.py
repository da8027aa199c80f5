"""Workspaces over a small folder, with whatever embedding model a test wants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services.embeddings import EmbeddingService, running
from tests.shop import SHOP, write_files
from tests.support.remote_models import Person

from carrel.composition.composition import Composition
from carrel.index.workspace_state import FolderSettings
from carrel.model.types import Query
from carrel.service import queries
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs

Open = Callable[..., Workspace]


@pytest.fixture
async def open_workspace(tmp_path: Path) -> AsyncIterator[Open]:
    """Open a workspace with an index of its own; those that share `jobs` share the threads."""
    opened: list[Workspace] = []

    def of(name: str = "shop", embedder: Any = None, jobs: Jobs | None = None, **more: Any) -> Workspace:
        root = write_files(tmp_path / name, SHOP)
        folder = FolderSettings(Settings(cache_folder=str(tmp_path / "cache"), rag_enabled=True))
        composition = more.pop("composition", None) or Composition(embedder)
        opened.append(
            Workspace(root, root.as_uri(), folder=folder, composition=composition, jobs=jobs or Jobs(), watched=True, **more)
        )
        return opened[-1]

    yield of
    for workspace in opened:
        await workspace.close()


async def indexed(workspace: Workspace) -> Workspace:
    """Have the first index made."""
    await queries.search(workspace, Query("anything", 1), 30_000)
    return workspace


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingService]:
    with running() as service:
        yield service


@pytest.fixture
def service(server: EmbeddingService) -> EmbeddingService:
    server.reset()
    return server


@pytest.fixture
async def person(tmp_path: Path) -> AsyncIterator[Person]:
    person = Person(tmp_path)
    yield person
    for workspace in person.opened:
        await workspace.close()
