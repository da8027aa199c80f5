"""Servers of the registries as sources of tools: asked where CARREL_TEST_MCP_PROGRAMS names folders that hold them."""

# ruff: noqa: ASYNC221 - nothing else waits for the loop

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.tools.conftest import Make, Person, plan

from carrel.extensions.tools.catalogue.search import ToolQuery

PROGRAMS = os.environ.get("CARREL_TEST_MCP_PROGRAMS", "")


def program(name: str) -> str:
    """Return where a server of the registries is installed."""
    for folder in PROGRAMS.split(os.pathsep):
        if (path := Path(folder) / name).exists():
            return str(path)
    pytest.skip(f"{name} is in none of the folders that CARREL_TEST_MCP_PROGRAMS names")


@pytest.mark.skipif(not PROGRAMS, reason="CARREL_TEST_MCP_PROGRAMS names no folders of installed MCP servers (docs/tools.md)")
async def test_servers_of_the_registries(make: Make, tmp_path: Path) -> None:
    """`mcp-server-git`, `mcp-server-time` (PyPI) and `mcp-server-filesystem` (npm) in one pipeline."""
    (tmp_path / "note.txt").write_text("b\na\n", "utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    servers = {
        "files": {"command": program("mcp-server-filesystem"), "args": [str(tmp_path)]},
        "git": {"command": program("mcp-server-git")},
        "time": {"command": program("mcp-server-time")},
    }
    service = make(Person().confirm, servers=servers)
    assert await service.catalogue.refresh(service.settings) == []
    steps: list[dict[str, Any]] = [
        {"tool": "files.read_text_file", "args": {"path": str(tmp_path / "note.txt")}},
        {"tool": "sort", "input": "{{step_0.output}}"},
        {"tool": "git.git_status", "args": {"repo_path": str(tmp_path)}},
        {"tool": "time.get_current_time", "args": {"timezone": "Europe/Berlin"}},
        {"tool": "head", "input": "{{step_1.output}}|{{step_2.output}}|{{step_3.output}}"},
    ]
    run = await service.run(plan(*steps), "")
    assert run.problem == ""
    assert run.result is not None
    assert run.result.output.startswith("a\nb")
    assert "On branch" in run.result.output


@pytest.mark.skipif(not PROGRAMS, reason="CARREL_TEST_MCP_PROGRAMS names no folders of installed MCP servers (docs/tools.md)")
@pytest.mark.parametrize(
    ("name", "args", "steps", "expected"),
    [
        ("mcp-server-fetch", ["--ignore-robots-txt", "--allow-private-ips"], [("fetch", {"url": "{page}"})], "Phoenix is well"),
        (
            "mcp-server-sqlite",
            ["--db-path", "{folder}/shop.db"],
            [
                ("create_table", {"query": "CREATE TABLE hosts (name TEXT)"}),
                ("write_query", {"query": "INSERT INTO hosts VALUES ('phoenix-1')"}),
                ("read_query", {"query": "SELECT name FROM hosts"}),
            ],
            "phoenix-1",
        ),
        (
            "mcp-server-memory",
            [],
            [
                ("create_entities", {"entities": [{"name": "Phoenix", "entityType": "server", "observations": ["two hosts"]}]}),
                ("search_nodes", {"query": "Phoenix"}),
            ],
            "two hosts",
        ),
        ("mcp-server-everything", [], [("echo", {"message": "Phoenix"}), ("get-sum", {"a": 19, "b": 23})], "42"),
    ],
)
async def test_each_server_of_the_registries(
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    args: list[str],
    steps: list[tuple[str, dict[str, Any]]],
    expected: str,
) -> None:
    """Read, approved, searched and run by a person's leave: servers that fetch, keep tables, remember, and try all of MCP."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"Phoenix is well")

        def log_message(self, *_: Any) -> None:
            """Be silent."""

    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{pages.server_port}/"

        def filled(value: Any) -> Any:
            return value.replace("{page}", page).replace("{folder}", str(tmp_path)) if isinstance(value, str) else value

        server = {"command": program(name), "args": [filled(arg) for arg in args], "env": ["MEMORY_FILE_PATH"]}
        service = make(Person().confirm, servers={"s": server})
        assert await service.catalogue.refresh(service.settings) == []
        assert await service.approve([item for item in service.state().tools if item.tool.source == "s"])
        found = await service.search(ToolQuery(steps[-1][0].replace("_", " ").replace("-", " "), 5), usable_only=True)
        assert f"s.{steps[-1][0]}" in [item.tool.qualified for item, _ in found]
        given = [{"tool": f"s.{tool}", "args": {key: filled(value) for key, value in of.items()}} for tool, of in steps]
        run = await service.run(plan(*given), "")
        pages.shutdown()
    assert run.problem == ""
    assert run.result is not None
    assert expected in run.result.output
