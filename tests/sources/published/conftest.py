"""A repository, and the place where it is published, on the real Qdrant server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contract import qdrant_server
from tests.shop import IGNORED, SHOP, write_files
from tests.sources.published.common import AWS, at, commit, git

from carrel.providers.published_repository import QdrantRepository


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    files = {**SHOP, **IGNORED, "src/keys.py": f"def access_key_of_the_bucket():\n    return '{AWS}'\n" * 3}
    root = write_files(tmp_path / "shop", files)
    git(root, "init", "-q", "-b", "main")
    commit(root)
    return root


@pytest.fixture
async def repository() -> AsyncIterator[QdrantRepository]:
    found = at(qdrant_server.server_url(), f"shop-{uuid.uuid4().hex[:8]}")
    yield found
    await found.drop()
    await found.aclose()
