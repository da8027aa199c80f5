"""What travels in `carrel/*` requests: what they share, and questions. `methods` says which method takes and gives what.

`docs/protocol-reference.md`, `editors/protocol.schema.json` and the editors' own types are generated from these structs
(`python -m carrel.frontends.lsp.protocol_docs`). Field names are camelCase on the wire. Unknown fields are ignored, null
counts as missing, a wrong type is an `InvalidInput` that names the field.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from carrel.frontends.common.wire import Boost, Contribution, DroppedResult, LastChangeResult, RouteResult, State, Wire
from carrel.model import bounds
from carrel.settings.settings import Planning

ASSESS = (
    "Have the chat model say after each search whether the hits are enough; it may search for other words or for more, within 3 "
    "attempts."
)


class AttemptResult(Wire, kw_only=True, frozen=True):
    """A search, and what a chat model said of it."""

    query: str
    hits: Annotated[int, Meta(description="How many were found.")]
    is_relevant: bool
    is_sufficient: bool
    action: Annotated[
        Literal["answer", "refine_query", "search_more"],
        Meta(description='What comes next: "refine_query" searches for `refinedQuery`, "search_more" for twice as many hits.'),
    ]
    refined_query: str | UnsetType = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why the hits weren't assessed.")] = UNSET


SENT = "What went to which service for this, this machine's included; unset where nothing did. A client's own model isn't in it."


class SentResult(Wire, kw_only=True, frozen=True):
    """What a remote service was sent for one request."""

    provider: str
    host: Annotated[str, Meta(description="With the port where it isn't the usual one.")]
    what: Annotated[
        Literal["embedder", "reranker", "chat", "planner", "store", "tool"],
        Meta(description='What it was asked as; a planner is asked as "chat".'),
    ]
    requests: int
    texts: Annotated[int, Meta(description="Texts, or messages of a conversation.")]
    bytes: Annotated[int, Meta(description="Of the requests, without headers.")]
    tokens: Annotated[int, Meta(description="As the service counted them, or an estimate; answers of chat models too.")]
    cost: Annotated[float, Meta(description="US dollars by the model's prices; 0 where none are known.")]


ProgressToken = int | str

_HISTORY = (
    "Earlier turns, oldest first. They count where the query speaks of something that it doesn't name. Where it has a subject of "
    "its own, the topic has changed and they don't. A planner reads them too."
)
_FOLDERS = (
    "URIs or paths of the workspace folders to ask, in place of `workspaceFolder`; all open ones by default. Of several, hits "
    "stand in one order, their paths begin with the folder's name, and one budget holds for all."
)
_MISSING = "Folders that were not searched, and why; the others answer."
_SOURCES = "Ids of sources to search, as `carrel/sources` has them, `workspace` among them. Without it the question decides."
_ROUTES = "Where the question went, where there are sources beside the workspace."
_NOT_SEARCHED = "Ids of the sources that weren't searched, since nothing in the question spoke for them."
_PLAN = "Whether a chat model helps to search; the setting `planner` by default."
_RERANK = "Whether a reranker that is configured judges the candidates; the setting `rerank` by default."
_REWRITTEN = (
    "What was searched for beside the question: what a chat model made of it, or itself with its subject's name or with "
    "mistyped names put right."
)
_CONFIDENCE = (
    "How sure it is that there is anything relevant at all, from 0 to 1; calibrated (docs/quality.md). Under 0.12 a context "
    "that nobody asked for holds pinned files alone; under 0.3 an answer says that it isn't sure. Unset where nothing was "
    "searched."
)
_SUB_QUERIES = "What a planner divided the question into, where these were searched for."


class Position(Wire, kw_only=True, frozen=True):
    """LSP's position: 0-based, characters in the negotiated encoding."""

    line: bounds.EditorLine
    character: bounds.Character


class Range(Wire, kw_only=True, frozen=True):
    """LSP's range: the end is exclusive."""

    start: Position
    end: Position


