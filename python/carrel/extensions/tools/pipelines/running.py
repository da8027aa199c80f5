"""Run a validated pipeline: one call after the other, within limits of time and size, until the end or the first failure.

Nothing that a tool says decides what runs next, or with which arguments beside the places that the plan names: the calls are the
plan's. A tool that fails, hangs or says too much ends the run; what was there before is kept. A cancel ends it at any await.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from carrel.agent.tool_arguments import problem_with, properties_of
from carrel.extensions.tools.pipelines.format import (
    INPUT,
    Pipeline,
    Step,
    Validated,
    filled,
    filled_length,
    only_reference,
    plain_schema,
    takes_input,
)
from carrel.model.catalogue_tool import BUILT_IN, CatalogueTool, Risk, ToolOutput, canonical
from carrel.model.errors import Cancelled, CarrelError, place_of
from carrel.model.plain_data import read_json
from carrel.model.structs import whole_characters
from carrel.model_calls.chat_model import settled
from carrel.model_calls.model_json import LONGEST
from carrel.model_calls.model_json import parse as parse_json
from carrel.pack.appearance import visible
from carrel.system.background import is_being_cancelled

log = logging.getLogger(__name__)


class PipelineLimits(Struct, frozen=True):
    """How far a run may go."""

    seconds: float = 300.0
    step_seconds: float = 60.0
    output_bytes: int = 1_000_000  # of one step
    total_bytes: int = 5_000_000


RunTool = Callable[[CatalogueTool, Mapping[str, Any]], Awaitable[ToolOutput]]
"""Runs one tool with arguments that fit its schema."""


class StepReport(Struct, frozen=True):
    """What a step did. `output` is kept also when a later one fails; `bytes` are its own."""

    step: int
    tool: str
    milliseconds: float
    bytes: int
    output: str
    error: str = ""


class PipelineResult(Struct, frozen=True):
    """How a run ended. `output` is the last output there is; `problem` names the step that failed, with its cause."""

    output: str
    steps: tuple[StepReport, ...]
    risk: Risk
    problem: str = ""


_LONGEST_ERROR = 500
MOST_CHARACTERS = 5_000_000
"""Of a step's arguments: a plan may name the same large input many times."""


class _Failed(Exception):
    """A step can't go on; the message is its cause."""


