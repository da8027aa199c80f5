"""Hold what travels in `carrel/chat`, `carrel/review`, `carrel/compare` and `carrel/complete`.

By the last the server asks the client's chat model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from carrel.frontends.common.wire import State, Wire
from carrel.frontends.lsp.messages.question_messages import (
    ASSESS,
    SENT,
    AttemptResult,
    BudgetParam,
    ContextParams,
    ContextResult,
    FolderParams,
    Place,
    ProgressToken,
    SentResult,
)
from carrel.model.bounds import Amount

ModelToken = Annotated[
    ProgressToken | None, Meta(description="Comes back in every `carrel/complete`, to tell which model is asked.")
]
ModelTokens = Annotated[
    Amount | None, Meta(description="How many tokens the model takes, at least 4,000; no request has more than 32,000 anyway.")
]


class ReviewParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/review`: what an issue takes, by a chat model of the client's that searches the code step by step."""

    title: Annotated[str, Meta(description="The issue in a line.")]
    body: Annotated[str, Meta(description="The rest of it.")] = ""
    exclude: Annotated[tuple[str, ...], Meta(description="Globs of paths that no search finds.")] = ()
    model: Annotated[str | None, Meta(description="The chat model, which decides how tokens are counted.")] = None
    model_token: ModelToken = None
    max_tokens: ModelTokens = None
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long to wait for a first index.")] = 10_000
    partial_result_token: Annotated[
        ProgressToken | None, Meta(description="Where each `ReviewStep` is reported, by `$/progress`.")
    ] = None


class ReviewPlace(Place, kw_only=True, frozen=True):
    """A chunk that the model was given."""

    symbol: str | UnsetType = UNSET
    score: Annotated[float, Meta(description="0 to 1, comparable across queries.")]


class ReviewStep(Wire, kw_only=True, frozen=True):
    """What happens in a review, as it happens."""

    kind: Annotated[
        Literal["searchStarted", "searchFinished", "text", "askedAgain"],
        Meta(description='"askedAgain": the answer can\'t be used, and the model is told why.'),
    ]
    query: Annotated[str | UnsetType, Meta(description="Of a search.")] = UNSET
    places: Annotated[tuple[ReviewPlace, ...] | UnsetType, Meta(description="What a search found and the model gets next.")] = (
        UNSET
    )
    text: Annotated[str | UnsetType, Meta(description="What the model says.")] = UNSET
    answer: Annotated[bool | UnsetType, Meta(description="Whether the text is meant as the answer, unchecked.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why the model is asked again.")] = UNSET


class ReviewAnswer(Wire, kw_only=True, frozen=True):
    """The model's answer, checked."""

    summary: Annotated[str, Meta(description="One sentence.")]
    difficulty_score: Annotated[int, Meta(ge=1, le=5)]
    recommended_level: Literal["Junior", "Mid", "Senior", "Senior+"]
    concepts_required: tuple[str, ...]
    mentoring_advice: str
    chunks_used: Annotated[int, Meta(description="Distinct chunks that the model was given, counted by the server.")]


class ReviewResult(Wire, kw_only=True, frozen=True):
    """A review, or what the model said instead of one."""

    review: Annotated[ReviewAnswer | UnsetType, Meta(description="Unset when the answer can't be used.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why it can't be used, in words.")] = UNSET
    raw_text: Annotated[str | UnsetType, Meta(description="What the model said then.")] = UNSET
    places: Annotated[tuple[ReviewPlace, ...], Meta(description="The chunks that the model was given, each once.")]
    searches: Annotated[int, Meta(description="How many it asked for.")]
    largest_request: Annotated[int, Meta(description="Tokens of the longest request to the model.")]
    tokenizer: str
    state: State
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    elapsed_ms: float
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET


class ToolCall(Wire, kw_only=True, frozen=True):
    """A tool that the model wants run."""

    id: Annotated[str, Meta(description="What the tool's answer names it by.")]
    name: str
    arguments: Annotated[dict[str, Any], Meta(description="As the model gave them; the server checks them.")] = field(
        default_factory=dict
    )


class ToolSpec(Wire, kw_only=True, frozen=True):
    """A tool that the model is offered."""

    name: str
    description: str
    input_schema: Annotated[dict[str, Any], Meta(description="JSON schema of the arguments.")]


