"""The terminal agents themselves, against a stand-in of their API: after `carrel agents install` context is in their requests.

`CARREL_TEST_AGENTS` names a folder in which `npm install --ignore-scripts` of tests/agents/programs ran.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.agents.stand_in_api import WORDS, StandIn
from tests.shop import SHOP, write_files

from carrel.frontends.cli import main
from carrel.frontends.cli.agents import install as verbs

PROGRAMS = Path(os.environ.get("CARREL_TEST_AGENTS", "/nowhere")) / "node_modules"
STAND_IN = "http://STAND-IN"
QUESTION, FURTHER = "where is a login checked", "and how is it priced"
CODEX = """model = "stand-in"
model_provider = "standin"

[model_providers.standin]
name = "Stand-in"
base_url = "http://STAND-IN/v1"
env_key = "STANDIN_KEY"
wire_api = "responses"
"""
OPENCODE = {
    "$schema": "https://opencode.ai/config.json",
    "model": "standin/stand-in",
    "autoupdate": False,
    "share": "disabled",
    "provider": {
        "standin": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": {"baseURL": "http://STAND-IN/v1", "apiKey": "fake"},
            "models": {"stand-in": {"name": "stand-in", "tool_call": True, "limit": {"context": 128000, "output": 8000}}},
        }
    },
}
GEMINI = '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}'
QWEN = json.dumps(  # as Qwen Code itself writes it
    {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}, "$version": 4}, indent=2
)


@dataclass(frozen=True)
class Case:
    """How one agent is run without a network."""

    program: str
    first: tuple[str, ...]
    further: tuple[str, ...]
    env: dict[str, str]
    settings: dict[str, str]
    conversation: str
    begins_anew: bool = False
    """True where what stands before the question is written anew for every start of the program."""


CASES = {
    "claude-code": Case(
        "@anthropic-ai/claude-code-linux-x64/claude",
        ("-p", QUESTION),
        ("--continue", "-p", FURTHER),
        {"ANTHROPIC_BASE_URL": "http://STAND-IN", "ANTHROPIC_API_KEY": "fake", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        {".claude/settings.json": '{\n  "includeCoAuthoredBy": false\n}\n'},
        "messages",
    ),
    "codex": Case(
        ".bin/codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", QUESTION),
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "resume", "--last", FURTHER),
        {"STANDIN_KEY": "fake"},
        {".codex/config.toml": CODEX},
        "input",
    ),
    "gemini": Case(
        ".bin/gemini",
        ("-m", "gemini-2.5-pro", "-p", QUESTION),
        ("-m", "gemini-2.5-pro", "--resume", "latest", "-p", FURTHER),
        {"GOOGLE_GEMINI_BASE_URL": "http://STAND-IN", "GEMINI_API_KEY": "fake", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": GEMINI},
        "contents",
    ),
    "copilot": Case(
        "@github/copilot-linux-x64/copilot",
        ("-p", QUESTION, "--trust-folder", "--allow-all-tools"),
        ("--continue", "-p", FURTHER, "--allow-all-tools"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "http://STAND-IN/v1",
            "COPILOT_PROVIDER_API_KEY": "fake",
            "COPILOT_MODEL": "stand-in",
        },
        {".copilot/settings.json": "{}\n"},
        "messages",
    ),
    "opencode": Case(
        "opencode-linux-x64-baseline/bin/opencode",
        ("run", QUESTION),
        ("run", "--continue", FURTHER),
        {},
        {".config/opencode/opencode.json": json.dumps(OPENCODE, indent=2)},
        "messages",
    ),
    "qwen": Case(
        ".bin/qwen",
        ("-p", QUESTION),
        ("--continue", "-p", FURTHER),
        {"OPENAI_BASE_URL": "http://STAND-IN/v1", "OPENAI_API_KEY": "fake", "OPENAI_MODEL": "stand-in"},
        {".qwen/settings.json": QWEN},
        "messages",
        begins_anew=True,
    ),
}

EDITORS = Path(__file__).parents[2] / "editors/agents"
PLUGIN = str(EDITORS / "plugin/carrel")
PLUGINS: dict[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    "claude-code": ((), ("--plugin-dir", PLUGIN)),
    "codex": (
        (("plugin", "marketplace", "add", str(EDITORS / "plugin")), ("plugin", "add", "carrel@carrel-local")),
        (),
    ),
    "copilot": ((), ("--plugin-dir", PLUGIN)),
    "gemini": ((("extensions", "link", str(EDITORS / "gemini-extension/carrel"), "--consent"),), ()),
    "qwen": ((("extensions", "install", PLUGIN, "--consent"),), ()),
}
"""What sets an agent's plugin up, and what its runs are given then."""