class ErrorData(Wire, kw_only=True, frozen=True):
    """The `data` of an error that Carrel answers a request with; `message` says the same in a sentence."""

    kind: Annotated[
        str,
        Meta(
            description="`InvalidInput`, `NotReady`, `SettingsError`, `StoreError`, `NewerFormat`, `NotWriter`, `ProviderError`, "
            "or `CarrelError` for anything else that can't be done."
        ),
    ]
    reason: Annotated[str, Meta(description="What happened, and why.")]
    remedy: Annotated[str, Meta(description="The command, setting or act that mends it; empty where none is known.")] = ""
    retryable: Annotated[bool, Meta(description="Whether the same request may succeed later, though nobody mends anything.")] = (
        False
    )
    field: Annotated[str | UnsetType, Meta(description="The parameter that can't be used, for `InvalidInput`.")] = UNSET
    value: Annotated[str | UnsetType, Meta(description="Which of its values the reason speaks of, where it has several.")] = UNSET


class ActiveEditor(Wire, kw_only=True, frozen=True):
    """The editor that the person is looking at."""

    uri: Annotated[str, Meta(description="The file's URI.")]
    selection: Annotated[
        Range | None,
        Meta(description='What is selected in it: given as `attached` is, and what "this function" means in a question.'),
    ] = None


class BudgetParam(Wire, kw_only=True, frozen=True):
    """How long a context may get, tags and separators included: give one of the two."""

    tokens: Annotated[bounds.Amount | None, Meta(description="At most so many tokens of the model's tokenizer.")] = None
    chars: Annotated[bounds.Amount | None, Meta(description="At most so many characters.")] = None


class FiltersParam(Wire, kw_only=True, frozen=True):
    """Which chunks may answer. Everything given must hold."""

    sources: Annotated[tuple[Literal["code", "docs"], ...], Meta(description="Only these sources.")] = ()
    path_glob: Annotated[str | tuple[str, ...], Meta(description="Only paths that match one of these globs.")] = ()
    languages: Annotated[tuple[str, ...], Meta(description="Only these languages, by the names in `carrel/status`.")] = ()
    symbol: Annotated[
        str | None, Meta(description="Only chunks that are or define this: `Class.method`, or a name alone; in any case.")
    ] = None
    min_score: Annotated[Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="Leave out hits below this score.")] = None
    max_age_days: Annotated[
        bounds.Days | None, Meta(description="Only files whose content changed since, by their time stamps.")
    ] = None
    metadata: Annotated[
        dict[str, str | tuple[str, ...]],
        Meta(
            description="What must be recorded of a chunk, exactly: `container`, `kind`, `language`, `path`, `source`, `symbol`; "
            "one value, or several of which one must be equal."
        ),
    ] = field(default_factory=dict)


class LinesParam(Wire, kw_only=True, frozen=True):
    """Lines of one file."""

    uri: str
    start_line: Annotated[bounds.Line, Meta(description="1-based.")]
    end_line: Annotated[bounds.Line, Meta(description="1-based, inclusive.")]


class Place(Wire, kw_only=True, frozen=True):
    """Lines of a file, as they are told."""

    uri: str
    path: Annotated[str, Meta(description="Relative to the folder.")]
    start_line: Annotated[int, Meta(description="1-based, inclusive.")]
    end_line: Annotated[int, Meta(description="1-based, inclusive.")]


class HistoryTurn(Wire, kw_only=True, frozen=True):
    """One earlier turn of the chat."""

    role: str
    content: str


class FolderParams(Wire, kw_only=True, frozen=True):
    """A request about one workspace folder."""

    workspace_folder: Annotated[str | None, Meta(description="URI or path of the folder; the only or first one by default.")] = (
        None
    )


class FoldersParams(FolderParams, kw_only=True, frozen=True):
    """A request about one workspace folder, or several as one."""

    folders: Annotated[tuple[str, ...], Meta(description=_FOLDERS)] = ()


