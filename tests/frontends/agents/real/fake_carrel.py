"""Stand in for `carrel mcp` and `carrel-hook AGENT`: the context of a prompt is the prompt itself, between marks.

The tool `prompt_context` isn't listed, as in the real server.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def answer(agent: str, prompt: str) -> dict[str, Any]:
    """Return what an agent takes as context."""
    context = f"[[context for {prompt.strip()}]]"
    if agent in ("copilot", "opencode"):
        return {"additionalContext": context}
    event = "BeforeAgent" if agent == "gemini" else "UserPromptSubmit"
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of an MCP request."""
    if method == "initialize":
        about = {"name": "carrel", "version": "0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": "search_code", "description": "Search.", "inputSchema": {"type": "object", "properties": {}}}]}
    if method == "tools/call" and params["name"] == "prompt_context":
        return {"content": [{"type": "text", "text": json.dumps(answer("", params["arguments"]["prompt"]))}]}
    return None


def serve() -> None:
    """Serve MCP over standard input and output."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            found = result(asked["method"], asked.get("params") or {})
            said = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "mcp":
        serve()
    else:
        asked = json.loads(sys.stdin.buffer.read())
        print(json.dumps(answer(sys.argv[1], asked["prompt"])))
