"""What the audit log of real processes holds: who was given what, by hashes, and never a text that nobody asked to keep."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Start
from tests.e2e.test_chat import LENDS, PlayedModel, call
from tests.lsp_client import LspError

PLANTED = "zebra-crossing-of-the-login"


def audit(env: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "carrel", "audit", "--json", *arguments], capture_output=True, text=True, env=env, check=True
    )
    return dict(json.loads(done.stdout))


async def test_a_context_a_tool_call_and_an_answer_are_recorded(start: Start, project: Path, env: dict[str, str]) -> None:
    async with start(project, capabilities=LENDS) as client:
        PlayedModel(client, call("search_code", query=PLANTED), "It is in src/auth.py:1-4.")
        question = {"role": "user", "content": f"Where is a login checked, {PLANTED}?"}
        await client.request("carrel/chat", {"messages": [question], "modelToken": "m1"})
        told = await client.request("carrel/audit", {"limit": 10})
    assert [entry["kind"] for entry in told["entries"]] == ["answer", "tool", "search", "context"]
    context = told["entries"][-1]["details"]
    assert context["caller"].startswith("editor")
    assert context["question"] == {"hash": context["question"]["hash"], "chars": len(question["content"])}
    assert {"path", "lines", "hash", "score", "rules"} <= set(context["places"][0])
    assert told["entries"][0]["details"]["citations"] == {"given": 1, "unsupported": 0}
    kept = audit(env)
    assert [entry["number"] for entry in kept["entries"]] == [4, 3, 2, 1]
    assert audit(env, "--kind", "tool")["entries"][0]["details"]["tool"] == "search_code"
    data = await asyncio.to_thread(Path(kept["file"]).read_bytes)
    assert PLANTED.encode() not in data


async def test_texts_are_kept_where_the_person_wants_it_and_nothing_where_not(
    start: Start, project: Path, env: dict[str, str]
) -> None:
    asked = {"query": PLANTED, "trigger": "explicit"}
    async with start(project, audit={"enabled": False}) as client:
        await client.request("carrel/context", asked)
        assert await client.request("carrel/audit", {}) == {"entries": [], "enabled": False}
    async with start(project, audit={"texts": True}) as client:
        await client.request("carrel/context", asked)
    [entry] = audit(env)["entries"]
    assert entry["details"]["question"]["text"] == PLANTED


async def test_a_log_that_cannot_be_written_breaks_no_question(start: Start, project: Path, env: dict[str, str]) -> None:
    data = Path(env["XDG_DATA_HOME"]) / "carrel"
    (data / "audit.sqlite").mkdir(parents=True)
    async with start(project) as client:
        pack = await client.request("carrel/context", {"query": "where is a login checked", "trigger": "explicit"})
        assert pack["text"]
        with pytest.raises(LspError, match="can't be read"):
            await client.request("carrel/audit", {})


async def test_since_must_be_a_time(start: Start, project: Path) -> None:
    async with start(project) as client:
        with pytest.raises(LspError, match="since"):
            await client.request("carrel/audit", {"since": "yesterday"})
