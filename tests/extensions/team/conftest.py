"""Every place that a team may share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")

from tests.extensions.team.common import outbound

from carrel.extensions.team.values import FolderValues, QdrantValues


@pytest.fixture(params=["folder", "qdrant"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "folder":
        yield FolderValues(tmp_path / "shared")
        return
    collection = f"carrel-team-{os.getpid()}-{request.node.name[-20:].strip('[]')}"
    url = qdrant_server.server_url()
    values = QdrantValues(outbound(tmp_path), url, collection)
    yield values
    await values.aclose()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        await client.delete(f"/collections/{collection}")
