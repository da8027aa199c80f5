"""What travels about models: which are set, their keys from the editor, and what a person must confirm."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages.question_messages import FolderParams


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

    kind: Annotated[str, Meta(description="`segments`, `usearch`, `lancedb` or `qdrant`.")]
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
