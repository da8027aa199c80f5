"""`carrel pipeline`: check a pipeline, or run it; the last output goes to standard output."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.extensions.tools.pipelines.format import LONGEST_INPUT, LONGEST_PIPELINE, parse
from carrel.frontends.cli.questions.in_process import with_commands
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output, one_line
from carrel.frontends.cli.terminal.terminal_confirmation import confirm
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.messages.setup_messages import PipelineChecked, PipelineRunResult
from carrel.model.errors import CarrelError, InvalidInput
from carrel.service.workspace import Workspace


def run(arguments: Namespace, output: Output) -> int:
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
    if output.json:
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
    if output.json:
        output.value(result)
        return 0 if result.ok else 1
    for problem in result.problems:
        output.warn(f"step {problem.step}: {problem.message}" if isinstance(problem.step, int) else problem.message)
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
