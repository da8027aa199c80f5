"""What happens in the loop of a model with tools, step by step, within which limits, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from carrel.assist.assessment import Attempt
from carrel.model.conversation import Finish
from carrel.model.ports import ToolResult
from carrel.model.types import ContextItem

LimitName = Literal["steps", "calls", "tokens", "cost", "time", "answer"]
"""What a run had enough of; "answer" is one that was too long."""


class Limits(Struct, frozen=True):
    """How far a run may go. After that the model is asked once to answer with what it has."""

    steps: int = 10  # requests in which it may ask for tools
    calls: int = 12
    tokens: int | None = 400_000  # of all requests and answers together
    cost: float | None = None  # US dollars; counts only where the model's prices are known
    seconds: float = 600.0
    tool_seconds: float = 60.0  # of one call
    answer_seconds: float = 300.0  # of one answer of the model
    answer_chars: int = 200_000
    answer_tokens: int = 4_000  # what an answer is taken to have at most, before it is there
    result_tokens: int = 3_000  # of one call's result, where the window has room for so many


class Wording(Struct, frozen=True):
    """What the loop says to the model in its own words; `again` gets the `{problem}`."""

    no_more: str = "No more tools. Answer now, from what you found."
    again: str = "Your answer can't be used: {problem}. Answer again."
    asks_more: str = "it asks for another tool"


class ModelAsked(Struct, frozen=True):
    """The model is asked; `step` counts from 1, `tokens` are those of the request."""

    step: int
    tokens: int


class TextDelta(Struct, frozen=True):
    """A piece of what the model says, as it comes; it may turn out to be no answer."""

    text: str


class AssistantMessage(Struct, frozen=True):
    """All that the model said in a step; `answer` when it asked for no tool with it, so that it is meant as the answer."""

    text: str
    answer: bool


class ToolStarted(Struct, frozen=True):
    """A tool runs, with arguments that fit its schema."""

    name: str
    arguments: Mapping[str, Any]


class ToolFinished(Struct, frozen=True):
    """What the model gets for a call; `repeated` when the same call was made before, and was not run again."""

    name: str
    arguments: Mapping[str, Any]
    result: ToolResult
    milliseconds: float = 0.0
    repeated: bool = False


class CallRefused(Struct, frozen=True):
    """A call that can't be run; the model is told why."""

    name: str
    problem: str


class Repaired(Struct, frozen=True):
    """What was mended of what the model said."""

    what: str


class LimitReached(Struct, frozen=True):
    """The run had enough of this."""

    limit: LimitName


class AskedAgain(Struct, frozen=True):
    """The answer can't be used, and the model is told why."""

    problem: str


Event = (
    Attempt
    | ModelAsked
    | TextDelta
    | AssistantMessage
    | ToolStarted
    | ToolFinished
    | CallRefused
    | Repaired
    | LimitReached
    | AskedAgain
)
"""A step. An `Attempt` is a search for the context that the model assessed, before the loop."""


class Usage(Struct):
    """What a run has used. `cost` is in US dollars, None where the model's prices aren't known."""

    requests: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    largest: int = 0  # tokens of the longest request
    cost: float | None = None
    milliseconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.prompt_tokens + self.answer_tokens


class Outcome(Struct, frozen=True):
    """How a run ended. `problem` says what is wrong with the answer, empty where nothing is known to be.

    `finish` "length" means that the answer was cut off; `limit` is what ended the search for more. `items` are the lines of
    the workspace that tools showed the model.
    """

    text: str
    problem: str
    finish: Finish
    limit: LimitName | None
    usage: Usage
    items: tuple[ContextItem, ...]
