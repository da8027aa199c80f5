"""What travels of the services that a request asked."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from carrel.frontends.common.wire import Wire

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