RUNS_TOOLS = {
    "claude-code": ("--allowedTools", "mcp__carrel__search_code", "--"),
    "codex": ("--dangerously-bypass-approvals-and-sandbox",),
    "gemini": ("--yolo",),
}
"""What lets an agent call tools without asking."""


@pytest.fixture
def run(
    request: pytest.FixtureRequest, api: StandIn, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run an agent in a project of its own, by its case and arguments; its home is `home` beside that."""
    case = CASES[request.getfixturevalue("name")]
    if not (PROGRAMS / case.program).exists():
        pytest.skip(f"{case.program} isn't installed: see CARREL_TEST_AGENTS")
    home, project = tmp_path / "home", write_files(tmp_path / "shop", SHOP)
    write_files(home, {path: text.replace(STAND_IN, api.url) for path, text in case.settings.items()})
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(PROGRAMS / ".bin"), str(fakes), "/usr/bin", "/bin"]),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "TERM": "dumb",
        **{key: value.replace(STAND_IN, api.url) for key, value in case.env.items()},
    }
    for key in [key for key in os.environ if key.startswith(("XDG_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "QWEN"))]:
        monkeypatch.delenv(key)
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr(verbs, "program", lambda: fakes / "carrel-hook")
    monkeypatch.setattr(sys, "argv", [str(fakes / "carrel")])

    def running(*arguments: str) -> str:
        command = [str(PROGRAMS / case.program), *arguments]
        done = subprocess.run(
            command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout + done.stderr

    return running


@pytest.mark.parametrize("name", CASES)
def test_context_stands_in_the_request_and_stays_there(name: str, api: StandIn, run: Callable[..., str], tmp_path: Path) -> None:
    case, home = CASES[name], tmp_path / "home"
    before = _files(home)
    assert main(["agents", "install", name, "--yes"]) == 0
    assert WORDS in run(*case.first)
    first = _asked(api, case, QUESTION)
    assert WORDS in run(*case.further)
    second = _asked(api, case, FURTHER)

    assert _of_context(first, QUESTION), json.dumps(first)[-3000:]
    assert _of_context(second, FURTHER)
    assert not _of_context(first, FURTHER)
    assert _kept(second, case)[: len(first)] == _kept(first, case), "what was sent before stays as it was"
    assert main(["agents", "uninstall", name]) == 0
    left = _files(home)
    assert {path: left.get(path) for path in before} == before
    assert not [path for path in left if ".carrel-backup" in path and path.removesuffix(".carrel-backup") in before]


@pytest.mark.parametrize("name", PLUGINS)
def test_the_plugin_of_several_agents_does_the_same(name: str, api: StandIn, run: Callable[..., str]) -> None:
    setting_up, options = PLUGINS[name]
    for arguments in setting_up:
        run(*arguments)
    assert WORDS in run(*options, *CASES[name].first)
    assert _of_context(_asked(api, CASES[name], QUESTION), QUESTION)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "copilot"])
def test_a_tools_result_reaches_the_model_as_text(
    name: str, api: StandIn, fakes: Path, run: Callable[..., str], tmp_path: Path
) -> None:
    source = Path(__file__).parents[2] / "python"
    (fakes / "carrel").write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m carrel "$@"\n')
    assert main(["agents", "install", name, "--yes"]) == 0
    assert main(["index", str(tmp_path / "shop")]) == 0
    api.wanted, api.arguments = "*search_code", {"query": "check a login", "format": "places"}
    assert WORDS in run(*RUNS_TOOLS.get(name, ()), *CASES[name].first)
    offered = json.dumps(next(body for body in api.bodies if body.get("tools"))["tools"])
    assert "search_code" in offered, "listed from the first request on"
    assert "similar_code" not in offered
    sent = json.dumps(api.bodies[-1][CASES[name].conversation])
    assert "src/auth.py:1-4" in sent
    assert "startLine" not in sent


def _asked(api: StandIn, case: Case, words: str) -> list[Any]:
    """Return the messages of the first request that holds these words and tools: others are for titles."""
    fitting = [body for body in api.bodies if body.get("tools") and words in json.dumps(body[case.conversation])]
    messages: list[Any] = fitting[0][case.conversation]
    return messages


def _of_context(messages: list[Any], words: str) -> bool:
    return f"[[context for {words}" in json.dumps(messages).replace('\\"', "")


def _kept(messages: list[Any], case: Case) -> list[tuple[str, str]]:
    """Return what a model reads of each message: marks of a cache and the form of a lone text may change."""
    read = [(message.get("role", message.get("type", "")), "".join(_texts(message))) for message in messages]
    if case.begins_anew:
        return [(role, text[max(text.find(QUESTION), 0) :]) for role, text in read]
    return read


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key in ("content", "parts", "text", "output"):
            yield from _texts(value.get(key))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
