"""The plugin that several agents load, Gemini's extension and opencode's plugin say what install writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
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
SERVER = {"carrel": CLIENTS["gemini"].entry("carrel")}


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


CALLED = """
import { Carrel } from "./carrel.mjs"
const output = { parts: [{ id: "1", type: "text", text: process.argv[2].repeat(Number(process.argv[3])) }] }
await (await Carrel({ directory: "." }))["chat.message"]({ sessionID: "s" }, output)
console.log(JSON.stringify(output.parts.map(({ id, text }) => [id, text.length])))
"""
ADDS = """cat > asked; printf '{"additionalContext": "code"}'"""


@pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("node"), reason="a script of sh stands in for the program, for node"
)
@pytest.mark.parametrize(
    ("script", "prompt", "times", "parts"),
    [
        (ADDS, "--help", 1, [["1", 6], ["1c", 4]]),
        (ADDS, "x", 1_000_000, [["1", 1_000_000], ["1c", 4]]),
        (ADDS, "/usr/lib/x.py is empty", 1, [["1", 22], ["1c", 4]]),
        ("exit 1", "where?", 100_000, [["1", 600_000]]),  # and reads nothing
        ("kill -9 $$", "where?", 1, [["1", 6]]),
        ("echo no JSON", "where?", 1, [["1", 6]]),
        ("echo null", "where?", 1, [["1", 6]]),
        (None, "where?", 1, [["1", 6]]),
    ],
)
def test_whatever_the_program_does_opencodes_prompt_goes_on(
    tmp_path: Path, script: str | None, prompt: str, times: int, parts: list[Any]
) -> None:
    program = tmp_path / "carrel-hook"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        program.chmod(0o755)
    (tmp_path / "carrel.mjs").write_text(opencode_plugin(str(program)), "utf-8")
    (tmp_path / "called.mjs").write_text(CALLED, "utf-8")
    command = ["node", "called.mjs", prompt, str(times)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert (json.loads(done.stdout), done.stderr) == (parts, "")
