"""Check a pipeline whole before any of it runs: its tools, its references, its arguments as far as schemas tell, its risk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from carrel.agent.tool_arguments import errors_of, properties_of
from carrel.extensions.tools.catalogue.runs_anything import is_named_so, runs_anything
from carrel.extensions.tools.pipelines.format import (
    INPUT,
    LONGEST_INPUT,
    Pipeline,
    Problem,
    Step,
    mistaken_references,
    only_reference,
    plain_schema,
    references,
)
from carrel.model.catalogue_tool import CatalogueTool, Risk, higher

Lookup = Callable[[str], tuple[CatalogueTool | None, str]]
"""Returns the tool that a name means, or why it can't be used."""


@dataclass(frozen=True, slots=True)
class Validated:
    """What is known of a pipeline before it runs. `tools` has one for each step where there is no problem."""

    problems: tuple[Problem, ...]
    risk: Risk
    tools: tuple[CatalogueTool, ...]

    @property
    def ok(self) -> bool:
        """Tell whether it may run."""
        return not self.problems


def validate(pipeline: Pipeline, input_data: str, lookup: Lookup) -> Validated:
    """Check everything that can be known now."""
    problems: list[Problem] = []
    tools: list[CatalogueTool | None] = []
    risk = pipeline.risk_level
    if len(input_data) > LONGEST_INPUT:
        problems.append(Problem(None, f"input_data is longer than {LONGEST_INPUT:,} characters"))
    for number, step in enumerate(pipeline.steps):
        tool, refusal = (None, f"tool {step.tool} not allowed") if is_named_so(step.tool) else lookup(step.tool)
        if tool is not None and runs_anything(tool):
            tool, refusal = None, f"tool {step.tool} not allowed: it runs whatever it is given"
        tools.append(tool)
        risk = "dangerous" if tool is None else higher(risk, tool.risk)
        if refusal:
            problems.append(Problem(number, refusal))
        problems += [Problem(number, message) for message in _reference_problems(number, step)]
        if tool is not None:
            problems += [Problem(number, message) for message in dict.fromkeys(_argument_problems(number, step, tool, tools))]
    return Validated(tuple(problems), risk, tuple(tool for tool in tools if tool))


def takes_input(tool: CatalogueTool) -> bool:
    """Tell whether a tool has a parameter for what flows through a pipeline."""
    return "input" in properties_of(tool.schema)


def _reference_problems(number: int, step: Step) -> Iterable[str]:
    sources = ["{{input_data}}", *(f"{{{{step_{earlier}.output}}}}" for earlier in range(number))]
    for mistaken in dict.fromkeys(mistaken_references([step.args, step.input])):
        yield f"{mistaken} refers to nothing; there is {', '.join(sources)}"
    for source in dict.fromkeys(references([step.args, step.input])):
        if source == number:
            yield f"{{{{step_{source}.output}}}} is its own output"
        elif source > number:
            yield f"{{{{step_{source}.output}}}} comes later; a step can use earlier ones only"


def _argument_problems(number: int, step: Step, tool: CatalogueTool, tools: list[CatalogueTool | None]) -> Iterable[str]:
    arguments = dict(step.args)
    if takes_input(tool):
        if "input" in arguments and step.input is not None and number:
            yield "input is given twice: by `input` and in `args`"
        arguments.setdefault("input", "{{input_data}}")  # whatever it will be, it comes from elsewhere
    elif step.input is not None and number:
        yield f"{tool.name} takes no input; refer to it in `args`, such as {{{{step_{number - 1}.output}}}}"
    properties = properties_of(tool.schema)
    for name, value in arguments.items():
        kind = _kind(properties.get(name))
        if kind in (None, "string") or not any(True for _ in references(value)) or isinstance(value, dict | list):
            continue
        source = only_reference(value)
        if source is None:
            yield f"{name}: must be of type {kind}, and text around a reference makes it a string"
        elif source != INPUT and source < len(tools) - 1 and (earlier_tool := tools[source]) is not None:
            gives = "object" if earlier_tool.output_schema is not None else None
            if gives and kind != gives:
                yield f"{name}: must be of type {kind}, but step {source} ({earlier_tool.name}) gives an {gives}"
    for keyword, instance, sentence in errors_of(arguments, plain_schema(tool.schema)):
        # What a reference brings isn't known yet: it is checked before the step runs.
        if keyword in _OF_THE_WHOLE or not any(True for _ in references(instance)):
            yield sentence


_OF_THE_WHOLE = frozenset({"required", "additionalProperties", "minProperties", "maxProperties", "dependentRequired", "schema"})


def _kind(spec: object) -> str | None:
    kind = spec.get("type") if isinstance(spec, Mapping) else None
    return kind if isinstance(kind, str) else None
