"""Hooks of agents over the real MCP server: context as a hook's JSON, for folders that are open, once a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp.client import Client
from tests.frontends.mcp.conftest import Connect
from tests.waiting import until

from carrel.service.prompt_context import INDEXING

ASKED = "How is a login checked against the user table?"


async def hooked(client: Client, folder: Path | str, prompt: Any = ASKED, **more: Any) -> dict[str, Any]:
    """Ask as `hooks.json` of the agents does."""
    result = await client.call_tool("prompt_context", {"prompt": prompt, "folder": str(folder), **more})
    assert not result.is_error
    answer: dict[str, Any] = json.loads(getattr(result.content[0], "text", ""))
    return answer


async def test_a_hook_gets_context_from_the_prompt_after_the_first_index_on(connect: Connect, project: Path) -> None:
    async with connect(project) as client:
        assert "prompt_context" not in {tool.name for tool in (await client.list_tools()).tools}
        assert await hooked(client, project, session="s") == {"systemMessage": INDEXING}

        async def answered() -> dict[str, Any]:
            return await hooked(client, project / "src", session="s")

        answer = await until(answered)
        added = answer["hookSpecificOutput"]
        assert added["hookEventName"] == "UserPromptSubmit"
        assert '<code_context file="src/auth.py"' in added["additionalContext"]
        assert answer["systemMessage"].startswith("Carrel: ")
        assert await answered() == {}
        assert "additionalContext" in str(await hooked(client, project, session="t"))
        prompts: tuple[Any, ...] = ("go on", "/compact", "", "--help", None, 7, {})
        for prompt in prompts:
            assert await hooked(client, project, prompt, session="u") == {}


async def test_a_folder_that_is_not_open_gets_nothing(connect: Connect, project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with connect(project) as client:
        await client.call_tool("search_code", {"query": "login"})
        for folder in (tmp_path / "other", project.parent, f"{project}/../other", "", "src", "/", f"{project}\0", Path.home()):
            assert await hooked(client, folder) == {}
        assert (await hooked(client, project))["systemMessage"]


async def test_a_question_leans_on_the_transcript(connect: Connect, project: Path, tmp_path: Path) -> None:
    said = [("user", "where is the price?"), ("assistant", "`Order.total_price` in src/orders.py sums it up.")]
    lines = [{"type": role, "message": {"role": role, "content": text}} for role, text in said]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    async with connect(project) as client:
        await client.call_tool("search_code", {"query": "login"})
        asked = "and which class holds that?"
        assert "orders.py" in str(await hooked(client, project, asked, transcript=str(transcript)))
        link = tmp_path / "link.jsonl"
        link.symlink_to(transcript)
        assert "orders.py" not in str(await hooked(client, project, asked, transcript=str(link)))
