"""The terminal agents themselves, against a stand-in of their API: after `carrel agents install` context is in their requests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.agents.real.cases import CASES, FURTHER, QUESTION, Case
from tests.frontends.agents.real.stand_in_api import WORDS, StandIn

from carrel.frontends.cli import main

EDITORS = Path(__file__).parents[4] / "editors/agents"
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
    source = Path(__file__).parents[4] / "python"
    (fakes / "carrel").write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m carrel "$@"\n')
    assert main(["agents", "install", name, "--yes"]) == 0
    assert main(["index", str(tmp_path / "shop")]) == 0
    api.wanted, api.arguments = "*search_code", {"query": "check a login", "format": "places"}
    assert WORDS in run(*RUNS_TOOLS.get(name, ()), *CASES[name].first)
    offered = json.dumps(next(body for body in api.bodies if body.get("tools"))["tools"])
    assert "search_code" in offered, "listed from the first request on"
    assert "index_status" not in offered
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
