"""Tools and pipelines for front ends: search, validate, confirm, run.

A run starts the servers that it needs and stops them, unless others use them or an answer is being made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from carrel.agent.tools.text_tools import text_tools
from carrel.extensions.tools.catalogue.files import from_mcp
from carrel.extensions.tools.catalogue.search import FoundTool, ToolQuery
from carrel.extensions.tools.pipelines.format import Pipeline, Problem, Validated, decision_hash, parse, validate
from carrel.extensions.tools.pipelines.running import PipelineResult, StepReport, run_pipeline
from carrel.extensions.tools.tool_catalogue import CatalogueState, StatedTool, ToolCatalogue
from carrel.model.catalogue_tool import BUILT_IN, CatalogueTool, Risk, ToolOutput, canonical
from carrel.model.errors import CarrelError, NotPermitted, ProviderError
from carrel.model.outbound import Destination, Load
from carrel.model.ports import Embedder, Tool
from carrel.model.remote import Confirm, Confirmation
from carrel.policy import permissions
from carrel.policy.audit import AuditTrail
from carrel.policy.consent import whole_question
from carrel.question.question_secrets import Mask, mask_fields, masked
from carrel.settings.allow_settings import AllowSettings, Right
from carrel.settings.tool_settings import ToolSettings

if TYPE_CHECKING:
    from carrel.extensions.tools.servers.mcp_tools import McpConnection

NOBODY_ASKED = (
    "only a person can allow it, and nobody could be asked here. Run it with `carrel pipeline run` in a terminal, or in an editor"
)


class Checked(Struct, frozen=True):
    """A pipeline as it stands before a run. `waiting` are its tools that nobody approved as they are."""

    pipeline: Pipeline | None
    problems: tuple[Problem, ...]
    risk: Risk
    challenge: str = ""
    validated: Validated | None = None
    waiting: tuple[StatedTool, ...] = ()

    @property
    def acts(self) -> bool:
        """Tell whether it may change something, by its tools or by what the plan says of itself."""
        return self.validated is None or self.risk == "dangerous" or any(tool.acts for tool in self.validated.tools)

    @property
    def needs_confirmation(self) -> bool:
        """Tell whether a person must agree before it runs."""
        return not self.problems and (self.risk == "dangerous" or bool(self.waiting))


class Run(Struct, frozen=True):
    """What became of a pipeline: `result` is None where it was never begun."""

    checked: Checked
    result: PipelineResult | None = None
    problem: str = ""


class ToolService(Struct):
    """Tools of one workspace and the person's sources. `confirm` None means that no person can be reached from here."""

    catalogue: ToolCatalogue
    settings: ToolSettings
    embedder: Embedder
    confirm: Confirm | None
    own_tools: Sequence[Tool] = ()
    audit: AuditTrail | None = None
    allow: AllowSettings = field(default_factory=AllowSettings)
    mask: Mask = masked
    """Masks secrets in what is sent to a service."""
    _built_in: dict[str, Tool] = field(default_factory=dict)
    _described: tuple[CatalogueTool, ...] = ()

    def __post_init__(self) -> None:
        self._built_in = {tool.spec.name: tool for tool in (*text_tools(), *self.own_tools)}
        self._described = tuple(
            CatalogueTool(source=BUILT_IN, name=name, description=tool.spec.description, risk="safe", schema=tool.spec.schema)
            for name, tool in self._built_in.items()
        )

    # --- the catalogue

    def state(self) -> CatalogueState:
        """Return all tools, and what is wrong with their sources."""
        return self.catalogue.state(self.settings, self._described)

    async def search(self, query: ToolQuery, *, usable_only: bool) -> list[tuple[FoundTool, StatedTool]]:
        """Return the tools that fit a request best; for a model those alone that the person approved."""
        self._require("tools")
        stated = {item.tool.qualified: item for item in self.state().tools}
        if usable_only:  # the index holds all tools: two would be made anew by turns
            query = replace(query, among=frozenset(name for name, item in stated.items() if item.usable))
        vector = (await self.embedder.embed([query.text], "query"))[0]
        tools = [item.tool for item in stated.values()]
        # The first search after a change of tools indexes them: no work for the event loop.
        hits = await asyncio.to_thread(self.catalogue.search, query, tools, vector)
        if self.audit is not None:
            chosen = [
                {"tool": item.tool.qualified, "score": item.score, "words": list(item.why), "tags": list(item.tool.tags)}
                for item in hits
            ]
            request = {"question": self.audit.hashed(query.text), "tags": list(query.tags), "risk": query.risk or ""}
            self.audit.event("tools", {**request, "tools": chosen})
        return [(item, stated[item.tool.qualified]) for item in hits]

    async def approve(self, items: Sequence[StatedTool]) -> bool:
        """Have the person look at tools. Raises `ProviderError` where nobody can be asked."""
        if self.confirm is None:
            raise ProviderError(f"These tools are new or changed; {NOBODY_ASKED}")
        return await self.catalogue.approve(items, self.confirm)

    # --- pipelines

    def check(self, pipeline_data: object, input_data: str) -> Checked:
        """Validate a pipeline whole. Starts nothing and asks nobody."""
        pipeline, problems = parse(pipeline_data)
        if pipeline is None:
            return Checked(None, tuple(problems), "dangerous")
        tools: dict[str, StatedTool] = {}

        def lookup(name: str) -> tuple[CatalogueTool | None, str]:
            stated, problem = self.catalogue.find(name, self.settings, self._described)
            if stated is None:
                return None, problem
            tools[stated.tool.qualified] = stated
            return stated.tool, ""

        validated = validate(pipeline, input_data, lookup)
        challenge = decision_hash(pipeline, input_data, validated.tools) if validated.ok else ""
        waiting = tuple(item for item in tools.values() if not item.usable)
        return Checked(pipeline, validated.problems, validated.risk, challenge, validated, waiting)

    async def run(self, pipeline_data: object, input_data: str, notify: Callable[[StepReport], None] = lambda _: None) -> Run:
        """Validate a pipeline, have the person allow it where it must be, and run it."""
        checked = self.check(pipeline_data, input_data)
        if checked.pipeline is None or checked.validated is None or not checked.validated.ok:
            return self._record(Run(checked, problem="; ".join(map(str, checked.problems))), input_data)
        if refusal := await self._refusal(checked, input_data):
            return self._record(Run(checked, problem=refusal), input_data)
        async with self.catalogue.servers.in_use():
            try:
                connections = await self._connected(checked.validated.tools)
            except CarrelError as error:
                return self._record(Run(checked, problem=str(error)), input_data)
            result = await run_pipeline(checked.pipeline, input_data, checked.validated, self._runner(connections), notify=notify)
        return self._record(Run(checked, result, result.problem), input_data)

    def _require(self, right: Right) -> None:
        permissions.require(right, self.allow, self.audit)

    async def _refusal(self, checked: Checked, input_data: str) -> str:
        """Return why a pipeline may not run; empty where it may."""
        problem = ""
        try:
            self._require("tools" if checked.risk == "safe" else "run")
            if checked.waiting and not await self.approve(checked.waiting):
                problem = f"nobody approved {', '.join(item.tool.qualified for item in checked.waiting)}"
            elif checked.risk == "dangerous":
                if self.confirm is None:
                    problem = f"the pipeline is dangerous: {NOBODY_ASKED}"
                else:
                    with whole_question(of_pipeline(checked, input_data)) as question:
                        allowed = await self.confirm(question)
                    problem = "" if allowed else "the pipeline is dangerous, and it was not allowed"
        except (NotPermitted, ProviderError) as error:
            problem = str(error)
        if problem or not checked.needs_confirmation:
            return problem
        # What the person decided about must be what runs: tools may have changed while they were asked.
        same = self.check(to_builtins(checked.pipeline), input_data).challenge == checked.challenge
        return "" if same else "the tools changed while you were asked about them; validate it again"

    async def _connected(self, tools: Sequence[CatalogueTool]) -> dict[str, McpConnection]:
        """Start the servers of these tools. Raises `CarrelError` where one offers another tool than was approved."""
        connections: dict[str, McpConnection] = {}
        for name in dict.fromkeys(tool.source for tool in tools if tool.source in self.settings.servers):
            connection, rows = await self.catalogue.servers.open(name, self.settings.servers[name])
            now, _ = await asyncio.to_thread(from_mcp, rows, name)
            await self.catalogue.keep(name, self.settings, now)
            usable = {item.tool.qualified: item for item in self.state().tools if item.usable}
            for tool in tools:
                now_usable = usable.get(tool.qualified)
                if tool.source == name and (now_usable is None or now_usable.tool.fingerprint != tool.fingerprint):
                    raise CarrelError(
                        f"tool {tool.qualified} is not the one that you approved: its text or schema changed, or it is gone",
                        "Look at it with `carrel tools approve`.",
                    )
            connections[name] = connection
        return connections

    def _runner(self, connections: Mapping[str, McpConnection]) -> Any:
        async def run_tool(tool: CatalogueTool, arguments: Mapping[str, Any]) -> ToolOutput:
            if tool.source == BUILT_IN:
                result = await self._built_in[tool.name].run(arguments)
                return ToolOutput(result.text, None, result.is_error)
            return await connections[tool.source].call(tool.name, self._sent(self.settings.servers[tool.source].url, arguments))

        return run_tool

    # --- what was done

    def _sent(self, url: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return arguments as a tool gets them: at a URL without secrets. Record them where they leave the machine."""
        if not url:  # a program that runs as the person, and may read what they may
            return arguments
        arguments = mask_fields(arguments, self.mask)
        destination = Destination("mcp", urlsplit(url).netloc.lower())
        if self.audit is not None and not destination.local:
            self.audit.sent(destination, Load(texts=1, characters=len(canonical(arguments))))
        return arguments

    def _record(self, run: Run, input_data: str) -> Run:
        """Record a run: hashes, sizes and times, no text."""
        if self.audit is not None:
            hashed = self.audit.hashed
            steps = run.result.steps if run.result else ()
            self.audit.event(
                "pipeline",
                {
                    "pipeline": hashed(canonical(to_builtins(run.checked.pipeline))),
                    "challenge": run.checked.challenge,
                    "input": hashed(input_data),
                    "risk": run.checked.risk,
                    "ran": run.result is not None,
                    "failed": bool(run.problem),
                    "steps": [
                        {"tool": step.tool, "ms": step.milliseconds, "result": hashed(step.output), "failed": bool(step.error)}
                        for step in steps
                    ],
                },
            )
        return run


def of_pipeline(checked: Checked, input_data: str) -> Confirmation:
    """Return the question whether a dangerous pipeline may run: every call with its arguments, and what it starts from."""
    details = {"input": f"{len(input_data):,} characters: {input_data}" if input_data else "nothing"}
    width = len(str(len(checked.validated.tools) - 1)) if checked.validated else 1  # editors may sort by name
    assert checked.pipeline is not None and checked.validated is not None  # noqa: S101, PT018 - only a whole one is asked about
    for number, (step, tool) in enumerate(zip(checked.pipeline.steps, checked.validated.tools, strict=True)):
        arguments = canonical(step.args) if step.input is None else f"{canonical(step.args)}, input {step.input}"
        details[f"step {number:0{width}}"] = f"{tool.qualified} ({tool.risk}) with {arguments}"
    return Confirmation("pipeline", "These tools run one after the other, and some can't be undone", details, checked.challenge)
