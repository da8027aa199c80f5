"""Two clients that aren't Python's, the TypeScript SDK's and the Inspector's: `npm ci --prefix tests/frontends/mcp/clients`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.mcp.hostile import BAD_URIS, HOSTILE
from tests.support.long import LONG

from carrel.frontends.mcp.resources import build

CLIENTS = Path(__file__).parent / "clients"
INSPECTOR = CLIENTS / "node_modules/.bin/mcp-inspector"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {"query": "check a login", "limit": 2}),
    ("search_knowledge_base", {"query": "how is an order priced"}),
    ("get_context", {"query": "how is an order priced", "maxTokens": 200}),
    ("index_status", {}),
    ("search_tools", {"query": "sort the lines of a text"}),
    ("execute_pipeline", {"pipeline": '{"steps": [{"tool": "sort"}]}', "input_data": "b\na"}),
]


@pytest.fixture
def server(project: Path, env: dict[str, str]) -> dict[str, Any]:
    """How a client starts the server."""
    if not shutil.which("node"):
        pytest.skip("Node.js isn't installed")
    if not INSPECTOR.exists():
        pytest.skip("the clients aren't installed: npm ci --prefix tests/frontends/mcp/clients")
    return {
        "command": sys.executable,
        "args": ["-m", "carrel", "mcp", "--tools", "all", "--structured", "--root", str(project)],
        "env": env,
    }


def test_the_typescript_sdk_drives_every_tool_and_resource(server: dict[str, Any], project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("SECRET_OUTSIDE = 1\n")
    (project / "leak.py").symlink_to(tmp_path / "outside.py")
    asked = {"server": server, "calls": CALLS, "hostile": HOSTILE, "uris": BAD_URIS}
    command = ["node", str(CLIENTS / "drive.mjs")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told["tools"]) == {name for name, _ in CALLS}
    results = dict(zip((name for name, _ in CALLS), told["results"], strict=True))
    assert not any(result.get("isError") for result in results.values())
    assert results["search_code"]["structuredContent"]["hits"][0]["path"] == "src/auth.py"
    assert results["search_knowledge_base"]["content"][-1]["text"].startswith("File: README.md:1-3\nContent:\n# Shop")
    assert told["files"] == {
        name: (project / name).read_text()
        for name in (".gitignore", "README.md", "src/auth.py", "src/baskets.py", "src/orders.py")
    }
    assert told["templates"] == 2
    assert [case for case, refused in zip(HOSTILE, told["refusedCalls"], strict=True) if not refused] == []
    assert [uri for uri, refused in zip(BAD_URIS, told["refusedUris"], strict=True) if not refused] == []
    assert told["alive"]


def test_the_inspector_drives_every_tool_and_resource(server: dict[str, Any], project: Path, tmp_path: Path) -> None:
    config = tmp_path / "inspector.json"
    config.write_text(json.dumps({"mcpServers": {"carrel": server}}))

    def inspect(method: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [str(INSPECTOR), "--cli", "--config", str(config), "--server", "carrel", "--method", method, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def call(tool: str, arguments: dict[str, Any]) -> Any:
        given = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
        return json.loads(inspect("tools/call", "--tool-name", tool, *given).stdout)

    assert {tool["name"] for tool in json.loads(inspect("tools/list").stdout)["tools"]} == {name for name, _ in CALLS}
    for name, arguments in CALLS if LONG else CALLS[-1:]:  # a program each; the other client called them all
        assert not call(name, arguments).get("isError"), name
    assert call("search_code", {"query": "login", "limit": -1})["isError"]
    assert "resources" in json.loads(inspect("resources/list").stdout), "none yet, as it asks before the server has loaded"
    read = json.loads(inspect("resources/read", "--uri", build("shop", "src/auth.py")).stdout)
    assert read["contents"][0]["text"] == (project / "src/auth.py").read_text()
    assert inspect("resources/read", "--uri", "file:///etc/passwd").returncode == 1
