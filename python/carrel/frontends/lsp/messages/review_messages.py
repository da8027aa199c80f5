"""What travels in `carrel/review`, and in `carrel/complete`, by which the server asks the client's chat model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from carrel.frontends.common.wire import State, Wire
from carrel.frontends.lsp.messages.question_messages import FolderParams, Place, ProgressToken
from carrel.frontends.lsp.messages.sent_messages import SENT, SentResult
from carrel.model.bounds import Amount


class ReviewParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/review`: what an issue takes, by a chat model of the client's that searches the code step by step."""

    title: Annotated[str, Meta(description="The issue in a line.")]
    body: Annotated[str, Meta(description="The rest of it.")] = ""
    exclude: Annotated[tuple[str, ...], Meta(description="Globs of paths that no search finds.")] = ()
    model: Annotated[str | None, Meta(description="The chat model, which decides how tokens are counted.")] = None
    model_token: Annotated[
        ProgressToken | None, Meta(description="Comes back in every `carrel/complete`, to tell which model is asked.")
    ] = None
    max_tokens: Annotated[
        Amount | None,
        Meta(description="How many tokens the model takes, at least 4,000; no request has more than 32,000 anyway."),
    ] = None
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
