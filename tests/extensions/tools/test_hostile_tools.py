"""What an MCP server can do to Carrel once a person approved it: fail, and nothing else."""

# ruff: noqa: ASYNC240 - nothing else waits for the loop

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lsp_client import LspClient
from tests.waiting import wait_until

from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.extensions.tools.servers.mcp_bounds import LineEnds, Values
from carrel.extensions.tools.servers.mcp_tools import connected
from carrel.extensions.tools.tool_service import Run, ToolService
from carrel.model.caller import Caller
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeAuditLog, fake_outbound
from carrel.model.remote import Confirmation
from carrel.policy.audit import AuditTrail
from carrel.policy.permissions import PermissionFile
from carrel.settings.settings import Settings
from carrel.settings.tool_settings import ToolServer, read_tools

SERVER = Path(__file__).parents[2] / "frontends/mcp" / "hostile_server.py"
GREET = {"steps": [{"tool": "t.greet", "args": {"name": "Ann"}}]}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes and settings are looked up where Linux has them")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


async def approved(mode: str, folder: Path) -> ToolService:
    """Have the server approved while it is good; from then on it is not."""

    async def agree(_: Confirmation) -> bool:
        return True

    state = folder / "state"
    state.write_text("good", "utf-8")
    tools = read_tools({"servers": {"t": {"command": sys.executable, "args": [str(SERVER), mode, str(state)]}}})
    trail = AuditTrail(Caller("library"), FakeAuditLog())
    composition = Composition(outbound=OutboundServices(PermissionFile(folder / "permissions.json")), audit=trail)
    service = composition.tools(dataclasses.replace(Settings(), tools=tools), confirm=agree)
    assert await service.catalogue.refresh(service.settings) == []
    assert await service.approve(service.state().tools)
    state.write_text("bad", "utf-8")
    return service


async def ran(mode: str, folder: Path, plan: dict[str, Any] = GREET) -> tuple[Run, str]:
    """Run a plan with the server; return what became of it, and what its step said went wrong."""
    run = await (await approved(mode, folder)).run(json.dumps(plan), "")
    return run, run.problem or (run.result.problem if run.result else "")


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("values", "it sent more than 100,000 values at once"),
        ("many values", "it sent more than 1,000,000 values at once"),
        ("pings", "it made more than 1,000 requests"),
        ("notes", "it sent more than 256,000,000 bytes or 100,000 messages in all"),
        ("surrogate", "it sent a message that can't be read"),
        ("wrong", "failed to run greet (ValidationError)"),
        ("other value", "its output has 2,000,008 bytes"),
    ],
)
async def test_a_server_that_says_too_much_or_nonsense_is_given_up(tmp_path: Path, mode: str, problem: str) -> None:
    assert problem in (await ran(mode, tmp_path))[1]


async def test_no_schema_of_a_server_is_carried_out(tmp_path: Path) -> None:
    """A pattern that backtracks, behind the approved tool of the same name: the SDK's check would never end."""
    run, problem = await ran("pattern", tmp_path)
    assert problem == ""
    assert run.result is not None
    assert run.result.output == "hi"
    assert run.result.steps[0].output == "hi\n" + json.dumps({"x": "a" * 40 + "!"}, separators=(",", ":"))  # the whole answer


async def test_tools_that_nobody_asked_for_cost_nothing(tmp_path: Path) -> None:
    service = await approved("schemas", tmp_path)
    assert (await service.run(json.dumps(GREET), "")).problem == ""
    problems = await service.catalogue.refresh(service.settings)
    assert sum("longer than 100,000 characters" in problem for problem in problems) == 4
    assert {item.tool.name: item.state for item in service.state().tools if item.tool.source == "t"} == {
        "greet": "approved",
        "x": "new",
    }


async def test_a_tool_that_nobody_approved_takes_no_name_away(tmp_path: Path) -> None:
    plan = {"steps": [*GREET["steps"], {"tool": "grep", "args": {"pattern": "h"}}]}
    service = await approved("names", tmp_path)
    for _ in range(2):  # the second time its new tools are known
        run = await service.run(json.dumps(plan), "")
        assert run.problem == ""
        assert run.result is not None
        assert (run.result.problem, [step.tool for step in run.result.steps]) == ("", ["t.greet", "carrel.grep"])


async def test_a_server_may_say_much_that_is_no_harm(tmp_path: Path) -> None:
    """20,500 notes of progress, a line that is none of the protocol's, and a value of 110,000 numbers."""
    run, problem = await ran("honest", tmp_path)
    assert problem == ""
    assert run.result is not None
    assert run.result.steps[0].output.startswith('hi\n{"x":[0,1,2')


def alive(pids: list[int]) -> list[int]:
    def runs(pid: int) -> bool:
        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    return [pid for pid in pids if runs(pid)]


def gone(where: Path) -> bool:
    """Wait until the server and its child, which it noted, have ended."""
    pids = [int(pid) for pid in where.read_text("utf-8").split()]
    assert len(pids) == 2
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not alive(pids), 20)
    left = alive(pids)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left


