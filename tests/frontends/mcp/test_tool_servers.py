"""Servers of tools behind the real `carrel mcp`: one start for the calls of an answer, and none outlives it."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.mcp.conftest import Connect
from tests.waiting import until

from carrel.composition.composition import Composition
from carrel.frontends.common.parent_process import alive
from carrel.settings.settings import Settings
from carrel.settings.tool_settings import read_tools

SERVER = Path(__file__).with_name("ops_server.py")
PIPELINE = json.dumps({"steps": [{"tool": "ops.query_metrics", "args": {"query": "p95"}}]})


@pytest.mark.skipif(sys.platform != "linux", reason="the settings file is written where Linux has it")
async def test_calls_in_a_row_use_one_server(
    connect: Connect, project: Path, env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True)
    tools: dict[str, Any] = {
        "servers": {"ops": {"command": sys.executable, "args": [str(SERVER), str(calls)]}},
        "risk": {"ops.query_metrics": "safe"},
    }
    (folder / "settings.json").write_text(json.dumps({"tools": tools}), "utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", env["XDG_DATA_HOME"])

    async def agrees(_: Any) -> bool:
        return True

    service = Composition().tools(dataclasses.replace(Settings(), tools=read_tools(tools)), confirm=agrees)
    assert await service.catalogue.refresh(service.settings) == []
    assert await service.approve(service.state().tools)
    async with connect(project) as client:
        for _ in range(3):
            result = await client.call_tool("execute_pipeline", {"pipeline": PIPELINE, "input_data": ""})
            assert "840 ms" in str(result.content)
    [_, server] = calls.with_suffix(".starts").read_text("utf-8").splitlines()  # the first one was read for its tools
    await until(lambda: not alive(int(server)))
