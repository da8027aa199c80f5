"""What travels about tools and pipelines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages.question_messages import FolderParams, ProgressToken

RiskName = Literal["safe", "moderate", "dangerous"]


class ToolsSearchParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/tools/search`: find the few tools that fit a request."""

    query: Annotated[str, Meta(min_length=1, max_length=4_000)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 5
    risk: Annotated[RiskName | None, Meta(description="The highest risk that they may have.")] = None
    tags: Annotated[tuple[str, ...], Meta(description="Tags that each must have.")] = ()


class ToolResult(Wire, kw_only=True, frozen=True):
    """A tool of the catalogue."""

    name: Annotated[str, Meta(description="With its source before it: `git.git_log`.")]
    description: str
    tags: tuple[str, ...] = ()
    risk: RiskName
    schema: Annotated[dict[str, Any], Meta(description="The JSON schema of its arguments.")]
    examples: tuple[str, ...] = ()
    state: Annotated[
        Literal["builtIn", "approved", "new", "changed"],
        Meta(description="Only `builtIn` and `approved` ones are shown to models and used by pipelines."),
    ]
    before: Annotated[str | UnsetType, Meta(description="The description that was approved, of a changed one.")] = UNSET
    score: Annotated[float | UnsetType, Meta(description="Comparable within one answer.")] = UNSET
    why: Annotated[tuple[str, ...], Meta(description="The request's words that it holds.")] = ()


class ToolsSearchResult(Wire, kw_only=True, frozen=True):
    """The tools that fit, best first."""

    tools: tuple[ToolResult, ...]
    elapsed_ms: float


class ToolsListParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/tools/list`: all tools; sources are read again, and the person is asked, only where that is wanted."""

    refresh: Annotated[bool, Meta(description="Start and ask each server that is set, read each file.")] = False
    approve: Annotated[bool, Meta(description="Have the person look at what is new or changed, by `carrel/confirm`.")] = False
    export: Annotated[
        Literal["openai", "anthropic", "mcp"] | None, Meta(description="Also give usable tools as schemas of this form.")
    ] = None


class ToolsListResult(Wire, kw_only=True, frozen=True):
    """All tools, and what a person may want to mend."""

    tools: tuple[ToolResult, ...]
    problems: Annotated[tuple[str, ...], Meta(description="Unread sources, duplicates, clashes of names, what waits.")]
    exported: list[dict[str, Any]] | UnsetType = UNSET


class PipelineParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/pipeline/validate`: check a pipeline whole. Nothing is run, started or asked."""

    pipeline: Annotated[dict[str, Any] | str, Meta(description="The pipeline, or its JSON.")]
    input_data: str = ""


class PipelineRunParams(PipelineParams, kw_only=True, frozen=True):
    """`carrel/pipeline/run`: run it, after `carrel/confirm` where it is dangerous or a tool is new or changed."""

    partial_result_token: Annotated[ProgressToken | None, Meta(description="Each step is reported under it when it ends.")] = None


class PipelineProblem(Wire, kw_only=True, frozen=True):
    """What is wrong with a pipeline; without `step`, with the whole."""

    step: int | UnsetType = UNSET
    message: str


class PipelineStep(Wire, kw_only=True, frozen=True):
    """A step that ended; also the partial result."""

    step: int
    tool: str
    ms: float
    bytes: int
    output: str
    error: str | UnsetType = UNSET


class PipelineChecked(Wire, kw_only=True, frozen=True):
    """What is known before a run. `challenge` names plan, input and tools: the `hash` that `carrel/confirm` would have."""

    ok: bool
    risk: RiskName
    problems: tuple[PipelineProblem, ...]
    needs_confirmation: bool
    challenge: str | UnsetType = UNSET


class PipelineRunResult(PipelineChecked, kw_only=True, frozen=True):
    """What a run gave. `ok` is false where it wasn't begun or a step failed; `error` says why; outputs until then are kept."""

    output: str = ""
    steps: tuple[PipelineStep, ...] = ()
    error: str | UnsetType = UNSET
