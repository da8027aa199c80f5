"""The form of a pipeline: JSON to values, and the references in it.

`{"steps": [{"tool", "args", "input", "output"}], "expected_output", "risk_level"}`. `{{step_N.output}}` stands for what step N,
counted from 0, gave, and `{{input_data}}` for what the pipeline was given. References count only in what the plan itself says:
whatever is put in their place is never looked through again.

The part of a tool's JSON schema that can be checked in work that is linear in the arguments.

Schemas come from servers of others, and checking runs where everything else waits: a pattern may take hours for forty
characters, and references that double at each level as long. What is left out here the tool itself still checks.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from carrel.agent.tool_arguments import errors_of, properties_of
from carrel.extensions.tools.catalogue.files import SchemaPart
from carrel.extensions.tools.catalogue.runs_anything import is_named_so, runs_anything
from carrel.model.bounds import plain_reason
from carrel.model.catalogue_tool import CatalogueTool, Risk, canonical, higher
from carrel.model.patterns import lazy_pattern

MOST_DEPTH = 30
"""Of a schema: what lies deeper takes anything."""


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without patterns, references, conditions and combinations; what is none as one that can't be used."""
    try:
        part = msgspec.convert(schema, SchemaPart)
    except msgspec.ValidationError:
        return {"type": "unknown"}
    return dict(_plain(msgspec.to_builtins(part), 0))


def _plain(part: Any, depth: int) -> Any:
    """Read a part as the newest draft means it, where older ones had booleans and lists of schemas."""
    if not isinstance(part, dict) or depth > MOST_DEPTH:
        return part if isinstance(part, bool) else {}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(part.get(exclusive), bool) and part.pop(exclusive) and bound in part:
            part[exclusive] = part.pop(bound)
    if isinstance(part.get("required"), bool):  # on a property it says nothing about its own value
        del part["required"]
    if part.pop("patternProperties", None) is not None:  # without its patterns nobody knows which names are allowed
        part.pop("additionalProperties", None)
    if "properties" in part:
        part["properties"] = {name: _plain(inner, depth + 1) for name, inner in part["properties"].items()}
    return part | {key: _plain(part[key], depth + 1) for key in ("items", "additionalProperties") if key in part}


MOST_STEPS = 20
LONGEST_PIPELINE = 100_000
LONGEST_INPUT = 1_000_000
_DEEPEST = 30
_REFERENCE = lazy_pattern(r"\{\{\s*(?:step_([0-9]{1,4})\.output|(input_data))\s*\}\}")
_MEANT = lazy_pattern(
    r"(?<!\$)\{\{\s*(?:(?:steps?|input|output)\b[^{}]{0,80}|(?:steps?|input)_[^{}]{0,80}|[^{}\s]{1,80}\.output)\s*\}\}",
    re.IGNORECASE,
)
_TEMPLATE = lazy_pattern(r"\{\{[^{}]{0,80}\}\}")
INPUT = -1
"""Stands for `{{input_data}}` where a reference is a step's number."""


class Problem(Struct, frozen=True):
    """What is wrong with a pipeline; `step` is None where it is wrong with the whole."""

    step: int | None
    message: str

    def __str__(self) -> str:
        return self.message if self.step is None else f"step {self.step}: {self.message}"


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call. `input` None means the output of the step before; `output` says in words what is expected."""

    tool: Annotated[str, Meta(min_length=1)]
    args: dict[str, Any] = {}
    input: str | None = None
    output: str = ""


class Pipeline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A plan. `risk_level` is what its author says of it, which can only raise its risk."""

    steps: Annotated[tuple[Step, ...], Meta(min_length=1, max_length=MOST_STEPS)]
    expected_output: str = ""
    risk_level: Risk = "safe"


