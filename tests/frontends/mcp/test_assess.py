"""Spec D8 over MCP: the chat model of the settings says whether what was found is enough."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcp import StdioServerParameters, stdio_client
from mcp.client import Client

ASSESSED = """
import sys
from carrel.composition.composition import Composition
from carrel.model.conversation import Completion
from carrel.model.fakes import FakeChatModel

script = [Completion(line) for line in sys.argv.pop(1).split("|")]
Composition.chat_model = lambda self, settings, name=None: FakeChatModel(*script)
from carrel.frontends.cli import main
sys.exit(main())
"""


async def test_a_search_may_be_assessed(project: Path, env: dict[str, str]) -> None:
    refined = {"is_relevant": False, "is_sufficient": False, "action": "refine_query", "refined_query": "authenticate_user"}
    enough = {"is_relevant": True, "is_sufficient": True, "action": "answer", "refined_query": ""}
    script = "|".join(map(json.dumps, (refined, enough)))
    arguments = ["-c", ASSESSED, script, "mcp", "--root", str(project)]
    process = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=project)
    async with Client(stdio_client(process), read_timeout_seconds=60) as client:
        result = await client.call_tool("search_code", {"query": "who gets in?", "assess": True})
    text = " ".join(getattr(part, "text", "") for part in result.content)
    assert not result.is_error
    assert "def authenticate_user" in text
    assert "Searched for: authenticate_user" in text
