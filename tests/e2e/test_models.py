"""Models that ask a remote service, with the real server: permission by the client's dialog, keys from its secret storage."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.lsp_client import LspClient, LspError

STAND_IN = Path(__file__).parents[1] / "stand_in_carrel.py"
KEY = "planted-key-of-the-stand-in"
CONFIRMS = {"window": {"workDoneProgress": True}, "experimental": {"carrel": {"confirm": True, "ownSettings": True}}}
SILENT = {"experimental": {"carrel": {"ownSettings": True}}}

Remote = Callable[..., AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    """The keys that the remote model was asked with, a line each."""
    return tmp_path / "keys"


@pytest.fixture
def remote(project: Path, env: dict[str, str], options: dict[str, Any], seen: Path) -> Remote:
    """Start a server whose embedder is remote."""

    @contextlib.asynccontextmanager
    async def started(answer: bool | None = None, **more: Any) -> AsyncIterator[LspClient]:
        client = await LspClient.spawn((sys.executable, "-P", str(STAND_IN), "serve"), env={**env, "CARREL_STAND_IN": str(seen)})
        client.answers["carrel/confirm"] = lambda _: {"allowed": answer}
        try:
            settings = {**options, **more, "models": {"embedder": {"provider": "stand-in"}}}
            await client.initialize(project, options=settings, capabilities=SILENT if answer is None else CONFIRMS)
            yield client
            await client.stop()
        finally:
            await client.kill()

    return started


def asked(client: LspClient) -> list[Any]:
    return [params for method, params in client.notifications if method == "carrel/confirm"]


def keys(seen: Path) -> set[str]:
    return set(seen.read_text("utf-8").split()) if seen.exists() else set()


async def model(client: LspClient, **params: Any) -> dict[str, Any]:
    (found,) = (await client.request("carrel/providers", params))["models"]
    return dict(found)


async def test_a_check_asks_the_person_and_goes_on_with_their_yes(remote: Remote, seen: Path) -> None:
    async with remote(True, ragEnabled=False) as client:
        await client.request("carrel/key", {"provider": "stand-in", "key": KEY})
        before = await model(client)
        assert (before["hasKey"], before["destinations"][0]["allowed"]) == (True, False)
        assert asked(client) == [], "looking asks nothing"
        checked = await model(client, check=True)
        (question,) = asked(client)
        assert (question["what"], question["details"]) == ("provider", {"provider": "stand-in", "host": "models.example"})
        assert checked["destinations"][0]["allowed"]
        assert "problem" not in checked, checked["problem"]
        assert checked["answeredMs"] > 0
        assert checked["requests"] == 1, "its own request counts"
        assert keys(seen) == {KEY}
        assert KEY not in json.dumps([checked, question, client.notifications])


async def test_a_no_is_asked_again_by_a_check_only(remote: Remote, seen: Path) -> None:
    async with remote(False, ragAutoIndex=True) as client:
        await client.request("carrel/key", {"provider": "stand-in", "key": KEY})
        await client.wait_for("carrel/confirm")
        with contextlib.suppress(LspError):
            await client.request("carrel/index", {})
        assert len(asked(client)) == 1
        assert "nobody allowed it yet" in (await model(client, check=True))["problem"]
        assert len(asked(client)) == 2
        assert not keys(seen)


async def test_a_client_without_a_dialog_is_told_the_command(remote: Remote) -> None:
    async with remote(ragEnabled=False) as client:
        checked = await model(client, check=True)
        assert "carrel confirm stand-in models.example" in checked["problem"]
        assert asked(client) == []


async def test_a_key_that_comes_after_the_folder_was_opened_lets_its_index_go_on(remote: Remote, seen: Path) -> None:
    async with remote(True, ragAutoIndex=True) as client:
        assert "no key" in (await model(client, check=True))["problem"]
        with contextlib.suppress(LspError):
            await client.request("carrel/index", {})
        assert not keys(seen)
        await client.request("carrel/key", {"provider": "stand-in", "key": KEY})
        async with asyncio.timeout(20):
            while not (await model(client))["requests"]:
                pass
        assert keys(seen) == {KEY}
        await client.request("carrel/key", {"provider": "stand-in"})
        assert not (await model(client))["hasKey"], "it is forgotten"


async def test_settings_that_may_be_the_projects_choose_no_model(start: Start, project: Path) -> None:
    """As Helix and Zed send them; a client that names itself VS Code is one that names itself so."""
    sent = {"models": {"embedder": {"provider": "ollama", "baseUrl": "http://127.0.0.1:9"}}}
    for capabilities in ({"experimental": {"carrel": {"confirm": True, "ownSettings": False}}}, {}):
        async with start(project, capabilities=capabilities, **sent) as client:
            message = (await client.wait_for("window/showMessage"))["message"]
            assert "models: counts only in your own settings file" in message
            (model,) = (await client.request("carrel/providers", {}))["models"]
            assert model["provider"] == "bundled"
