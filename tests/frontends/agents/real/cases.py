"""How each agent is run without a network, and what of its requests is looked at.

`CARREL_TEST_AGENTS` names a folder in which `npm install --ignore-scripts` of tests/frontends/agents/real/programs ran.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

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