async def run_pipeline(
    pipeline: Pipeline,
    input_data: str,
    validated: Validated,
    run_tool: RunTool,
    *,
    limits: PipelineLimits = PipelineLimits(),
    notify: Callable[[StepReport], None] = lambda _: None,
) -> PipelineResult:
    """Run a pipeline that has no problems. `notify` is told each step when it ends."""
    began = time.monotonic()
    outputs: list[ToolOutput] = []
    total = 0
    reports: list[StepReport] = []
    for number, (step, tool) in enumerate(zip(pipeline.steps, validated.tools, strict=True)):
        started = time.perf_counter()
        output, shown, cause = ToolOutput(""), "", ""
        try:
            arguments = arguments_of(number, step, tool, input_data, outputs)
            left = limits.seconds - (time.monotonic() - began)
            output = await _run(tool, arguments, run_tool, min(limits.step_seconds, left))
            beside = _beside(output)
            shown = f"{output.text}\n{beside}" if beside else output.text
            total += _size(shown)
            _check_size(max(_size(output.text), _size(beside)), total, limits)
        except _Failed as failure:
            cause = str(failure)
            shown = output.text[: limits.output_bytes // 4]
        report = StepReport(
            number,
            tool.qualified,
            round(1000 * (time.perf_counter() - started), 3),
            _size(shown),
            shown,
            cause,
        )
        reports.append(report)
        notify(report)
        if cause:
            last = outputs[-1].text if outputs else ""
            return PipelineResult(last, tuple(reports), validated.risk, f"step {number} failed: {cause}")
        outputs.append(output)
    return PipelineResult(outputs[-1].text, tuple(reports), validated.risk)


def arguments_of(number: int, step: Step, tool: CatalogueTool, input_data: str, outputs: list[ToolOutput]) -> dict[str, Any]:
    """Return a step's arguments with its references replaced. Raises `_Failed` where they don't fit the schema then."""

    def text_of(source: int) -> str:
        return input_data if source == INPUT else outputs[source].text

    length = filled_length([*step.args.values(), step.input], text_of)
    if length > MOST_CHARACTERS:
        raise _Failed(f"its arguments would have {length:,} characters; {MOST_CHARACTERS:,} are the most")
    properties = properties_of(tool.schema)
    arguments: dict[str, Any] = {}
    for name, value in step.args.items():
        source = only_reference(value)
        if source is None:
            arguments[name] = filled(value, text_of)
            continue
        output_value = None if source == INPUT else outputs[source].value
        arguments[name] = _typed(text_of(source), output_value, properties.get(name))
    if takes_input(tool) and "input" not in arguments:
        if number == 0:
            arguments["input"] = input_data  # what the plan calls it is a label, and no file is opened
        else:
            arguments["input"] = outputs[-1].text if step.input is None else filled(step.input, text_of)
    if problem := problem_with(arguments, plain_schema(tool.schema)):
        raise _Failed(problem)
    return arguments


def _typed(text: str, value: Any, spec: object) -> Any:
    """Return an output as the type that the parameter has: text, unless the schema asks for something else."""
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    if not isinstance(kind, str) or kind == "string":
        return text
    wanted = Mapping if kind == "object" else list if kind == "array" else ()
    whole = read_json(text)
    if isinstance(whole, wanted):
        return whole  # what the person saw, whatever else the tool gave as its value
    if value is not None and isinstance(value, wanted):
        return value
    if whole is None and len(text) <= LONGEST:  # a longer one would be cut, and what is missing made up
        whole = parse_json(text.strip())
    return text if whole is None else whole


async def _run(tool: CatalogueTool, arguments: Mapping[str, Any], run_tool: RunTool, seconds: float) -> ToolOutput:
    """Run a tool; whatever it does, there is an output or a cause."""
    if seconds <= 0:
        raise _Failed("the pipeline's time was up")
    try:
        done = await settled(run_tool(tool, arguments), seconds)
        output = done.result() if done else None
    except Cancelled:
        raise
    except asyncio.CancelledError:
        if is_being_cancelled():
            raise
        raise _Failed(f"{tool.name} was stopped") from None
    except CarrelError as error:
        raise _Failed(str(error)) from None
    except Exception as error:  # the tool is somebody else's code
        log.warning("A tool failed with %s at %s", type(error).__name__, place_of(error))
        raise _Failed(f"{tool.name} failed ({type(error).__name__})") from None
    if output is None:
        raise _Failed(f"{tool.name} gave nothing within {seconds:.3g} s and was stopped")
    if output.is_error:
        said = visible(" ".join(whole_characters(output.text[:_LONGEST_ERROR]).split()))
        quoted = said if tool.source == BUILT_IN else f"{tool.name} says {json.dumps(said, ensure_ascii=False)}"
        raise _Failed(quoted if said else f"{tool.name} failed")
    text = output.text or ("" if output.value is None else canonical(output.value))
    return ToolOutput(whole_characters(text), output.value)


def _check_size(size: int, total: int, limits: PipelineLimits) -> None:
    if size > limits.output_bytes:
        raise _Failed(f"its output has {size:,} bytes, and {limits.output_bytes:,} are allowed")
    if total > limits.total_bytes:
        raise _Failed(f"all outputs together have more than {limits.total_bytes:,} bytes")


def _beside(output: ToolOutput) -> str:
    """Return a step's structured value, where its text says something else; empty where it says the same."""
    text, value = output.text, output.value
    if value is None or _says(text, value):
        return ""
    if isinstance(value, Mapping) and len(value) == 1:  # many servers put what is no object into one
        [only] = value.values()
        if _says(text, only):
            return ""
    written = canonical(value)
    return "" if text == written else written


def _says(text: str, value: Any) -> bool:
    """Tell whether a text is a value, as JSON or in plain words; a list of texts has one a line."""
    if isinstance(value, str):
        return text == value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return text == "\n".join(value)
    return bool(read_json(text) == value)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
