"""What travels of the services that a request asked.

Messages about a search that a chat model assesses (spec D8).
"""

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
