"""What an agent may be told (spec E2), and what it gives."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from carrel.extensions.rag.documents import described
from carrel.extensions.rag.prompt import fill
from carrel.extensions.rag.protocols import ChatHistory
from carrel.model.errors import InvalidInput
from carrel.pack.formats import HEADER, SEPARATOR


@dataclass(frozen=True, slots=True)
class RAGAgentConfig:
    """How documents are found, shown and counted. Raises `InvalidInput` for values that can't be used."""

    top_k: int = 5
    similarity_threshold: float | None = None  # handed to the store; None for no threshold
    fixed_max_new_tokens: int | None = None  # tokens kept for the answer; None for a share of what the prompts leave
    auto_output_ratio: float = 0.25  # that share
    min_output_tokens: int = 32  # the least that is kept for an answer
    safety_margin_tokens: int = 32  # for what a model adds to the prompts
    include_metadata_in_context: bool = True  # whether each document has a header
    context_separator: str = SEPARATOR
    context_item_header_fmt: str = HEADER  # `{source}` is what `make_source` says of a document
    normalize_embeddings: bool = True
    approx_chars_per_token: float = 4.0
    estimate_tokens: bool = False  # count by `approx_chars_per_token`, though a tokenizer is known

    def __post_init__(self) -> None:
        for name, least in (("top_k", 0), ("min_output_tokens", 1), ("safety_margin_tokens", 0)):
            check_whole(name, getattr(self, name), least)
        if self.fixed_max_new_tokens is not None:
            check_whole("fixed_max_new_tokens", self.fixed_max_new_tokens, 1)
        check_threshold(self.similarity_threshold)
        if not (_is_number(self.auto_output_ratio) and 0 <= self.auto_output_ratio <= 1):
            raise InvalidInput("auto_output_ratio", f"{self.auto_output_ratio!r} is not a share", "Give a number from 0 to 1.")
        ratio = self.approx_chars_per_token
        if not (_is_number(ratio) and 0 < ratio < math.inf):
            raise InvalidInput("approx_chars_per_token", f"{ratio!r} is no ratio", "Give a number above 0, such as 4.0.")
        for name in ("context_separator", "context_item_header_fmt"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(name, "is not a text")


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """What was found for a question, within the model's window; `RAGAgent.generate` answers from it.

    Tokens add up: `base_tokens` + `context_tokens_used` + `max_new_tokens` + the margins in `meta` are at most `token_budget`.
    """

    base_system_prompt: str
    base_user_prompt: str  # the template
    context: str  # trimmed to its share of the window
    max_new_tokens: int
    base_tokens: int  # of system prompt, history and user prompt, without context
    context_tokens_used: int
    token_budget: int  # the window
    generation_budget: int  # what prompts, context and margins leave
    docs: list[Any]  # all that were found, as the store gave them; `meta["docs_in_context"]` are the places of those shown
    distances: list[float | None]  # the score or distance of each
    meta: dict[str, Any]
    user_query: str = ""
    chat_history: ChatHistory = field(default=())

    @property
    def user_prompt(self) -> str:
        """The user prompt with the question and the context in it, as the model gets it."""
        return fill(self.base_user_prompt, self.user_query, self.context)


def check_whole(name: str, value: object, least: int) -> int:
    """Return a whole number. Raises `InvalidInput` where it is less than `least`, or none."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidInput(name, f"{value!r} can't be used", f"Give a whole number of {least} or more.")
    return int(value)


def check_threshold(value: object) -> None:
    """Raise `InvalidInput` where a threshold is neither None nor a number."""
    if value is not None and not (_is_number(value) and abs(value) <= sys.float_info.max):  # type: ignore[arg-type]
        raise InvalidInput("similarity_threshold", f"{value!r} is not a number", "Give one, or None for no threshold.")


def check_text(name: str, value: object) -> str:
    """Return a text. Raises `InvalidInput` for anything else."""
    if not isinstance(value, str):
        raise InvalidInput(name, f"is {described(value)}", "Give a text.")
    return value


def check_results(results: Sequence[RetrieveResult]) -> None:
    """Raise `InvalidInput` where there is nothing to combine."""
    if not results or not all(isinstance(result, RetrieveResult) for result in results):
        raise InvalidInput("results", "must be one or more values of `retrieve`")
    if any(len(result.docs) != len(result.distances) for result in results):
        raise InvalidInput("results", "don't have one distance for each document", "Give None where there is none.")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