def parse(data: object) -> tuple[Pipeline | None, list[Problem]]:
    """Read a pipeline, as JSON or as the data that it stands for; None with the first problem where it can't be read."""
    too_long = Problem(None, f"the pipeline is nested too deep, or longer than {LONGEST_PIPELINE:,} characters")
    if isinstance(data, str):
        if len(data) > LONGEST_PIPELINE:
            return None, [too_long]
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            return None, [Problem(None, f"the pipeline is not valid JSON: {str(error)[:200]}")]
    if _depth(data) > _DEEPEST or len(canonical(data)) > LONGEST_PIPELINE:
        return None, [too_long]
    data = _without_nulls(data)
    if isinstance(data, dict) and isinstance(data.get("steps"), list):
        data["steps"] = list(map(_without_nulls, data["steps"]))
    try:
        return msgspec.convert(data, Pipeline), []
    except msgspec.ValidationError as error:
        where, reason = plain_reason(error)
        step = re.match(r"\.steps\[(\d+)\]", where)
        field = where[step.end() if step else 0 :].lstrip(".")
        return None, [Problem(int(step[1]) if step else None, f"{field}: {reason}" if field else reason)]


def _without_nulls(row: object) -> object:
    return {key: value for key, value in row.items() if value is not None} if isinstance(row, Mapping) else row


def _depth(value: object) -> int:
    """Return how deep data is nested, without recursion: it is a stranger's."""
    deepest, left = 0, [(value, 1)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        if depth > _DEEPEST:
            break
        inner = node.values() if isinstance(node, Mapping) else node if isinstance(node, list | tuple) else ()
        left += [(item, depth + 1) for item in inner]
    return deepest


# --- references


def _number(match: re.Match[str]) -> int:
    return INPUT if match[2] else int(match[1])


def references(value: object) -> Iterator[int]:
    """Give the number of each step that a value refers to, and `INPUT` for the pipeline's input."""
    for match in (match for text in _texts(value) for match in _REFERENCE.finditer(text)):
        yield _number(match)


def mistaken_references(value: object) -> Iterator[str]:
    """Give what looks like a reference and is none, such as `{{step_x.output}}`."""
    for match in (match for text in _texts(value) for match in _MEANT.finditer(text)):
        if not _REFERENCE.fullmatch(match[0]):
            yield match[0]


def refers(value: object) -> bool:
    """Tell whether a value has a reference, or what looks like one."""
    return any(True for _ in references(value)) or any(mistaken_references(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def only_reference(value: object) -> int | None:
    """Return the step that a value refers to where it is nothing but that reference."""
    match = _REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else _number(match)


def filled_length(value: Any, text_of: Callable[[int], str]) -> int:
    """Return how many characters `filled` would give, without making them."""
    return sum(len(text) + sum(len(text_of(_number(match))) for match in _REFERENCE.finditer(text)) for text in _texts(value))


def filled(value: Any, text_of: Callable[[int], str]) -> Any:
    """Return a value with its references replaced, in one pass: what comes in is never read for references."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: text_of(_number(match)), value)
    if isinstance(value, Mapping):
        return {key: filled(item, text_of) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, text_of) for item in value]
    return value


def decision_hash(pipeline: Pipeline, input_data: str, tools: Sequence[CatalogueTool]) -> str:
    """Name exactly this run: the plan, what it is given, and what its tools say of themselves."""
    content = [msgspec.to_builtins(pipeline), input_data, [tool.fingerprint for tool in tools]]
    return hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()


Lookup = Callable[[str], tuple[CatalogueTool | None, str]]
"""Returns the tool that a name means, or why it can't be used."""


class Validated(Struct, frozen=True):
    """Hold what is known of a pipeline before it runs. `tools` has one for each step where there is no problem."""

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
    whole = (step.input or "").strip()  # what flows into a step and is nothing but a template is meant as one
    lost = [whole] if _TEMPLATE.fullmatch(whole) and not _REFERENCE.fullmatch(whole) else []
    for mistaken in dict.fromkeys((*mistaken_references([step.args, step.input]), *lost)):
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