class SearchParams(FoldersParams, kw_only=True, frozen=True):
    """`carrel/search`: the chunks that answer a query, best first."""

    query: Annotated[str, Meta(description="Words, a question, or an identifier.")]
    history: Annotated[tuple[HistoryTurn, ...], Meta(description=_HISTORY)] = ()
    active: Annotated[ActiveEditor | None, Meta(description="The editor in front.")] = None
    plan: Annotated[Planning | None, Meta(description=_PLAN)] = None
    rerank: Annotated[bool | None, Meta(description=_RERANK)] = None
    sources: Annotated[tuple[str, ...], Meta(description=_SOURCES)] = ()
    last_change: Annotated[
        bool, Meta(description="Say of the first 10 hits which commit changed them last, where they stand as they are committed.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="How many hits at most.")] = 10
    filters: Annotated[FiltersParam, Meta(description="Which chunks may answer.")] = field(default_factory=FiltersParam)
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long to wait for a first index.")] = 10_000
    assess: Annotated[bool, Meta(description=ASSESS)] = False
    model_token: Annotated[ProgressToken | None, Meta(description="Under it the client lends its chat model, for `assess`.")] = (
        None
    )
    format: Annotated[
        Literal["full", "places"],
        Meta(description='"places" gives `text`, a line for each hit with path, lines and symbol, and hits without their text.'),
    ] = "full"


class ContextParams(FoldersParams, kw_only=True, frozen=True):
    """`carrel/context`: the pages for one chat turn, packed within a budget. Never fails a chat."""

    query: Annotated[str, Meta(description="The user's words.")]
    history: Annotated[tuple[HistoryTurn, ...], Meta(description=_HISTORY)] = ()
    plan: Annotated[Planning | None, Meta(description=_PLAN)] = None
    rerank: Annotated[bool | None, Meta(description=_RERANK)] = None
    sources: Annotated[tuple[str, ...], Meta(description=_SOURCES)] = ()
    top_k: Annotated[
        Annotated[int, Meta(ge=1, le=20)] | None, Meta(description="How many hits at most; `ragTopK` by default.")
    ] = None
    budget: Annotated[
        BudgetParam | None, Meta(description="How long the text may get; by `window` and the setting `budget` by default.")
    ] = None
    window: Annotated[
        bounds.Amount | None,
        Meta(description="How many tokens the chat model takes; by the name in `model`, where that is known, by default."),
    ] = None
    model: Annotated[str | None, Meta(description="The chat model, which decides how tokens are counted.")] = None
    model_token: Annotated[
        ProgressToken | None,
        Meta(description="Under it the client lends its chat model by `carrel/complete`, to help an unsure search."),
    ] = None
    active: Annotated[ActiveEditor | None, Meta(description="The editor in front.")] = None
    open_uris: Annotated[tuple[str, ...], Meta(description="Files that are open.")] = ()
    pinned: Annotated[tuple[str, ...], Meta(description="URIs of files that the person attached.")] = ()
    attached: Annotated[
        tuple[LinesParam, ...],
        Meta(description="Lines that the person selected or attached: always given, once, before what is found."),
    ] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="Globs of paths to leave out, pinned ones too.")] = ()
    exclude_lines: Annotated[
        tuple[LinesParam, ...], Meta(description="Places to leave out: no chunk that holds one of these lines is given.")
    ] = ()
    filters: Annotated[FiltersParam, Meta(description="Which chunks may answer.")] = field(default_factory=FiltersParam)
    trigger: Annotated[
        Literal["chat", "explicit"],
        Meta(description='"chat" answers at once, and is empty while `ragEnabled` is off; "explicit" may await a first index.'),
    ] = "chat"
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long an explicit request waits for a first index.")] = 10_000
    deadline_ms: Annotated[
        bounds.Milliseconds | None, Meta(description="Answer within this time, with an empty pack if need be.")
    ] = None
    format: Annotated[
        Literal["xml", "source", "tool", "places"],
        Meta(description='The form of the text; "places" is a line for each hit: path, lines and symbol, without code.'),
    ] = "xml"


