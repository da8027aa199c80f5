"""Who may do what: the person's setting `allow` by caller, refusals with cause and remedy, each in the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.documents import write_documents
from tests.shop import SHOP, write_files

from carrel.composition.composition import Composition
from carrel.frontends.common.uris import longest_match
from carrel.model.caller import Caller, called_by
from carrel.model.errors import NotPermitted
from carrel.model.fakes import FakeAuditLog
from carrel.model.types import Budget, Filters, Query
from carrel.policy.audit import AuditTrail
from carrel.service import queries
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.service.workspace_tools import tool_service
from carrel.settings import settings_files
from carrel.settings.allow_settings import AllowSettings, key_of
from carrel.settings.settings import Layer, Settings, resolve

PHOENIX = "restart the Phoenix server according to protocol"
SORT = '{"steps": [{"tool": "sort"}]}'
MODERATE = '{"steps": [{"tool": "sort"}], "risk_level": "moderate"}'


@pytest.fixture
def log() -> FakeAuditLog:
    return FakeAuditLog()


@pytest.fixture
async def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: FakeAuditLog) -> AsyncIterator[Workspace]:
    documents, own = write_documents(tmp_path / "ops", converted=False), tmp_path / "settings.toml"
    own.write_text(
        f"cacheFolder = '{tmp_path / 'cache'}'\nragEnabled = true\n[sources.ops]\nfolder = '{documents}'\n"
        '[allow]\nmcp = ["search", "tools"]\nproxy = []\n',
        "utf-8",
    )
    monkeypatch.setattr(settings_files, "user_files", lambda: (own, tmp_path / "none.json"))
    session = Session(Composition(audit=AuditTrail(Caller("editor"), log)), longest_match)
    session.configure({"allow": {"proxy": ["search"]}})
    root = write_files(tmp_path / "shop", SHOP)
    yield session.add_folder(str(root), root.as_uri())
    await session.close()


def refused(log: FakeAuditLog) -> list[tuple[Any, Any]]:
    return [(event.details["caller"], event.details["right"]) for event in log.events if event.kind == "refused"]


async def test_each_caller_has_the_rights_that_the_person_gave_it(workspace: Workspace, log: FakeAuditLog) -> None:
    everything = await queries.search(workspace, Query(PHOENIX, 5), 60_000)
    assert everything.hits[0].chunk.path == "@ops/phoenix.md"
    assert (await (await tool_service(workspace, confirm=None)).run(MODERATE, "b\na")).problem == ""
    assert refused(log) == []
    with called_by(Caller("mcp", "agent")):
        found = await queries.search(workspace, Query(PHOENIX, 5), 60_000)
        assert not [hit for hit in found.hits if hit.chunk.path.startswith("@ops/")]
        assert "the setting `allow.mcp` doesn't name `sources`" in (found.diagnostics.problem or "")
        with pytest.raises(NotPermitted, match="folder of your configuration"):
            await queries.search(workspace, Query(PHOENIX, 5), 60_000, sources=("ops",))
        documents = await queries.search(workspace, Query(PHOENIX, 5, Filters(sources=("docs",))), 60_000)
        assert not [hit for hit in documents.hits if hit.chunk.path.startswith("@ops/")]
        tools = await tool_service(workspace, confirm=None)
        assert (await tools.run(SORT, "b\na")).problem == ""
        assert "`allow.mcp` doesn't name `run`" in (await tools.run(MODERATE, "b\na")).problem
        assert refused(log) == [("mcp: agent", "sources")] * 3 + [("mcp: agent", "run")]
    for entry in ("chat proxy", "copilot proxy", "agent hook"):
        with called_by(Caller(entry)):
            pack = await context(workspace, ContextRequest("where is authenticate_user", 5, Budget(4_000)))
            assert "`allow.proxy` doesn't name `search`" in (pack.error or "")
            assert pack.pack.text == ""
            ran = await (await tool_service(workspace, confirm=None)).run(SORT, "")
            assert "`allow.proxy` doesn't name `tools`" in ran.problem


def test_only_the_persons_own_file_gives_rights_and_every_caller_has_a_key() -> None:
    given = {"allow": {"proxy": ["search", "run"]}}
    assert resolve(Layer("mine", given, personal=True))[0].allow.of("chat proxy") == ("search", "run")
    for layer in (Layer("editor", given), Layer("project", given, workspace=True)):
        settings, problems = resolve(layer)
        assert settings.allow == AllowSettings()
        assert "only in your own settings file" in str(problems[0])
    assert "run" not in Settings().allow.proxy
    wrongs: list[dict[str, list[str]]] = [{"web": []}, {"mcp": ["everything"]}]
    for wrong in wrongs:
        assert "allow" in str(resolve(Layer("mine", {"allow": wrong}, personal=True))[1][0])
    assert {key_of(entry) for entry in ("editor", "mcp", "chat proxy", "copilot proxy", "agent hook", "command line")} == {
        *("editor", "mcp", "proxy", "commandLine")
    }
