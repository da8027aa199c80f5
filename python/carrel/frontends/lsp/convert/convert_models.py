"""Models as the server knows them, to what travels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET

from carrel.frontends.lsp.messages.model_messages import ProviderDestination, ProviderModel, ProviderStore
from carrel.model.outbound import Destination
from carrel.service.model_report import ModelState, StoreState


def from_state(state: ModelState, allows: Callable[[Destination], bool]) -> ProviderModel:
    """Encode a model's state."""
    return ProviderModel(
        role=state.role,
        provider=state.provider,
        model=state.model,
        destinations=_places(state.destinations, allows),
        has_key=state.has_key,
        requests=state.requests,
        tokens=state.tokens,
        dollars=round(state.dollars, 6),
        last_error=state.last_error or UNSET,
        answered_ms=UNSET if state.answered_ms is None else state.answered_ms,
        problem=state.problem or UNSET,
    )


def from_store(state: StoreState, allows: Callable[[Destination], bool]) -> ProviderStore:
    """Encode the store that is set."""
    return ProviderStore(
        kind=state.kind,
        place=state.place,
        destinations=_places(state.destinations, allows),
        has_key=state.has_key,
        problem=state.problem or UNSET,
    )


def _places(places: Iterable[Destination], allows: Callable[[Destination], bool]) -> tuple[ProviderDestination, ...]:
    return tuple(
        ProviderDestination(provider=place.provider, host=place.host, local=place.local, allowed=allows(place))
        for place in places
    )