class AugmentParams(ContextParams, kw_only=True, frozen=True):
    """`carrel/augment`: as `carrel/context`, with the text to put the context in front of."""

    text: Annotated[str, Meta(description="The user's text as it stands.")]
    query: Annotated[str, Meta(description="What to look for; the text without a leading command by default.")] = ""


class ExplainParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/explain`: why a pack holds what it holds, or why one line was or wasn't found."""

    pack_id: Annotated[str | None, Meta(description="A recent pack's `id`; or give `query`, `path` and `line`.")] = None
    query: Annotated[str | None, Meta(description="What was searched for.")] = None
    path: Annotated[str | None, Meta(description="Path relative to the folder, or a URI.")] = None
    line: Annotated[bounds.Line | None, Meta(description="A 1-based line of it.")] = None


class FilesParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/files`: the files that answer a query best, by the summed scores of their chunks."""

    query: Annotated[str, Meta(description="Words, a question, or an identifier.")]
    limit: Annotated[int, Meta(ge=1, le=200, description="How many files at most.")] = 5
    pool_size: Annotated[int, Meta(ge=1, le=2_000, description="How many chunks are looked at.")] = 200
    filters: Annotated[FiltersParam, Meta(description="Which chunks may answer.")] = field(default_factory=FiltersParam)
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long to wait for a first index.")] = 10_000


class SignalsResult(Wire, kw_only=True, frozen=True):
    """How each stage saw a hit."""

    dense: Annotated[float | UnsetType, Meta(description="Cosine.")] = UNSET
    dense_rank: int | UnsetType = UNSET
    lexical: Annotated[float | UnsetType, Meta(description="BM25F.")] = UNSET
    lexical_rank: int | UnsetType = UNSET
    fused: float
    rerank: Annotated[float | UnsetType, Meta(description="The reranker's score, from 0 to 1.")] = UNSET
    matched: tuple[str, ...]
    boosts: tuple[Boost, ...]
    contributions: Annotated[
        tuple[Contribution, ...],
        Meta(description="What each rule added to the hit's score or took from it, in hundredths: they add up to it."),
    ] = ()


class HitResult(Wire, kw_only=True, frozen=True):
    """A chunk that answers a query, as it stands in the buffer or on disk at this moment."""

    id: str
    uri: str
    path: Annotated[
        str, Meta(description="Relative to the folder. In an answer of several folders it begins with the folder's name.")
    ]
    folder: Annotated[str | UnsetType, Meta(description="URI of its folder, in an answer of several.")] = UNSET
    start_line: Annotated[int, Meta(description="1-based, inclusive.")]
    end_line: Annotated[int, Meta(description="1-based, inclusive.")]
    range: Range
    symbol: str | UnsetType = UNSET
    kind: str
    language: str
    score: Annotated[float, Meta(description="0 to 1, comparable across queries.")]
    signals: SignalsResult
    text: str
    definitions: tuple[str, ...]
    imports: tuple[str, ...]
    container: str | UnsetType = UNSET
    content_hash: str
    updated_at: Annotated[str, Meta(description="ISO 8601, UTC.")]
    source: Literal["code", "docs"]
    source_id: Annotated[
        str | UnsetType,
        Meta(
            description="Which source it is from, where that isn't the workspace; `path` is `@ID/…` then, of a published "
            "repository `REPO@COMMIT PATH`."
        ),
    ] = UNSET
    not_local: Annotated[
        bool,
        Meta(description="It lies in a repository that isn't on this machine: `text` was published, and `uri` can't be opened."),
    ] = False
    note: Annotated[
        str | UnsetType, Meta(description="What must be known of the document: its version and date, that it is outdated.")
    ] = UNSET
    version: Annotated[str | UnsetType, Meta(description="Of the document, where it names one.")] = UNSET
    masked: Annotated[int, Meta(description="How many secrets in its text were masked: each stands as `[secret: KIND]`.")]
    last_change: Annotated[LastChangeResult | UnsetType, Meta(description="Where it was asked for and is known.")] = UNSET
    attached: Annotated[bool, Meta(description="The person selected or attached these lines: they were not found.")] = False


class MissingFolderResult(Wire, kw_only=True, frozen=True):
    """A workspace folder that was not searched."""

    folder: Annotated[str, Meta(description="Its URI.")]
    name: str
    reason: str


class SearchResult(Wire, kw_only=True, frozen=True):
    """Hits, best first."""

    hits: tuple[HitResult, ...]
    text: Annotated[str | UnsetType, Meta(description='The places, a line each, where `format` is "places".')] = UNSET
    elapsed_ms: float
    state: State
    pending: int
    plan: Annotated[dict[str, Any], Meta(description="What was done to answer.")]
    rewritten: Annotated[str | UnsetType, Meta(description=_REWRITTEN)] = UNSET
    sub_queries: Annotated[tuple[str, ...] | UnsetType, Meta(description=_SUB_QUERIES)] = UNSET
    routes: Annotated[tuple[RouteResult, ...] | UnsetType, Meta(description=_ROUTES)] = UNSET
    not_searched: Annotated[tuple[str, ...] | UnsetType, Meta(description=_NOT_SEARCHED)] = UNSET
    missing_folders: Annotated[tuple[MissingFolderResult, ...] | UnsetType, Meta(description=_MISSING)] = UNSET
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET
    confidence: Annotated[float | UnsetType, Meta(description=_CONFIDENCE)] = UNSET
    attempts: Annotated[
        tuple[AttemptResult, ...] | UnsetType, Meta(description="With `assess`: each search, and what the model said of it.")
    ] = UNSET


class ContextResult(Wire, kw_only=True, frozen=True):
    """A `ContextPack`: the text for the chat and where each part of it is from."""

    id: str
    text: str
    format: Literal["xml", "source", "tool", "places"]
    tokens: int
    budget_tokens: Annotated[int | UnsetType, Meta(description="Unset when the budget is in characters.")] = UNSET
    budget_chars: Annotated[int | UnsetType, Meta(description="Unset when the budget is in tokens.")] = UNSET
    tokenizer: str
    hits: tuple[HitResult, ...]
    dropped: tuple[DroppedResult, ...]
    query: str
    rewritten: Annotated[str | UnsetType, Meta(description=_REWRITTEN)] = UNSET
    sub_queries: Annotated[tuple[str, ...] | UnsetType, Meta(description=_SUB_QUERIES)] = UNSET
    routes: Annotated[tuple[RouteResult, ...] | UnsetType, Meta(description=_ROUTES)] = UNSET
    not_searched: Annotated[tuple[str, ...] | UnsetType, Meta(description=_NOT_SEARCHED)] = UNSET
    confidence: Annotated[float | UnsetType, Meta(description=_CONFIDENCE)] = UNSET
    state: State
    pending: int
    error: str | UnsetType = UNSET
    elapsed_ms: float
    stages: Annotated[dict[str, float], Meta(description="Milliseconds by stage.")]
    missing_folders: Annotated[tuple[MissingFolderResult, ...] | UnsetType, Meta(description=_MISSING)] = UNSET
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET


class AugmentResult(Wire, kw_only=True, frozen=True):
    """The user's text with the context in front, or as it was."""

    text: str
    original: str
    pack: ContextResult


class FileResult(Wire, kw_only=True, frozen=True):
    """A file and the sum of its chunks' scores."""

    uri: str
    path: str
    score: float


class FilesResult(Wire, kw_only=True, frozen=True):
    """Files, best first."""

    files: tuple[FileResult, ...]
    elapsed_ms: float
