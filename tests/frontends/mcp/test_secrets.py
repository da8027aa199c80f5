"""Planted secrets don't reach an assistant, by any tool or resource."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.frontends.mcp.conftest import Connect
from tests.leaks.planted import by_content, by_name, write

PLANTED = [*by_content(31, 0), *by_name(31)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "shop", PLANTED)
    return tmp_path / "shop"


async def test_no_tool_and_no_resource_gives_a_secret(connect: Connect, project: Path) -> None:
    told: list[str] = []
    async with connect(project) as client:
        queries = [*sorted({Path(one.path).stem for one in PLANTED}), "password", "api token", "private key", "the wiki"]
        told += [str(await client.call_tool("search_code", {"query": query, "limit": 50})) for query in queries]
        for form in ("xml", "source", "tool"):
            asked = {"query": "password token key", "maxTokens": 100_000, "topK": 50, "format": form}
            told.append(str(await client.call_tool("get_context", asked)))
        told.append(str(await client.call_tool("search_knowledge_base", {"query": "password, access and keys", "limit": 50})))
        told.append(str(await client.call_tool("index_status", {})))
        resources = (await client.list_resources()).resources
        told += [str(await client.read_resource(resource.uri)) for resource in resources]
    text = "\n".join(told)
    assert len(resources) == sum(one.path.startswith("inside/") for one in PLANTED)
    assert text.count("[secret: ") > 106
    assert "'masked': 1" in text
    # What is printed as Python shows a text has its backslashes doubled; no secret holds one.
    assert [one.path for one in PLANTED if any(secret in text for secret in one.secrets)] == []