@LINUX
async def test_what_a_server_started_ends_with_it(tmp_path: Path) -> None:
    assert (await ran("child", tmp_path))[1] == ""
    assert await asyncio.to_thread(gone, tmp_path / "state.pids")


@LINUX
async def test_what_a_server_started_ends_when_it_ends_itself(tmp_path: Path) -> None:
    """Not only with the connection: by then another program may have its number."""
    state = tmp_path / "state"
    state.write_text("bad", "utf-8")
    server = ToolServer(command=sys.executable, args=(str(SERVER), "dies", str(state)))
    async with connected("t", server, fake_outbound()) as connection:
        with pytest.raises(ProviderError):
            await connection.call("greet", {})
        assert await asyncio.to_thread(gone, tmp_path / "state.pids")


def settings_of(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """Write the person's settings, which name the server `t`; return the environment."""
    env = {
        **env,
        **{f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")},
        "TMPDIR": str(folder / "tmp"),
    }
    (folder / "tmp").mkdir()
    (folder / "state").write_text("good", "utf-8")
    file = folder / "CONFIG" / "carrel" / "settings.json"
    file.parent.mkdir(parents=True)
    server = {"command": sys.executable, "args": [str(SERVER), "stay", str(folder / "state")]}
    file.write_text(json.dumps({"tools": {"servers": {"t": server}}}), "utf-8")
    return env


async def approve_over(client: LspClient, folder: Path) -> None:
    client.answers["carrel/confirm"] = lambda _: {"allowed": True}
    await client.initialize(folder, capabilities={"experimental": {"carrel": {"confirm": True}}})
    await client.request("carrel/tools/list", {"refresh": True, "approve": True})
    (folder.parent / "state").write_text("bad", "utf-8")


async def called(where: Path) -> None:
    """Wait until the server hangs in a call."""
    async with asyncio.timeout(60):
        while not (where.exists() and len(where.read_text("utf-8").split()) == 2):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)


@LINUX
@pytest.mark.parametrize("how", ["closed", "terminated"])
async def test_a_server_that_is_busy_ends_with_the_editor_or_the_command(tmp_path: Path, how: str) -> None:
    project, pids = tmp_path / "project", tmp_path / "state.pids"
    project.mkdir()
    env = settings_of(tmp_path, dict(os.environ))
    client = await LspClient.spawn((sys.executable, "-P", "-m", "carrel", "serve"), env=env)
    await approve_over(client, project)
    if how == "closed":
        asked = asyncio.ensure_future(client.request("carrel/pipeline/run", {"pipeline": GREET}))
        await called(pids)
        assert client.process.stdin is not None
        client.process.stdin.close()
        await asyncio.wait_for(client.process.wait(), 20)
        asked.cancel()
    else:
        await client.stop()
        plan = project / "plan.json"
        plan.write_text(json.dumps(GREET), "utf-8")
        command = [sys.executable, "-P", "-m", "carrel", "pipeline", "run", str(plan)]
        process = await asyncio.create_subprocess_exec(*command, cwd=project, env=env, stdin=DEVNULL, stdout=DEVNULL)
        await called(pids)
        process.terminate()
        await asyncio.wait_for(process.wait(), 30)
    assert await asyncio.to_thread(gone, pids)
    assert [path.name for path in (tmp_path / "tmp").iterdir() if path.name.startswith("carrel-mcp-")] == []


JSON = st.recursive(
    st.none() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text('a"\\,[{', max_size=4), inner, max_size=4),
)


def marks(value: object) -> int:
    """Count brackets and commas of a value's JSON."""
    match value:
        case list():
            return 1 + max(len(value) - 1, 0) + sum(map(marks, value))
        case dict():
            return 1 + max(len(value) - 1, 0) + sum(map(marks, value.values()))
    return 0


@given(JSON, st.booleans(), st.lists(st.integers(0, 400), max_size=6))
def test_values_are_counted_outside_strings_whatever_the_pieces(value: Any, plain: bool, cuts: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=plain).encode()
    counted, before = Values(), 0
    for cut in [*sorted(cuts), len(text)]:
        counted.add(text[before:cut])
        before = max(before, min(cut, len(text)))
    assert counted.count == marks(value)


@given(st.text("a\r\n", max_size=40).map(str.encode), st.lists(st.integers(0, 40), max_size=6))
def test_events_are_told_apart_whatever_the_line_ends_and_the_pieces(text: bytes, cuts: list[int]) -> None:
    ends, found, before = LineEnds(), [b""], 0
    for cut in [*sorted(min(cut, len(text)) for cut in cuts), len(text)]:
        first, *others = ends.events(text[before:cut])
        found[-1] += first
        found += others
        before = cut
    plain = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    expected = [event.replace(b"\n", b"") for event in plain.split(b"\n\n")]
    assert [event for one in found if (event := one.replace(b"\n", b""))] == [event for event in expected if event]


def test_a_string_of_a_comment_hides_no_values() -> None:
    ends, counted = LineEnds(), Values()
    for part in ends.events(b': "\rdata: [1,2,3,4]\r'):
        counted.add(part)
    assert counted.count == 4
