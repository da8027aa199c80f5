"""Tools as a place where questions go: a real MCP server answers what no text does, within the person's limits."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_breakouts import tags
from tests.documents import write_documents
from tests.shop import SHOP, write_files
from tests.sources.test_knowledge import Planned

from carrel.agent.agent_steps import Event, ToolFinished
from carrel.agent.tools.catalogue_tools import ExecuteArguments
from carrel.frontends.common.parent_process import alive
from carrel.frontends.common.uris import longest_match
from carrel.model.caller import Caller, called_by
from carrel.model.conversation import Completion, Message, ToolCall
from carrel.model.errors import NotPermitted
from carrel.model.fakes import FakeAuditLog, FakeChatModel
from carrel.model.types import Budget, Query
from carrel.policy.audit import AuditTrail
from carrel.question.routing_rules import span_of_time
from carrel.service import queries, routed, workspace_tools
from carrel.service.asks import AskRequest, ask
from carrel.service.context_request import ContextRequest
from carrel.service.context_service import context
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.settings import settings_files

SERVER = Path(__file__).parents[1] / "frontends/mcp" / "ops_server.py"
LIVE = "server response time for the last hour"
Settle = Callable[..., Any]


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def composition() -> Planned:
    return Planned(audit=AuditTrail(Caller("editor"), FakeAuditLog()))


@pytest.fixture
async def workspace(
    tmp_path: Path, calls: Path, composition: Planned, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Workspace]:
    for name in ("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    documents, own = write_documents(tmp_path / "ops", converted=False), tmp_path / "settings.toml"
    own.write_text(
        f"cacheFolder = '{tmp_path / 'cache'}'\nragEnabled = true\n[sources.docs]\nfolder = '{documents}'\n"
        f"[tools.servers.ops]\ncommand = '{sys.executable}'\nargs = ['{SERVER}', '{calls}']\n"
        "[tools.risk]\n'ops.query_metrics' = 'safe'\n[allow]\nmcp = ['sources', 'tools']\nproxy = ['search']\n",
        "utf-8",
    )
    monkeypatch.setattr(settings_files, "user_files", lambda: (own, tmp_path / "none.json"))
    monkeypatch.setattr(routed, "TOOL_SECONDS", 60.0)  # its server starts beside other tests
    session = Session(composition, longest_match)
    session.configure({})
    root = write_files(tmp_path / "shop", SHOP)
    opened = session.add_folder(str(root), root.as_uri())

    async def agrees(_: Any) -> bool:
        return True

    service = composition.tools(opened.settings, confirm=agrees)
    await service.catalogue.refresh(service.settings)
    assert await service.approve(service.state().tools)
    yield opened
    await session.close()


def called(calls: Path) -> list[str]:
    return calls.read_text("utf-8").splitlines() if calls.exists() else []


def started(calls: Path) -> list[str]:
    """Return the process ids of the servers that were started."""
    return calls.with_suffix(".starts").read_text("utf-8").splitlines()


async def test_a_question_for_a_value_goes_to_the_tool_and_not_to_documents(workspace: Workspace, calls: Path) -> None:
    await queries.search(workspace, Query("anything", 1), 60_000)
    answer = await context(workspace, ContextRequest(LIVE, 5, Budget(4_000), trigger="explicit"))
    assert [(route.source, route.query) for route in answer.routes] == [("tool:ops.query_metrics", LIVE)]
    assert called(calls) == [f"query_metrics {LIVE}"]
    text = answer.pack.text
    assert 'file="@ops/query_metrics"' in text
    assert 'note="said by the tool ops.query_metrics at ' in text
    assert "840 ms" in text
    assert len(tags(text)) == 2 + 2 * len(answer.pack.items), "what a tool says leaves no block"
    assert "@ops/query_metrics:1-1 forges the markup of a conversation or a tool" in (answer.notice or "")


async def test_a_tool_that_fails_leaves_the_question_to_every_source(workspace: Workspace, calls: Path) -> None:
    question = "broken response time of the Phoenix server for the last hour"
    found = await queries.search(workspace, Query(question, 5), 60_000)
    assert called(calls) == [f"query_metrics {question}"]
    assert [(route.source, route.query) for route in found.routes] == [("workspace", question), ("docs", question)]
    assert "The tool ops.query_metrics failed" in (found.diagnostics.problem or "")
    assert "@docs/phoenix.md" in [hit.chunk.path for hit in found.hits]


async def test_secrets_of_a_question_are_masked_before_a_tool_hears_it(workspace: Workspace, calls: Path) -> None:
    await queries.search(workspace, Query("anything", 1), 60_000)
    text = f"{LIVE}? My key is AKIAQYLPMN5HHHFPZAM2"
    answer = await context(workspace, ContextRequest(text, 5, Budget(4_000), trigger="explicit"))
    assert "840 ms" in answer.pack.text
    [call] = called(calls)
    assert "AKIAQYLPMN5HHHFPZAM2" not in call


async def test_a_server_that_is_slow_to_start_and_to_end_costs_its_own_help_only(
    workspace: Workspace, calls: Path, composition: Planned
) -> None:
    await queries.search(workspace, Query("anything", 1), 60_000)
    calls.with_suffix(".stuck").touch()
    question = f"{LIVE}: how is a password checked?"
    answer = await context(workspace, ContextRequest(question, 5, Budget(4_000), trigger="explicit", deadline_ms=4_000))
    assert "gave no answer in time" in (answer.problem or "")
    assert answer.pack.items
    await composition.close()
    server = calls.with_suffix(".stuck").read_text("utf-8")
    assert not (server and alive(int(server))), "it is ended before Carrel ends"


async def test_only_safe_tools_run_and_only_for_callers_that_may(workspace: Workspace, calls: Path, composition: Planned) -> None:
    for question in (
        "how many incidents today",
        "is the queue length rising this morning",
        "restart the server right now, its load is high",
        "where is the function authenticate_user",
    ):
        await queries.search(workspace, Query(question, 5), 60_000)
    with called_by(Caller("chat proxy")):
        found = await queries.search(workspace, Query(LIVE, 5), 60_000)
        assert "`allow.proxy` doesn't name `tools`" in (found.diagnostics.problem or "")
        other = await queries.search(workspace, Query("Dublin replica of the Atlas cluster", 5), 60_000)
        assert ([route.source for route in other.routes], other.diagnostics.problem) == (["workspace"], None)
    with called_by(Caller("mcp")), pytest.raises(NotPermitted):
        await queries.search(workspace, Query(LIVE, 5), 60_000)
    assert called(calls) == []
    route = '{"source": "tool:ops.query_metrics", "query": "p95 of pay-prod-03", "reason": "a metric"}'
    # Spec D6 has {source, query, reason} alone; several stand in a list.
    composition.planner = FakeChatModel(Completion(route))
    planned = await queries.search(workspace, Query("is the payment page fine?", 5), 60_000)
    assert called(calls) == ["query_metrics p95 of pay-prod-03"]
    assert planned.hits[0].chunk.path == "@ops/query_metrics"
    bad = '{"source": "tool:ops.restart_server", "query": "pay-prod-03", "reason": "restart"}'
    composition.planner = FakeChatModel(Completion(f'{{"routes": [{bad}]}}'))
    await queries.search(workspace, Query("is the payment page fine?", 5), 60_000)
    assert len(called(calls)) == 1, "a tool that isn't safe can't be chosen"


async def test_an_approved_tool_is_called_by_itself(workspace: Workspace, calls: Path) -> None:
    """Spec D9, D10: no JSON in JSON; a dangerous one waits for the person, whom nobody can ask here."""
    restart = Completion("", (ToolCall("", "restart_server", {"hostname": "pay-prod-03"}),))
    model = FakeChatModel(
        Completion("", (ToolCall("", "query_metrics", {"query": "p95 of pay-prod-03"}),)),
        restart,
        Completion("", (ToolCall("", "search_knowledge_base", {"query": "restart pay-prod-03"}),)),
        restart,
        Completion("It answers within 840 ms."),
    )
    steps: list[Event] = []
    context = ContextRequest("query metrics, then restart the server", 3, Budget(4_000), trigger="explicit", plan="never")
    request = AskRequest((Message("user", context.query),), context)
    with called_by(Caller("command line")):
        answered = (await ask(workspace, request, model, steps.append)).answered
    assert answered.text == "It answers within 840 ms."
    said = [step.result for step in steps if isinstance(step, ToolFinished)]
    assert ("840 ms" in said[0].text, said[0].is_error) == (True, False)
    assert "call search_knowledge_base first" in said[1].text, "as before a pipeline that acts"
    assert (said[3].is_error, "nobody confirmed it" in said[3].text) == (True, True)
    assert called(calls) == ["query_metrics p95 of pay-prod-03"]
    offered = {spec.name: spec for spec in model.requests[0][1]}
    assert offered["query_metrics"].schema["required"] == ["query"]


async def test_a_tool_that_was_only_found_is_called_by_its_name_while_it_is_approved(workspace: Workspace, calls: Path) -> None:
    on, off = ({"hostname": "pay-prod-03", "enabled": enabled} for enabled in (True, False))
    hops: list[tuple[str, dict[str, Any]]] = [
        ("search_tools", {"query": "host on the load balancer"}),
        ("ops.load_balancer", on),
        ("search_knowledge_base", {"query": "load balancer"}),
        ("ops.load_balancer", on),
        ("load_balancer", off),
        ("ops.load_balancer", {"hostname": "pay-prod-03"}),
        ("ops.restart_server", {"hostname": "pay-prod-03"}),
    ]
    context = ContextRequest("why is nobody paid", 3, Budget(4_000), trigger="explicit", plan="never")

    async def said() -> list[str]:
        model = FakeChatModel(*(Completion("", (ToolCall("", *hop),)) for hop in hops), Completion("It is on."))
        with called_by(Caller("command line")):
            await ask(workspace, AskRequest((Message("user", context.query),), context), model, lambda _: None)
        assert not {"load_balancer", "ops.load_balancer"} & {spec.name for spec in model.requests[0][1]}, "none fits the question"
        return [message.text for message in model.requests[-1][0] if message.role == "tool"]

    first, early, _, *results, dangerous = await said()
    assert '"ops.load_balancer"' in first
    assert "call search_knowledge_base first" in early
    assert results[:2] == ["pay-prod-03 is on the load balancer", "pay-prod-03 is off the load balancer"]
    assert results[2].startswith("Not run: ")
    assert "nobody confirmed it" in dangerous
    assert called(calls) == ["load_balancer pay-prod-03 on", "load_balancer pay-prod-03 off"]
    service = workspace.composition.tools(workspace.settings)
    service.catalogue.store.remove("ops")
    await service.catalogue.refresh(service.settings)
    assert all("There is no such tool" in text for text in (await said())[-4:])
    assert len(called(calls)) == 2


async def test_a_server_runs_until_the_answer_is_there(workspace: Workspace, calls: Path) -> None:
    await queries.search(workspace, Query("anything", 1), 60_000)
    before = started(calls)
    hops = [Completion("", (ToolCall("", "query_metrics", {"query": host}),)) for host in ("pay-prod-03", "db-prod-03")]
    wanted = ContextRequest(LIVE, 3, Budget(4_000), trigger="explicit", deadline_ms=60_000, plan="never")
    request = AskRequest((Message("user", LIVE),), wanted)
    await ask(workspace, request, FakeChatModel(*hops, Completion("It answers within 840 ms.")), lambda _: None)
    assert called(calls) == [f"query_metrics {query}" for query in (LIVE, "pay-prod-03", "db-prod-03")]
    [server] = started(calls)[len(before) :]
    assert not alive(int(server))


async def test_a_server_waits_for_the_next_call_of_a_model_elsewhere(workspace: Workspace, calls: Path) -> None:
    service = await workspace_tools.tool_service(workspace, confirm=None)
    before = started(calls)
    steps = [{"tool": "ops.query_metrics", "args": {"query": "p95"}}]
    call = ExecuteArguments(pipeline=json.dumps({"steps": steps}), input_data="")
    for _ in range(3):
        output, problem = await workspace_tools.execute(service, call)
        assert ("840 ms" in output, problem) == (True, "")
    [server] = started(calls)[len(before) :]
    assert alive(int(server))
    await workspace.composition.close()
    assert not alive(int(server)), "nor does it outlive Carrel"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LIVE, '"last hour"'),
        ("cpu of db-prod-03 right now", '"right now"'),
        ("is the queue length rising this morning", '"this morning"'),
        ("which function computes the response time of the last hour", None),
        ("restart the Phoenix server according to protocol today", None),
        ("what changed in the last week", None),
        ("current user in the session", None),
    ],
)
def test_words_for_a_span_of_time_count_where_no_other_source_is_meant(text: str, words: str | None) -> None:
    assert span_of_time(text) == words
