"""The messages of `carrel/compare`: whole files beside retrieved chunks."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages.question_messages import BudgetParam, FolderParams, ProgressToken
from carrel.frontends.lsp.messages.shared_messages import SENT, SentResult


class CompareParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/compare`: what whole files and retrieved chunks cost for one question."""

    query: Annotated[str, Meta(description="The question.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many hits at most.")] = 10
    budget: Annotated[BudgetParam | None, Meta(description="Of the chunks; the setting when unset.")] = None
    model: Annotated[str | None, Meta(description="The chat model, for its tokenizer; with `answers` as in `carrel/chat`.")] = (
        None
    )
    wait_ms: Annotated[int, Meta(ge=0, le=600_000, description="How long to wait for a first index.")] = 10_000
    answers: Annotated[bool, Meta(description="Have a chat model answer both ways.")] = False
    model_token: Annotated[
        ProgressToken | None, Meta(description="Comes back in every `carrel/complete`, to tell which model is asked.")
    ] = None


class WayResult(Wire, kw_only=True, frozen=True):
    """One way to answer: what it sends, how long it took to make, and from which files it is."""

    tokens: int
    elapsed_ms: float
    files: tuple[str, ...]


class WayAnswer(Wire, kw_only=True, frozen=True):
    """A chat model's answer from one of the ways."""

    text: Annotated[str, Meta(description="Behind a citation that doesn't hold stands `[unverified]`.")]
    files: Annotated[tuple[str, ...], Meta(description="What it was given: of whole files those that the model has room for.")]
    citations: Annotated[int, Meta(description="How many places it cites.")]
    unverified: Annotated[int, Meta(description="How many of them don't hold.")]
    prompt_tokens: int
    answer_tokens: int
    elapsed_ms: float


class CompareAnswers(Wire, kw_only=True, frozen=True):
    """Both answers."""

    chunks: WayAnswer
    whole_files: WayAnswer


class CompareResult(Wire, kw_only=True, frozen=True):
    """The same question answered with chunks and with the whole files that they are from."""

    chunks: WayResult
    whole_files: WayResult
    unread: Annotated[tuple[str, ...], Meta(description="Files that could not be read whole.")] = ()
    reasons: Annotated[tuple[str, ...], Meta(description="Why retrieval pays here.")] = ()
    answers: Annotated[CompareAnswers | UnsetType, Meta(description="Where they were asked for.")] = UNSET
    tokenizer: str
    elapsed_ms: float
    sent: Annotated[tuple[SentResult, ...] | UnsetType, Meta(description=SENT)] = UNSET