class ModelMessage(Wire, kw_only=True, frozen=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: Annotated[tuple[ToolCall, ...], Meta(description="Of an assistant's message.")] = ()
    tool_call_id: Annotated[str | UnsetType, Meta(description="Of a tool's message: the call that it answers.")] = UNSET


class CompleteParams(Wire, kw_only=True, frozen=True):
    """`carrel/complete`: have the client's chat model go on with this conversation."""

    model_token: Annotated[ProgressToken | UnsetType, Meta(description="As in the request that this serves.")] = UNSET
    messages: tuple[ModelMessage, ...]
    tools: Annotated[tuple[ToolSpec, ...], Meta(description="What the model may call; the server runs the calls.")]


class CompleteResult(Wire, kw_only=True, frozen=True):
    """What the model said."""

    text: str = ""
    tool_calls: Annotated[tuple[ToolCall, ...], Meta(description="Tools that it wants run.")] = ()


Limit = Literal["steps", "calls", "tokens", "cost", "time", "answer"]


class ChatMessage(Wire, kw_only=True, frozen=True):
    """One message of a conversation with a person."""

    role: Literal["user", "assistant"]
    content: str


class ChatParams(ContextParams, kw_only=True, frozen=True):
    """`carrel/chat`: a chat model's answer to a question about the code, from context and tools, with checked citations."""

    messages: Annotated[
        tuple[ChatMessage, ...],
        Meta(description="The conversation, oldest first; it ends with the question. What doesn't fit is left out."),
    ]
    query: Annotated[str, Meta(description="What to search for first; the question without a leading command by default.")] = ""
    exclude: Annotated[
        tuple[str, ...], Meta(description="Globs of paths to leave out, of the context and of what tools show.")
    ] = ()
    trigger: Annotated[
        Literal["chat", "explicit"], Meta(description='"explicit" may await a first index; tools make one anyway.')
    ] = "explicit"
    model: Annotated[
        str | None,
        Meta(
            description="Where the client lends its own model: what decides how tokens are counted. Else which model of the "
            "provider that is set; the one that is set by default."
        ),
    ] = None
    model_token: ModelToken = None
    max_tokens: ModelTokens = None
    assess: Annotated[bool, Meta(description=ASSESS)] = False
    partial_result_token: Annotated[
        ProgressToken | None, Meta(description="Where each `ChatStep` is reported, by `$/progress`.")
    ] = None


class ChatPlace(Place, kw_only=True, frozen=True):
    """Lines of a file that a tool showed the model."""


class ChatStep(Wire, kw_only=True, frozen=True):
    """What happens while a question is answered, as it happens."""

    kind: Annotated[
        Literal["assessed", "asked", "text", "toolStarted", "toolFinished", "toolRefused", "repaired", "limit", "askedAgain"],
        Meta(
            description='"assessed": the model said whether the context is enough. "asked": it is asked to answer. "text": a '
            'piece of what it says; what came before a tool or "askedAgain" is no part of the answer. "toolRefused": a call '
            'that can\'t be run. "repaired": what was mended of what was said. '
            '"limit": it is asked to answer with what it has, or its answer was cut. "askedAgain": the answer can\'t be used, '
            "and the model is told why."
        ),
    ]
    text: Annotated[
        str | UnsetType, Meta(description="What the model says, what was mended, or the beginning of what a tool said.")
    ] = UNSET
    tool: Annotated[str | UnsetType, Meta(description="The tool's name.")] = UNSET
    arguments: Annotated[dict[str, Any] | UnsetType, Meta(description="Of a call, as the tool gets them.")] = UNSET
    places: Annotated[tuple[ChatPlace, ...] | UnsetType, Meta(description="What of the workspace a tool showed.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why a call, or an answer, can't be used.")] = UNSET
    repeated: Annotated[bool | UnsetType, Meta(description="Whether a call was answered from the same one before.")] = UNSET
    limit: Annotated[Limit | UnsetType, Meta(description="What there was enough of.")] = UNSET
    step: Annotated[int | UnsetType, Meta(description="Which request to the model it is, from 1.")] = UNSET
    tokens: Annotated[int | UnsetType, Meta(description="Of a request to the model.")] = UNSET
    elapsed_ms: Annotated[float | UnsetType, Meta(description="How long a tool took.")] = UNSET
    attempt: Annotated[AttemptResult | UnsetType, Meta(description="The search that was assessed.")] = UNSET


class ChatCitation(Place, kw_only=True, frozen=True):
    """A place that the answer cites."""

    ok: Annotated[bool, Meta(description="The model was given these lines, and what the answer quotes beside them stands there.")]
    reason: Annotated[str | UnsetType, Meta(description="Why it doesn't hold.")] = UNSET
    version: Annotated[str | UnsetType, Meta(description="Of a document, where it names one.")] = UNSET
    updated_at: Annotated[str | UnsetType, Meta(description="Of a document: ISO 8601, UTC.")] = UNSET


class CitationsParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/citations`: whether the places hold that an answer cites, which the client's own model gave to a pack."""

    pack_id: Annotated[str, Meta(description="The `id` of a recent pack: what the model was given.")]
    text: Annotated[str, Meta(description="The answer.")]
    also_readable: Annotated[
        bool, Meta(description="Count places, too, that the index can read now: for a model that opens files by itself.")
    ] = False


class CitationsResult(Wire, kw_only=True, frozen=True):
    """The places that an answer cites, each once."""

    citations: tuple[ChatCitation, ...]


class ChatUsage(Wire, kw_only=True, frozen=True):
    """What an answer took."""

    requests: Annotated[int, Meta(description="To the model.")]
    calls: Annotated[int, Meta(description="Of tools.")]
    prompt_tokens: Annotated[int, Meta(description="Of all requests together, counted by `tokenizer`.")]
    answer_tokens: int
    largest_request: int
    cost: Annotated[float | UnsetType, Meta(description="US dollars, where the model's prices are set.")] = UNSET
    tokenizer: str


class ChatResult(Wire, kw_only=True, frozen=True):
    """An answer."""

    text: Annotated[str, Meta(description="The answer; behind a citation that doesn't hold stands `[unverified]`.")]
    citations: Annotated[tuple[ChatCitation, ...], Meta(description="What it cites, each place once.")]
    usage: ChatUsage
    pack: Annotated[ContextResult, Meta(description="What was put before the question.")]
    steps: Annotated[tuple[ChatStep, ...], Meta(description="What happened, without the pieces of text.")]
    problem: Annotated[str | UnsetType, Meta(description="What is wrong with the answer, in words.")] = UNSET
    cut: Annotated[bool, Meta(description="Whether the answer was cut off.")] = False
    limit: Annotated[
        Limit | UnsetType,
        Meta(description="What ended the search for more."),
    ] = UNSET
    elapsed_ms: float
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET


class CompareParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/compare`: what whole files and retrieved chunks cost for one question."""

    query: Annotated[str, Meta(description="The question.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many hits at most.")] = 10
    budget: Annotated[BudgetParam | None, Meta(description="Of the chunks; the setting when unset.")] = None
    model: Annotated[str | None, Meta(description="The chat model, for its tokenizer; with `answers` as in `carrel/chat`.")] = (
        None
    )
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long to wait for a first index.")] = 10_000
    answers: Annotated[bool, Meta(description="Have a chat model judge each way, and answer.")] = False
    model_token: ModelToken = None


class WayResult(Wire, kw_only=True, frozen=True):
    """One way to answer: what it sends, how long it took to make, and from which files it is."""

    tokens: int
    elapsed_ms: float
    files: tuple[str, ...]
    fitting: Annotated[int, Meta(description="How many of them the chat model has room for, without one the budget.")]
    lines: Annotated[int | UnsetType, Meta(description="How many a chunk has; unset for chunks by syntax and whole files.")] = (
        UNSET
    )
    judged: Annotated[str | UnsetType, Meta(description="What the chat model says of it, as `sufficient`.")] = UNSET


class WayAnswer(Wire, kw_only=True, frozen=True):
    """A chat model's answer from one of the ways."""

    text: Annotated[str, Meta(description="Behind a citation that doesn't hold stands `[unverified]`.")] = ""
    files: Annotated[tuple[str, ...], Meta(description="What it was given: of whole files those that the model has room for.")]
    citations: Annotated[int, Meta(description="How many places it cites.")] = 0
    unverified: Annotated[int, Meta(description="How many of them don't hold.")] = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    elapsed_ms: float = 0.0
    problem: Annotated[str | UnsetType, Meta(description="Why there is no answer.")] = UNSET


class CompareAnswers(Wire, kw_only=True, frozen=True):
    """Both answers."""

    chunks: WayAnswer
    whole_files: WayAnswer


class CompareResult(Wire, kw_only=True, frozen=True):
    """The same question answered with chunks and with the whole files that they are from."""

    chunks: WayResult
    whole_files: WayResult
    by_lines: Annotated[tuple[WayResult, ...], Meta(description="The same files in chunks of 20, 50 and 100 lines.")] = ()
    unread: Annotated[tuple[str, ...], Meta(description="Files that could not be read whole.")] = ()
    reasons: Annotated[tuple[str, ...], Meta(description="Why retrieval pays here.")] = ()
    problem: Annotated[str | UnsetType, Meta(description="Why the index may have found too little.")] = UNSET
    answers: Annotated[CompareAnswers | UnsetType, Meta(description="Where they were asked for.")] = UNSET
    tokenizer: str
    elapsed_ms: float
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET
