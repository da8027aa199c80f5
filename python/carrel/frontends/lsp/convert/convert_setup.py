"""Encode models, sources, tools and pipelines for the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from carrel.frontends.common.wire import encode, iso_time
from carrel.frontends.lsp.messages import setup_messages as wire
from carrel.frontends.lsp.messages.index_messages import FailedFile
from carrel.frontends.lsp.messages.setup_messages import ProviderDestination, ProviderModel, ProviderStore
from carrel.model.outbound import Destination
from carrel.service.model_report import ModelState, StoreState
from carrel.sources.served_source import SourceReport

if TYPE_CHECKING:
    from carrel.extensions.tools.catalogue.search import FoundTool
    from carrel.extensions.tools.pipelines.running import StepReport
    from carrel.extensions.tools.tool_catalogue import StatedTool
    from carrel.extensions.tools.tool_service import Checked, Run


def from_tool(stated: StatedTool, match: FoundTool | None = None) -> wire.ToolResult:
    """Encode a tool, with its score where it was searched for."""
    tool = stated.tool
    return encode(
        wire.ToolResult,
        tool,
        name=tool.qualified,
        schema=dict(tool.schema),
        state=stated.state,
        before=stated.before and stated.before.description,
        score=match and match.score,
        why=match.why if match else (),
    )


def from_checked(checked: Checked) -> wire.PipelineChecked:
    """Encode what is known before a run."""
    return encode(wire.PipelineChecked, checked, ok=not checked.problems, problems=_problems(checked))


def from_run(run: Run) -> wire.PipelineRunResult:
    """Encode what became of a run."""
    checked, result = run.checked, run.result
    return encode(
        wire.PipelineRunResult,
        checked,
        ok=not run.problem,
        problems=_problems(checked),
        output=result.output if result else "",
        steps=tuple(map(from_step, result.steps)) if result else (),
        error=run.problem,
    )


def from_step(step: StepReport) -> wire.PipelineStep:
    """Encode a step that ended."""
    return encode(wire.PipelineStep, step, ms=step.milliseconds)


def _problems(checked: Checked) -> tuple[wire.PipelineProblem, ...]:
    return tuple(encode(wire.PipelineProblem, problem) for problem in checked.problems)


def from_state(state: ModelState, allows: Callable[[Destination], bool]) -> ProviderModel:
    """Encode a model's state."""
    places = _places(state.destinations, allows)
    return encode(ProviderModel, state, destinations=places, dollars=round(state.dollars, 6))


def from_store(state: StoreState, allows: Callable[[Destination], bool]) -> ProviderStore:
    """Encode the store that is set."""
    return encode(ProviderStore, state, destinations=_places(state.destinations, allows))


def _places(places: Iterable[Destination], allows: Callable[[Destination], bool]) -> tuple[ProviderDestination, ...]:
    return tuple(encode(ProviderDestination, place, allowed=allows(place)) for place in places)


def from_report(report: SourceReport) -> wire.SourceResult:
    """Encode the state of a source."""
    return encode(
        wire.SourceResult,
        report,
        last_indexed=None if report.updated is None else iso_time(report.updated),
        failed=tuple(FailedFile(path=path, reason=reason) for path, reason in report.failed),
    )
