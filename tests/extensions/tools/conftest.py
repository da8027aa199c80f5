"""A person's tool service whose source is a real MCP server."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.extensions.tools.tool_service import ToolService
from carrel.model.caller import Caller
from carrel.model.fakes import FakeAuditLog
from carrel.model.remote import Confirm, Confirmation
from carrel.policy.audit import AuditTrail
from carrel.policy.permissions import PermissionFile
from carrel.settings.settings import Settings
from carrel.settings.tool_settings import read_tools

SERVER = Path(__file__).parents[2] / "frontends/mcp" / "tool_server.py"
Make = Callable[..., ToolService]


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.asked: list[Confirmation] = []
        self.agrees = agrees

    async def confirm(self, question: Confirmation) -> bool:
        self.asked.append(question)
        return self.agrees


@pytest.fixture
def told(tmp_path: Path) -> Path:
    file = tmp_path / "description"
    file.write_text("Greet somebody.", "utf-8")
    return file


@pytest.fixture
def log() -> FakeAuditLog:
    return FakeAuditLog()


@pytest.fixture
def make(tmp_path: Path, told: Path, log: FakeAuditLog, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a service whose source `t` is the test server; each call is another process of the person's."""
    for name in ("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))

    def made(confirm: Confirm | None = None, **more: Any) -> ToolService:
        servers = {"t": {"command": sys.executable, "args": [str(SERVER), str(told)]}}
        tools = read_tools({"servers": servers, **more})
        trail = AuditTrail(Caller("library"), log)
        composition = Composition(outbound=OutboundServices(PermissionFile(tmp_path / "permissions.json")), audit=trail)
        return composition.tools(dataclasses.replace(Settings(), tools=tools), confirm=confirm)

    return made


def plan(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": list(steps)})
