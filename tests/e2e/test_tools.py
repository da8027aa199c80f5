"""Tools and pipelines through the real server: sources of the person's own settings, the client's dialog, partial results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lsp_client import LspClient, LspError

SERVER = Path(__file__).parents[1] / "frontends/mcp" / "tool_server.py"
CONFIRMS = {"experimental": {"carrel": {"confirm": True}}}


@pytest.fixture
def own_settings(env: dict[str, str], tmp_path: Path) -> Path:
    """The person's settings file, which names the test server as `t`."""
    told = tmp_path / "told"
    told.write_text("Greet somebody.", "utf-8")
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel" if "XDG_CONFIG_HOME" in env else Path(env["HOME"]) / ".config" / "carrel"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "settings.json"
    command = {"command": sys.executable, "args": [str(SERVER), str(told)]}
    file.write_text(json.dumps({"tools": {"servers": {"t": command}}}), "utf-8")
    return file


def progress(client: LspClient) -> list[Any]:
    return [params for method, params in client.notifications if method == "$/progress"]


@pytest.mark.skipif(sys.platform != "linux", reason="the settings file is written where Linux has it")
async def test_from_a_source_to_a_run(project: Path, env: dict[str, str], own_settings: Path, tmp_path: Path) -> None:
    client = await LspClient.spawn((sys.executable, "-P", "-m", "carrel", "serve"), env=env)
    answers = [{"allowed": True}, {"allowed": False}, {"allowed": True}]
    asked: list[Any] = []

    def confirm(params: Any) -> Any:
        asked.append(params)
        return answers.pop(0)

    client.answers["carrel/confirm"] = confirm
    try:
        await client.initialize(project, options={"tools": {"servers": {"evil": {"command": "x"}}}}, capabilities=CONFIRMS)
        listed = await client.request("carrel/tools/list", {"refresh": True, "approve": True, "export": "openai"})
        assert {tool["state"] for tool in listed["tools"]} == {"builtIn", "approved"}
        assert not any(tool["name"].startswith("evil") for tool in listed["tools"])  # an editor's settings name no programs
        assert "greet" in {row["function"]["name"] for row in listed["exported"]}
        found = await client.request("carrel/tools/search", {"query": "greet a person", "limit": 1})
        assert found["tools"][0]["name"] == "t.greet"
        assert found["tools"][0]["schema"]["required"] == ["name"]

        steps = [{"tool": "greet", "args": {"name": "Ann"}}, {"tool": "grep", "args": {"pattern": "Ann"}}]
        run = await client.request("carrel/pipeline/run", {"pipeline": {"steps": steps}, "partialResultToken": "p"})
        assert (run["ok"], run["risk"]) == (True, "moderate")
        assert run["output"].startswith("Hello, Ann!")
        told = [note["value"] for note in progress(client)]
        assert [step["tool"] for step in told] == ["t.greet", "carrel.grep"]

        file = tmp_path / "precious"
        file.write_text("x", "utf-8")
        wipe = {"pipeline": {"steps": [{"tool": "wipe", "args": {"path": str(file)}}]}}
        checked = await client.request("carrel/pipeline/validate", wipe)
        assert (checked["ok"], checked["needsConfirmation"]) == (True, True)
        refused = await client.request("carrel/pipeline/run", {**wipe, "confirmation": checked["challenge"]})
        assert not refused["ok"]  # only the dialog decides, whatever a caller says
        assert file.exists()
        assert (await client.request("carrel/pipeline/run", wipe))["ok"]
        assert not file.exists()
        assert [question["what"] for question in asked] == ["tools", "pipeline", "pipeline"]
        assert asked[1]["hash"] == checked["challenge"]
        with pytest.raises(LspError, match="query"):
            await client.request("carrel/tools/search", {"query": 5})
        await client.stop()
    finally:
        await client.kill()
