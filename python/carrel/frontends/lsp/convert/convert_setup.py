"""Models as the server knows them, to what travels.

Tools and pipelines as the server knows them, to what travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import UNSET

from carrel.frontends.lsp.messages import setup_messages as wire
from carrel.frontends.lsp.messages.setup_messages import ProviderDestination, ProviderModel, ProviderStore
from carrel.model.outbound import Destination
from carrel.service.model_report import ModelState, StoreState

if TYPE_CHECKING:
    from carrel.extensions.tools.catalogue.search import FoundTool
    from carrel.extensions.tools.pipelines.running import StepReport
    from carrel.extensions.tools.tool_catalogue import StatedTool
    from carrel.extensions.tools.tool_service import Checked, Run


def from_tool(stated: StatedTool, found: FoundTool | None = None) -> wire.ToolResult:
    """Encode a tool, with its score where it was searched for."""
    tool = stated.tool
    return wire.ToolResult(
        name=tool.qualified,
        description=tool.description,
        tags=tool.tags,
        risk=tool.risk,
        schema=dict(tool.schema),
        examples=tool.examples,
        state=stated.state,
        before=stated.before.description if stated.before else UNSET,
        score=UNSET if found is None else found.score,
        why=found.why if found else (),
    )


def from_checked(checked: Checked) -> wire.PipelineChecked:
    """Encode what is known before a run."""
    return wire.PipelineChecked(
        ok=not checked.problems,
        risk=checked.risk,
        problems=_problems(checked),
        needs_confirmation=checked.needs_confirmation,
        challenge=checked.challenge or UNSET,
    )


def from_run(run: Run) -> wire.PipelineRunResult:
    """Encode what became of a run."""
    checked, result = run.checked, run.result
    return wire.PipelineRunResult(
        ok=not run.problem,
        risk=checked.risk,
        problems=_problems(checked),
        needs_confirmation=checked.needs_confirmation,
        challenge=checked.challenge or UNSET,
        output=result.output if result else "",
        steps=tuple(map(from_step, result.steps)) if result else (),
        error=run.problem or UNSET,
    )


def from_step(step: StepReport) -> wire.PipelineStep:
    """Encode a step that ended."""
    return wire.PipelineStep(
        step=step.step, tool=step.tool, ms=step.milliseconds, bytes=step.bytes, output=step.output, error=step.error or UNSET
    )


def _problems(checked: Checked) -> tuple[wire.PipelineProblem, ...]:
    return tuple(
        wire.PipelineProblem(step=UNSET if problem.step is None else problem.step, message=problem.message)
        for problem in checked.problems
    )


def from_state(state: ModelState, allows: Callable[[Destination], bool]) -> ProviderModel:
    """Encode a model's state."""
    return ProviderModel(
        role=state.role,
        provider=state.provider,
        model=state.model,
        destinations=_places(state.destinations, allows),
        has_key=state.has_key,
        requests=state.requests,
        tokens=state.tokens,
        dollars=round(state.dollars, 6),
        last_error=state.last_error or UNSET,
        answered_ms=UNSET if state.answered_ms is None else state.answered_ms,
        problem=state.problem or UNSET,
    )


def from_store(state: StoreState, allows: Callable[[Destination], bool]) -> ProviderStore:
    """Encode the store that is set."""
    return ProviderStore(
        kind=state.kind,
        place=state.place,
        destinations=_places(state.destinations, allows),
        has_key=state.has_key,
        problem=state.problem or UNSET,
    )


def _places(places: Iterable[Destination], allows: Callable[[Destination], bool]) -> tuple[ProviderDestination, ...]:
    return tuple(
        ProviderDestination(provider=place.provider, host=place.host, local=place.local, allowed=allows(place))
        for place in places
    )
