"""Messages about a search that a chat model assesses (spec D8)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import Wire

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
