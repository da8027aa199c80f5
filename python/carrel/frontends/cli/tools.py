"""`carrel tools | pipeline`: sources of tools, what they hold, what of it is approved, the search over it, and pipelines."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrel.composition.composition import Composition
from carrel.extensions.tools.catalogue.exports import export
from carrel.extensions.tools.catalogue.search import ToolQuery
from carrel.extensions.tools.pipelines.format import LONGEST_INPUT, LONGEST_PIPELINE, parse
from carrel.frontends.cli.in_process import with_commands
from carrel.frontends.cli.terminal import Output, folder, one_line
from carrel.frontends.cli.typed_input import confirm
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.convert.convert_setup import from_tool
from carrel.frontends.lsp.messages.setup_messages import PipelineChecked, PipelineRunResult, ToolsListResult, ToolsSearchResult
from carrel.model.errors import CarrelError, InvalidInput
from carrel.service.workspace import Workspace
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.settings.settings_writer import set_tool_source
from carrel.settings.tool_settings import read_tools
from carrel.system.background import run_blocking

if TYPE_CHECKING:
    from carrel.extensions.tools.tool_catalogue import StatedTool
    from carrel.extensions.tools.tool_service import ToolService


_LONGEST_LINE = 100


def run_tools(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"add": _add, "remove": _remove, "refresh": _refresh, "approve": _approve, "list": _list, "search": _search}
    return actions[arguments.action](arguments, output)


def _service(output: Output) -> ToolService:
    settings, problems = resolve(read_user())
    for problem in problems:
        if problem.key == "tools":
            raise CarrelError(f"No source of tools counts: {problem}", "Mend in that file what it names, or take it out.")
        output.warn(f"setting: {problem}")
    return Composition().tools(settings, confirm=confirm)


def _add(arguments: Namespace, output: Output) -> int:
    command = arguments.server
    if sum(map(bool, (arguments.url, arguments.file, command))) != 1:
        raise InvalidInput("source", "give one of --url, --file, or a program after --")
    kind, value = _source(arguments, command)
    try:
        read_tools({kind: {arguments.name: value}})
    except ValueError as error:
        raise InvalidInput("tools", str(error)) from None
    if arguments.name in _service(output).settings.sources:
        raise InvalidInput(
            "NAME", f'there is a source "{arguments.name}" already', f"Remove it: carrel tools remove {arguments.name}"
        )
    path = set_tool_source(kind, arguments.name, value)
    output.note(f"Written to {path}.")
    service = _service(output)
    problems = run_blocking(service.catalogue.refresh(service.settings, [arguments.name]))
    return _show_sources(service, [arguments.name], problems, output)


def _source(arguments: Namespace, command: list[str]) -> tuple[str, dict[str, Any] | str]:
    if arguments.file:
        return "files", str(arguments.file.absolute())
    fields: dict[str, Any] = {"url": arguments.url, "key": arguments.key}
    if command:
        cwd = str(arguments.cwd.absolute()) if arguments.cwd else None
        fields = {"command": command[0], "args": command[1:], "env": arguments.env, "cwd": cwd}
    return "servers", {name: value for name, value in fields.items() if value}


def _remove(arguments: Namespace, output: Output) -> int:
    service = _service(output)
    if arguments.name not in service.settings.sources:
        raise InvalidInput("NAME", f'there is no source "{arguments.name}"', _source_names(service))
    for kind in ("servers", "files"):
        if arguments.name in getattr(service.settings, kind):
            set_tool_source(kind, arguments.name, None)
    service.catalogue.store.remove(arguments.name)
    output.value({"removed": arguments.name})
    output.note(f"{arguments.name} is removed, and what you approved of it.")
    return 0


def _refresh(arguments: Namespace, output: Output) -> int:
    service = _service(output)
    problems = run_blocking(service.catalogue.refresh(service.settings, arguments.names))
    return _show_sources(service, arguments.names or service.settings.sources, problems, output)


def _show_sources(service: ToolService, names: Any, problems: list[str], output: Output) -> int:
    """Show what was read of sources."""
    state = service.state()
    tools = [item for item in state.tools if item.tool.source in names]
    output.value(ToolsListResult(tools=tuple(map(from_tool, tools)), problems=(*problems, *state.problems)))
    for item in tools:
        _show(item, output)
    for problem in (*problems, *state.problems):
        output.warn(f"problem: {problem}")
    return 1 if problems else 0


def _approve(arguments: Namespace, output: Output) -> int:
    service = _service(output)
    if unknown := [name for name in arguments.names if name not in service.settings.sources]:
        raise InvalidInput("NAME", f'there is no source "{unknown[0]}"', _source_names(service))
    waiting = [
        item for item in service.state().tools if not item.usable and (not arguments.names or item.tool.source in arguments.names)
    ]
    if not run_blocking(service.approve(waiting)):
        raise CarrelError("Nothing was approved: the code was not typed")
    output.value({"approved": [item.tool.qualified for item in waiting]})
    output.note(f"{len(waiting)} approved." if waiting else "No tool waits for you.")
    return 0


def _list(arguments: Namespace, output: Output) -> int:
    service = _service(output)
    state = service.state()
    if arguments.export:
        output.json_line(export([item.tool for item in state.tools if item.usable], arguments.export))
        return 0
    return _show_sources(service, {item.tool.source for item in state.tools}, [], output)


def _search(arguments: Namespace, output: Output) -> int:
    service = _service(output)
    query = ToolQuery(arguments.query, arguments.limit, arguments.risk, tuple(arguments.tag))
    hits = run_blocking(service.search(query, usable_only=False))
    output.value(ToolsSearchResult(tools=tuple(from_tool(stated, item) for item, stated in hits), elapsed_ms=0.0))
    for item, stated in hits:
        _show(stated, output, f"{item.score:.2f} ")
    if not hits:
        output.note("No tool fits.")
    return 0


def _show(stated: StatedTool, output: Output, before: str = "") -> None:
    tool = stated.tool
    mark = "" if stated.usable else f" [{stated.state}: carrel tools approve]"
    about = one_line(" ".join(tool.description.split()))
    output.text(f"{before}{tool.qualified} ({tool.risk}){mark}  {about[:_LONGEST_LINE]}")


def _source_names(service: ToolService) -> str:
    return f"There are: {', '.join(service.settings.sources) or 'none'}."


def run_pipeline(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    if arguments.file == arguments.input == "-":
        raise InvalidInput("--input", "is standard input, as the pipeline is", "Give one of them as a file.")
    pipeline = _read(arguments.file, LONGEST_PIPELINE, "FILE")
    input_data = "" if arguments.input is None else _read(arguments.input, LONGEST_INPUT, "--input")
    runs = arguments.action == "run" and not arguments.dry_run
    method = "carrel/pipeline/run" if runs else "carrel/pipeline/validate"

    async def ask(commands: Commands, _: Workspace) -> Any:
        return await commands.table()[method]({"pipeline": pipeline, "inputData": input_data})

    result = with_commands(folder(arguments.path), output, ask, confirm=confirm, broad="once indexed")
    return _show_run(result, output) if runs else _show_check(result, pipeline, output)


def _show_run(result: PipelineRunResult, output: Output) -> int:
    output.value(result)
    for step in result.steps:
        failed = f": {one_line(str(step.error))}" if step.error else ""
        output.note(f"step {step.step}: {step.tool}, {step.ms:,.0f} ms, {step.bytes:,} bytes{failed}")
    if not output.json and result.output:
        output.whole(result.output.removesuffix("\n"))
    if not result.ok:
        if output.json:
            return 1
        raise CarrelError(str(result.error))
    return 0


def _show_check(result: PipelineChecked, pipeline: str, output: Output) -> int:
    output.value(result)
    for problem in result.problems:
        output.note(f"step {problem.step}: {problem.message}" if isinstance(problem.step, int) else problem.message)
    if not result.ok:
        return 1
    read, _ = parse(pipeline)
    for number, step in enumerate(read.steps if read else ()):
        output.text(f"step {number}: {step.tool} {one_line(str(dict(step.args)))}")
    waits = "; it waits for your confirmation" if result.needs_confirmation else ""
    output.text(f"It can run. Risk: {result.risk}{waits}.")
    return 0


def _read(name: str, most: int, field: str) -> str:
    try:
        data = sys.stdin.buffer.read(4 * most + 1) if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise CarrelError(f"{name} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput(field, f"{name} is not UTF-8") from None
