"""Four providers at once that never answer, or refuse and quote what they were sent, with the real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start, paths
from tests.lsp_client import LspClient, LspError
from tests.services.standin import HANG, StandIn, failure, running
from tests.waiting import until

KEY = "sk-planted-for-four-providers-0123456789"
OWN: dict[str, Any] = {"experimental": {"carrel": {}}}
ASKED = {"query": "how is it verified", "history": [{"role": "user", "content": "where is authenticate_user?"}]}
PLACES = {"/v1/embeddings", "/v1/chat/completions", "/v2/rerank"}


@pytest.fixture
def service() -> Iterator[StandIn]:
    with running(HANG) as found:
        yield found


def models(service: StandIn) -> dict[str, Any]:
    """One provider a role, all of them at the stand-in."""
    chat = {"provider": "openai", "baseUrl": f"{service.url}/v1", "model": "tiny", "key": "editor"}
    return {
        "embedder": {**chat, "dimensions": 8},
        "planner": chat,
        "chat": chat,
        "reranker": {"provider": "cohere", "baseUrl": f"{service.url}/v2", "model": "r", "key": "editor"},
    }


async def keyed(client: LspClient) -> None:
    for provider in ("openai", "cohere"):
        await client.request("carrel/key", {"provider": provider, "key": KEY})
    await client.request("carrel/index", {})


def on_disk(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_an_editor_does_not_notice_four_hung_providers(start: Start, project: Path, service: StandIn) -> None:
    async with start(project, capabilities=OWN, models=models(service), rerankerSeconds=1) as client:
        await keyed(client)
        question = {"messages": [{"role": "user", "content": "Where is a login checked?"}]}
        chats = [asyncio.create_task(client.request("carrel/chat", question, timeout=60)) for _ in range(2)]
        slow = asyncio.create_task(client.request("carrel/context", {**ASKED, "trigger": "explicit"}, timeout=60))
        await until(lambda: {one.path for one in service.requests} >= PLACES)
        for _ in range(2):
            found = await client.request("carrel/search", {"query": "authenticate_user", "plan": "never", "rerank": False})
            assert paths(found)[0] == "src/auth.py"
            context = await client.request("carrel/context", {**ASKED, "query": "authenticate_user", "deadlineMs": 1_000})
            assert "src/auth.py" in context["text"]
            assert (await client.request("carrel/status", {}))["files"] > 0
        assert not any(chat.done() for chat in chats)
        assert "src/auth.py" in (await slow)["text"], "without their help"
        for chat in chats:
            chat.cancel()
        await asyncio.gather(*chats, return_exceptions=True)


async def test_a_key_that_four_providers_quote_is_nowhere(
    project: Path, options: dict[str, Any], env: dict[str, str], tmp_path: Path, service: StandIn
) -> None:
    service.script = [failure(401, quoted=KEY)]
    told: list[Any] = []
    log = tmp_path / "stderr.txt"
    settings = {**options, "models": models(service), "logLevel": "debug", "audit": {"texts": True}}
    own = {"experimental": {"carrel": {"ownSettings": True}}}
    with log.open("wb") as stderr:
        async with LspClient.started(project, options=settings, capabilities=own, env=env, stderr=stderr) as client:
            await keyed(client)
            told.append(await client.request("carrel/context", {**ASKED, "trigger": "explicit"}))
            with pytest.raises(LspError) as raised:
                await client.request("carrel/chat", {"messages": [{"role": "user", "content": "Where is a login checked?"}]})
            told += [str(raised.value), vars(raised.value)]
            await until(lambda: {one.path for one in service.requests} >= PLACES)
            told.append(await client.request("carrel/providers", {"check": True}))
            told += [await client.request("carrel/status", {}), await client.request("carrel/audit", {}), client.notifications]
    assert KEY in service.everything()
    assert KEY not in str(told)
    held = on_disk(tmp_path)
    assert [path for path, data in held.items() if KEY.encode() in data] == []
    assert b"401" in held[log]
    assert any(b"how is it verified" in data and path.name.startswith("audit") for path, data in held.items()), "it was recorded"
