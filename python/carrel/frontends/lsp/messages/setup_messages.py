"""Hold what travels about what a person sets up: models and their keys, sources beside the workspace, tools and pipelines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import State, Wire
from carrel.frontends.lsp.messages.index_messages import FailedFile
from carrel.frontends.lsp.messages.question_messages import FolderParams, ProgressToken


class SourcesParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources`: what a question in this folder can be answered from. Makes no index."""


class SourceResult(Wire, kw_only=True, frozen=True):
    """One source."""

    id: Annotated[str, Meta(description="The name that `sources` of other requests takes.")]
    kind: Annotated[str, Meta(description="`code` for the workspace, `documents`, `git` or `mcp`.")]
    description: Annotated[str, Meta(description="What whoever chooses between sources sees.")]
    folder: str
    state: State
    files: int
    chunks: int
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    last_indexed: Annotated[str | UnsetType, Meta(description="When it was last compared with its folder. ISO 8601, UTC.")] = (
        UNSET
    )
    problems: Annotated[tuple[str, ...], Meta(description="What a person may want to mend, in words.")] = ()
    failed: Annotated[tuple[FailedFile, ...], Meta(description="What could not be read, and why.")] = ()


class SourcesResult(Wire, kw_only=True, frozen=True):
    """The workspace first, then the others in the order of the settings."""

    sources: tuple[SourceResult, ...]


class SourcesAddParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources/add`: add a source to the person's own settings file, or change one. The person is asked first."""

    id: Annotated[str, Meta(min_length=1, max_length=300, description="What it is called: small letters, digits, `-` and `_`.")]
    place: Annotated[
        str,
        Meta(
            max_length=4_000,
            description="A folder (absolute, or with `~`), `mcp://SERVER` with the beginning of the resources' URIs behind it, "
            "or `qdrant://HOST:PORT/NAME`. With `git` empty for the workspace's own history.",
        ),
    ] = ""
    git: Annotated[bool, Meta(description="The history of a repository, in place of documents.")] = False
    description: Annotated[str, Meta(max_length=300, description="One line on what it holds, for whoever chooses.")] = ""
    outdated_after_days: Annotated[int, Meta(ge=0, le=36_500, description="Mark documents that are older as outdated.")] = 0
    key: Annotated[str, Meta(max_length=200, description="Where a server's key is: `env:NAME`, `keyring` or `none`.")] = ""


class SourcesRemoveParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources/remove`: take a source out of the settings file, with what is kept of it. The person is asked first."""

    id: Annotated[str, Meta(min_length=1, max_length=300)]


class SourceChanged(Wire, kw_only=True, frozen=True):
    """What became of it."""

    id: str
    changed: Annotated[bool, Meta(description="False where the person said no, or nobody could ask them.")]
    file: Annotated[str | UnsetType, Meta(description="The settings file that was written.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why nothing was changed, and how else to do it.")] = UNSET


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


class ProvidersParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/providers`: which models are set, and where their text goes."""

    check: Annotated[
        bool,
        Meta(
            description="Ask each model for as little as it can answer, and the person for a permission that is missing. It may "
            "cost a fraction of a cent."
        ),
    ] = False


class ProviderDestination(Wire, kw_only=True, frozen=True):
    """Where text may be sent."""

    provider: str
    host: str
    local: Annotated[bool, Meta(description="Whether it is this machine.")]
    allowed: Annotated[bool, Meta(description="Whether a person allowed it; this machine needs no permission.")]


class ProviderModel(Wire, kw_only=True, frozen=True):
    """A model that is set."""

    role: Annotated[str, Meta(description="`embedder`, `reranker`, `chat` or `planner`.")]
    provider: str
    model: str
    destinations: Annotated[tuple[ProviderDestination, ...], Meta(description="None for a model inside the server.")]
    has_key: Annotated[bool, Meta(description="Whether a key was found. The key itself is never told.")]
    requests: Annotated[int, Meta(description="Ever sent to these destinations.")]
    tokens: int
    dollars: Annotated[float, Meta(description="What they cost, by the prices in the settings.")]
    last_error: Annotated[str | UnsetType, Meta(description="Of the last request, if it failed.")] = UNSET
    answered_ms: Annotated[float | UnsetType, Meta(description="With `check`: how long it took to answer.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why it can't be used.")] = UNSET


class ProviderStore(Wire, kw_only=True, frozen=True):
    """The store of vectors that is set."""

    kind: Annotated[str, Meta(description="`segments`, `lancedb` or `qdrant`.")]
    place: Annotated[str, Meta(description="A folder, a URL, or the managed server; empty for the index itself.")]
    destinations: Annotated[tuple[ProviderDestination, ...], Meta(description="None for a store inside the server.")]
    has_key: bool
    problem: Annotated[str | UnsetType, Meta(description="Why it can't be used.")] = UNSET


class ProvidersResult(Wire, kw_only=True, frozen=True):
    """The models and the store that are set, and which providers there are for each role."""

    models: tuple[ProviderModel, ...]
    store: ProviderStore
    known: Annotated[dict[str, tuple[str, ...]], Meta(description="By role, the providers that can be set.")]
    keys: Annotated[
        tuple[str, ...], Meta(description="What a key can be kept for: providers, the store, the team, tools' servers.")
    ]


class KeyParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/key`: hand over a key from the editor's secret storage, for as long as the server runs."""

    provider: Annotated[str, Meta(min_length=1, max_length=60)]
    key: Annotated[str | None, Meta(description="The key; missing to forget it.")] = None


class KeyResult(Wire, kw_only=True, frozen=True):
    """Whether there is a key of the editor's now."""

    kept: bool


class ConfirmParams(Wire, kw_only=True, frozen=True):
    """`carrel/confirm`: have the person decide. The client shows all of it and never answers by itself."""

    what: Annotated[
        str,
        Meta(
            description="`provider` (text goes to a remote model), `paidIndex`, `tools` (new, changed), a dangerous `pipeline` "
            "or a `source` (added, changed, removed)."
        ),
    ]
    risk: Annotated[str, Meta(description="What happens if they agree, in a sentence.")]
    details: Annotated[dict[str, str], Meta(description="All that is decided, by name.")]
    hash: Annotated[str, Meta(description="Names exactly this decision.")]


class ConfirmResult(Wire, kw_only=True, frozen=True):
    """What the person said."""

    allowed: bool = False
