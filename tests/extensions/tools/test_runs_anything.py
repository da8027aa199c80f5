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

from carrel.extensions.tools.catalogue import runs_anything as module
from carrel.extensions.tools.catalogue.files import from_file, from_mcp
from carrel.extensions.tools.catalogue.runs_anything import is_named_so, runs_anything
from carrel.extensions.tools.pipelines.format import parse, validate
from carrel.model.catalogue_tool import CatalogueTool

REQUESTS = Path(__file__).parents[2] / "bench" / "tool_requests.txt"
ANYTHING = """
    rm dd sh bash zsh ksh cmd powershell PowerShell pwsh shell terminal exec eval system sudo execute use_bash bash-tool
    acme_shell run_shell shell_exec execute_shell run_command execute_command executeCommand RunCommand Run-Command
    runcommand command exec_cmd execCmd EXEC_CMD execcmd cmd_exec cmdExec2 cmdrun run_cmd run_command_v2 exec_command
    command_exec system_command start_process process.spawn spawnProcess launch_process open_terminal run_in_terminal
    run_terminal_cmd terminal_command write_to_terminal send_keys_to_terminal send_command invoke_command mcp__bash
    github.exec_cmd my.bash find_and_run_command run_script script_runner RunUserScript evaluate_script execute_code
    run_code code_execution code_interpreter eval_code evaluate_js js_eval RunJavaScript run_python runPythonCode
    execute_python_code python_repl py_exec run-powershell-script kubectl_exec docker_exec exec_in_pod ssh_exec
    container.exec browser_run_code_unsafe run_shell_command_async xp_cmdshell run_cell run_macro run_node run_go run_rust
    run_csharp eval_clojure adb_command gdb_command tmux_send_keys kernel_execute ipython console_run run_in_console
    perform_command start_child_process
""".split()
OTHERS = """
    shell_sort git_rm_cached docker_rm read_file write_file evaluate commander run start process run_tests run_workflow run_lint
    execute_query execute_trade execute_pipeline run_query list_commands get_run_command get_command_execution command_help
    list_code_executions get_script create_script save_snippet search_code get_code format_code run_code_review explain_command
    process_payment process_image process_text kill_process list_processes get_terminal_output clear_terminal shell_history
    send_message send_verification_code type_text open_file open_pull_request start_search start_timer launch_campaign
    start_business_process run_training_program loyalty_program_run payment_terminal send_command_to_robot commands
    exec_summary run_evaluation evaluate_model invoke_agent publish container_start node_management system_info
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
    }


VERBS = ("run", "exec", "execute", "eval", "evaluate", "spawn", "invoke")
THINGS = ("command", "cmd", "shell", "bash", "terminal", "script", "code", "python", "process", "javascript", "program")
WRITTEN = (
    *("{0}_{1}", "{1}_{0}", "{0}-{1}", "{1}.{0}", "{0}{1}", "{1}{0}", "my_{0}_{1}", "{0}_the_{1}", "{0}_{1}_async", "{0}_{1}_v3"),
    *("{0}_{1}_in_sandbox", "srv__{0}_{1}", "{0}_python_{1}"),
)


@given(verb=st.sampled_from(VERBS), thing=st.sampled_from(THINGS), form=st.sampled_from(WRITTEN), case=st.integers(0, 3))
def test_a_verb_and_what_it_runs_are_known_in_every_order_and_way_of_writing(verb: str, thing: str, form: str, case: int) -> None:
    name = form.format(verb, thing)
    if case == 1:
        name = name.upper()
    elif case == 2:
        name = re.sub(r"[_.-]+([a-z])", lambda found: found[1].upper(), name)
    elif case == 3:
        name = "-".join(part.capitalize() for part in re.split(r"[_.-]+", name))
    assert is_named_so(name), name


@given(name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}", fullmatch=True))
def test_any_name_is_judged(name: str) -> None:
    assert is_named_so(name) in (True, False)


def text(said: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": said} if said else {}), **more}


def tool(name: str, description: str = "", **properties: Any) -> CatalogueTool:
    schema = {"type": "object", "properties": properties}
    return CatalogueTool(source="s", name=name, description=description, schema=schema, risk="moderate")


TAKING_ANYTHING = [
    tool("browser_evaluate", "Evaluate JavaScript expression on page", function=text("() => { /* code */ }")),
    tool("debugger", expression=text("JavaScript expression to evaluate")),
    tool("ops", command=text()),
    tool("helper", cmd={"type": ["string", "null"]}),
    tool("sandbox", "Run code in a sandbox", code=text("The code"), language=text(enum=["python", "js"])),
    tool("docker_run", image=text(), command={"type": "array", "items": text(), "description": "Command to run in it"}),
    tool("add_cron_job", command=text("Command to run on schedule")),
    tool("run", code=text()),
    tool("worker", python_code=text("Python code to execute")),
    tool("page", script=text("JavaScript that is evaluated in the page")),
    tool("notebook", source=text("Cell source to be executed")),
    tool("deep", options={"type": "object", "properties": {"shell_command": text()}}),
    tool("build", "Builds", build_command=text("Command to run")),
    tool("build", build_command=text()),
    tool("search", query=text("words"), post_command=text("executed afterwards")),
    tool("build", "Builds", pre_build_script=text("Script to run before")),
    tool("ops", "Runs a shell command on the host", input=text("The input")),
    tool("ops", "Execute arbitrary bash commands", args={"type": "array", "items": text()}),
    tool("job", payload=text("Python code to execute")),
    tool("job", "Runs a task", task=text("shell command line to execute")),
    tool("object", code={"type": "object", "description": "code to execute", "properties": {"text": text()}}),
    *(tool(name, command=text("Shell command to run")) for name in ("get_result", "check_output", "watch", "view", "read")),
    tool("execute_in_page", source=text()),
    tool("either", options={"anyOf": [{"type": "object", "properties": {"cmd": text("what is executed")}}]}),
]
TAKING_OTHER_THINGS = [
    tool("execute_payment", source=text()),
    tool("run_import", source=text()),
    tool("open_ticket", code=text()),
    tool("open_account", program=text()),
    tool("icd", "Runs a search in a code system", code=text("ICD code")),
    tool("run_lint", "Run lint over scripts", code=text("the code")),
    tool("get_weather", country_code=text("ISO code")),
    tool("verify", code=text("The one-time code")),
    tool("search_code", code=text("the code to find")),
    tool("format_code", code=text("Code to format")),
    tool("run_code_review", "Review code", code=text("The code to review")),
    tool("create_script", "Create a script that runs nightly", script=text("its text")),
    tool("place_order", "Execute trade with promo code", code=text("the promo code")),
    tool("edit", "Edit files", command=text("The commands to run", enum=["view", "create"])),
    tool("explain_command", command=text("Shell command to explain")),
    tool("check", command=text("Shell command to validate")),
    tool("robot", command=text("start, stop or dock")),
    tool("calculate", "Evaluate a mathematical expression", expression=text("The expression to evaluate")),
    tool("execute_query", "Execute a SQL query", query=text("SQL to execute")),
    tool("invoke_function", function=text("Name of the function to invoke")),
    tool("run_tests", path=text("Which tests to run")),
]


@pytest.mark.parametrize("described", TAKING_ANYTHING, ids=lambda described: described.name)
def test_parameters_that_say_it(described: CatalogueTool) -> None:
    assert runs_anything(described)
    pipeline, _ = parse(json.dumps({"steps": [{"tool": described.name}]}))
    assert pipeline
    refused = validate(pipeline, "", lambda _: (described, ""))
    assert "not allowed: it runs whatever it is given" in str(refused.problems)


def test_a_pattern_of_names_counts_as_a_parameter() -> None:
    schema = {"type": "object", "patternProperties": {"^command$": text("Command to run")}}
    assert runs_anything(CatalogueTool(source="s", name="x", description="", schema=schema, risk="moderate"))


def test_a_description_is_read_once_for_all_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    split = module._words

    def count(words: str) -> list[str]:
        read.append(words)
        return split(words)

    monkeypatch.setattr(module, "_words", count)
    said = "Says what the weather is."
    assert not runs_anything(tool("weather", said, **{f"p{number}": text() for number in range(50)}))
    assert read.count(said) == 1


@pytest.mark.parametrize("described", TAKING_OTHER_THINGS, ids=lambda described: described.name)
def test_parameters_that_do_not(described: CatalogueTool) -> None:
    assert not runs_anything(described)


@pytest.mark.parametrize("name", ["exec_cmd", "runCommand", "ops"])
def test_no_word_of_a_server_or_a_file_makes_such_a_tool_less_than_dangerous(name: str) -> None:
    row = {"name": name, "inputSchema": {"type": "object", "properties": {"command": text()}}, "risk": "safe"}
    for hints in ({"readOnlyHint": True}, {"destructiveHint": False}):
        assert [read.risk for read in from_mcp([{**row, "annotations": hints}], "s")[0]] == ["dangerous"]
    assert [read.risk for read in from_file({"tools": [row]}, "s")[0]] == ["dangerous"]
