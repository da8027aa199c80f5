"""Tools that run whatever they are given are known by their names and by what they take; others are not taken for such."""

# ruff: noqa: SIM905 - lists of words read best as text
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.extensions.tools.catalogue.files import from_file, from_mcp
from carrel.extensions.tools.catalogue.runs_anything import is_named_so, runs_anything
from carrel.extensions.tools.pipelines.format import parse, validate
from carrel.model.catalogue_tool import CatalogueTool

REQUESTS = Path(__file__).parents[2] / "bench" / "tool_requests.txt"
ANYTHING = """
    rm dd sh bash cmd powershell PowerShell pwsh shell terminal exec eval system sudo use_bash bash-tool acme_shell run_shell
    shell_exec executeCommand RunCommand Run-Command EXEC_CMD execCmd cmdExec2 run_command_v2 system_command start_process
    process.spawn run_in_terminal write_to_terminal send_command mcp__bash github.exec_cmd my.bash run_script script_runner
    code_execution code_interpreter evaluate_js RunJavaScript runPythonCode python_repl py_exec kubectl_exec exec_in_pod
    browser_run_code_unsafe adb_command
""".split()
OTHERS = """
    shell_sort docker_rm read_file write_file evaluate commander run start process run_tests run_workflow execute_query
    list_commands list_code_executions get_script create_script search_code get_code format_code command_help process_payment
    kill_process get_terminal_output send_message open_file start_timer run_evaluation invoke_agent container_start system_info
""".split()


@pytest.mark.parametrize("name", ANYTHING)
def test_names_that_say_it(name: str) -> None:
    assert is_named_so(name)


@pytest.mark.parametrize("name", OTHERS)
def test_names_that_do_not(name: str) -> None:
    assert not is_named_so(name)


def test_of_the_tools_of_public_servers_only_those_are_taken_for_such_that_are() -> None:
    names = set(re.findall(r"\b[a-z0-9_-]+\.([A-Za-z0-9_./-]+)", REQUESTS.read_text("utf-8")))
    assert len(names) > 400
    assert {name for name in names if is_named_so(name)} == {
        "browser_run_code_unsafe",
        "evaluate_script",
        "exec_in_pod",
        "execute_blender_code",
        "ha_eval_template",
        "run_script_function",
    }


@given(name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}", fullmatch=True))
def test_any_name_is_judged(name: str) -> None:
    assert is_named_so(name) in (True, False)


def text(said: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": said} if said else {}), **more}


def tool(name: str, description: str = "", **properties: Any) -> CatalogueTool:
    schema = {"type": "object", "properties": properties}
    return CatalogueTool(source="s", name=name, description=description, schema=schema, risk="moderate")


TAKING_ANYTHING = [
    tool("ops", command=text()),
    tool("helper", cmd={"type": ["string", "null"]}),
    tool("sandbox", "Runs it in a sandbox", code=text("The code"), language=text(enum=["python", "js"])),
    tool("worker", python_code=text()),
    tool("build", build_command=text()),
    tool("deep", options={"type": "object", "properties": {"shell_command": text()}}),
    tool("either", options={"anyOf": [{"type": "object", "properties": {"cmd": text("what is executed")}}]}),
]
TAKING_OTHER_THINGS = [
    tool("execute_payment", source=text()),
    tool("get_weather", country_code=text("ISO code")),
    tool("execute_query", "Execute a SQL query", query=text("SQL to execute")),
    tool("run_tests", path=text("Which tests to run")),
]


@pytest.mark.parametrize("described", TAKING_ANYTHING, ids=lambda described: described.name)
def test_parameters_that_say_it(described: CatalogueTool) -> None:
    assert runs_anything(described)


def test_a_tool_of_such_a_name_is_refused_by_every_plan() -> None:
    pipeline, _ = parse(json.dumps({"steps": [{"tool": "s.helper"}]}))
    assert pipeline
    refused = validate(pipeline, "", lambda _: (tool("run_shell"), ""))
    assert "not allowed: it runs whatever it is given" in str(refused.problems)


def test_a_pattern_of_names_counts_as_a_parameter() -> None:
    schema = {"type": "object", "patternProperties": {"^command$": text("Command to run")}}
    assert runs_anything(CatalogueTool(source="s", name="x", description="", schema=schema, risk="moderate"))


@pytest.mark.parametrize("described", TAKING_OTHER_THINGS, ids=lambda described: described.name)
def test_parameters_that_do_not(described: CatalogueTool) -> None:
    assert not runs_anything(described)


@pytest.mark.parametrize("name", ["exec_cmd", "runCommand", "ops"])
def test_no_word_of_a_server_or_a_file_makes_such_a_tool_less_than_dangerous(name: str) -> None:
    row = {"name": name, "inputSchema": {"type": "object", "properties": {"command": text()}}, "risk": "safe"}
    for hints in ({"readOnlyHint": True}, {"destructiveHint": False}):
        assert [read.risk for read in from_mcp([{**row, "annotations": hints}], "s")[0]] == ["dangerous"]
    assert [read.risk for read in from_file({"tools": [row]}, "s")[0]] == ["dangerous"]
