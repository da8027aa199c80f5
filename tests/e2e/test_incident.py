"""An incident by the runbook, end to end: a scripted model, a real MCP server, a person who confirms the one dangerous step.

docs/knowledge.md tells the same story; every step of it is here.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.documents import write_documents
from tests.e2e.conftest import FILES
from tests.e2e.test_chat import PlayedModel, call
from tests.frontends.cli.test_conversation import ALONE
from tests.frontends.cli.test_models import typed_at_a_terminal
from tests.lsp_client import LspClient
from tests.shop import write_files

SERVER = Path(__file__).parents[1] / "frontends/mcp" / "ops_server.py"
CLIENT = {"experimental": {"carrel": {"confirm": True, "complete": True}}}
QUESTION = "payments are down: restart the Phoenix server according to protocol"
HOST = "pay-prod-03"
STEPS = [
    {"tool": "load_balancer", "args": {"hostname": HOST, "enabled": False}},
    {"tool": "restart_server", "args": {"hostname": HOST}},
    {"tool": "load_balancer", "args": {"hostname": HOST, "enabled": True}},
]
PIPELINE = {"pipeline": json.dumps({"steps": STEPS, "risk_level": "safe"}), "input_data": ""}
FIND = {"query": "take a host off the load balancer and restart the server"}
ANSWER = "Phoenix was restarted off the load balancer (@runbooks/phoenix.md:12-14)."
DONE = [f"load_balancer {HOST} off", f"restart_server {HOST}", f"load_balancer {HOST} on"]


@pytest.fixture
def calls(tmp_path: Path, env: dict[str, str]) -> Path:
    """The file of calls; the person's settings name the runbooks and the server."""
    runbooks, calls = write_documents(tmp_path / "runbooks"), tmp_path / "calls"
    folder = Path(env["XDG_CONFIG_HOME"]) / "carrel"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(
        "planner = 'never'\n"  # the model plays a script, in which no planner speaks
        f"[sources.runbooks]\nfolder = '{runbooks}'\n"
        f"[tools.servers.ops]\ncommand = '{sys.executable}'\nargs = ['{SERVER}', '{calls}']\n",
        "utf-8",
    )
    return calls


def called(calls: Path) -> list[str]:
    return calls.read_text("utf-8").splitlines() if calls.exists() else []


@pytest.mark.skipif(sys.platform != "linux", reason="the settings file is written where Linux has it")
async def test_in_an_editor(project: Path, env: dict[str, str], calls: Path, tmp_path: Path) -> None:
    client = await LspClient.spawn((sys.executable, "-P", "-m", "carrel", "serve"), env=env)
    asked: list[Any] = []

    def confirm(params: Any) -> Any:
        asked.append(params)
        return {"allowed": True}

    client.answers["carrel/confirm"] = confirm
    try:
        await client.initialize(project, options={"cacheFolder": str(tmp_path / "cache")}, capabilities=CLIENT)
        await client.request("carrel/tools/list", {"refresh": True, "approve": True})
        first = await client.request("carrel/search", {"query": QUESTION, "waitMs": 60_000})
        assert first["hits"][0]["path"] == "@runbooks/phoenix.md", "the runbook comes first, also by default"
        model = PlayedModel(
            client,
            call("execute_pipeline", **PIPELINE),
            call("search_knowledge_base", query=QUESTION),
            call("search_tools", **FIND),
            call("execute_pipeline", **PIPELINE),
            ANSWER,
        )
        answer = await client.request("carrel/chat", {"messages": [{"role": "user", "content": QUESTION}], "modelToken": "m"})
        said = [message["text"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]
        assert said.pop(0).startswith("Not run: call search_knowledge_base first"), "a search comes before every action"
        assert "Take the host off the load balancer" in said[0]
        assert '"ops.restart_server"' in said[1]
        assert said[2].endswith(f"{HOST} is on the load balancer")
        assert called(calls) == DONE, "in the order of the runbook"
        assert [question["what"] for question in asked] == ["tools", "pipeline"], "one dangerous pipeline, asked about once"
        assert "ops.restart_server (dangerous)" in asked[1]["details"]["step 1"]
        [cited] = answer["citations"]
        assert (answer["text"], cited["ok"], cited["version"]) == (ANSWER, True, "3")
        assert cited["updatedAt"].startswith("2026-05-04")
        log = (await client.request("carrel/audit", {"limit": 100}))["entries"]
        told = [(entry["kind"], entry["details"].get("tool")) for entry in reversed(log)]
        assert told[-9:] == [
            ("context", None),
            ("tool", "execute_pipeline"),
            ("search", None),
            ("tool", "search_knowledge_base"),
            ("tools", None),
            ("tool", "search_tools"),
            ("pipeline", None),
            ("tool", "execute_pipeline"),
            ("answer", None),
        ]
        [run] = [entry["details"] for entry in log if entry["kind"] == "pipeline"]
        assert (run["ran"], run["failed"], run["risk"]) == (True, False, "dangerous")
        assert [step["tool"] for step in run["steps"]] == ["ops.load_balancer", "ops.restart_server", "ops.load_balancer"]
        await client.stop()
    finally:
        await client.kill()


@pytest.mark.skipif(not os.environ.get("CARREL_TEST_INCIDENT"), reason="long: set CARREL_TEST_INCIDENT")
@pytest.mark.parametrize("agrees", [True, False])
def test_at_a_terminal(tmp_path: Path, env: dict[str, str], calls: Path, monkeypatch: pytest.MonkeyPatch, agrees: bool) -> None:
    root = write_files(tmp_path / "shop", FILES)
    monkeypatch.chdir(root)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    script = [
        [["search_knowledge_base", {"query": QUESTION}]],
        [["search_tools", FIND]],
        [["execute_pipeline", PIPELINE]],
        ANSWER,
    ]
    monkeypatch.setenv("SCRIPT", json.dumps(script))
    monkeypatch.setenv("TERM", os.environ.get("TERM", "dumb"))
    assert typed_at_a_terminal(["tools", "refresh"], True)[0] == 0
    assert typed_at_a_terminal(["tools", "approve"], True)[0] == 0
    code, shown = typed_at_a_terminal(["sources", "list", "--index"], True)
    assert code == 0, shown
    code, shown = typed_at_a_terminal(["ask", QUESTION, "--steps"], agrees, ("-c", ALONE))
    assert code == 0, shown
    assert shown.index("search_knowledge_base(") < shown.index("search_tools(") < shown.index("execute_pipeline(")
    assert "ops.restart_server (dangerous)" in shown, "the person sees every call before it is made"
    assert called(calls) == (DONE if agrees else [])
    _, log = typed_at_a_terminal(["audit", "--kind", "pipeline", "--json"], True)
    assert f'"ran":{"true" if agrees else "false"}' in log.replace(" ", "")
