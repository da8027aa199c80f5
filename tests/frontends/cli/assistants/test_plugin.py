"""The plugin that several agents load, Gemini's extension and opencode's plugin say what install writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.cli.assistants.agents import AGENTS, opencode_plugin
from carrel.frontends.cli.assistants.clients import CLIENTS
from carrel.frontends.mcp.server_info import DEFAULT_TOOLS

ROOT = Path(__file__).parents[4]
AGENTS_FOLDER = ROOT / "editors/agents"
PLUGIN, EXTENSION = AGENTS_FOLDER / "plugin/carrel", AGENTS_FOLDER / "gemini-extension/carrel"
MANIFESTS = [PLUGIN / ".claude-plugin/plugin.json", PLUGIN / ".codex-plugin/plugin.json", EXTENSION / "gemini-extension.json"]
SERVER = {"carrel": CLIENTS["gemini"].entry("carrel", "")}


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_names_the_version(path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    manifest = read(path)
    assert (manifest["name"], manifest["version"]) == ("carrel", version)


def test_the_server_is_started_as_install_starts_it() -> None:
    assert read(PLUGIN / ".mcp.json") == {"mcpServers": SERVER}
    assert read(EXTENSION / "gemini-extension.json")["mcpServers"] == SERVER


def test_the_hooks_are_those_of_install() -> None:
    assert read(EXTENSION / "hooks/hooks.json") == {"hooks": {"BeforeAgent": [AGENTS["gemini"].hook("carrel-hook").value]}}
    (group,) = read(PLUGIN / "hooks/hooks.json")["hooks"]["UserPromptSubmit"]
    (hook,) = group["hooks"]
    # A server that a plugin brings has another name in each agent: no hook can ask it.
    assert hook["command"] == 'if [ -n "$COPILOT_CLI" ]; then carrel-hook copilot; else carrel-hook claude-code; fi'
    assert (AGENTS_FOLDER / "opencode/carrel.js").read_text("utf-8") == opencode_plugin("carrel-hook")


def test_the_skill_names_a_tool_that_is_listed() -> None:
    assert f"`{DEFAULT_TOOLS[0]}`" in (PLUGIN / "skills/find-code/SKILL.md").read_text("utf-8")
