"""The requests about models and their keys: decode, call, encode."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from carrel.frontends.lsp.convert.convert_models import from_state, from_store
from carrel.frontends.lsp.messages import model_messages as wire
from carrel.model.outbound import Secret
from carrel.model.structs import decode
from carrel.service import model_report
from carrel.service.model_report import store_report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from carrel.model.outbound import Destination
    from carrel.policy.consent import Consent
    from carrel.service.session import Session


class ModelCommands:
    """One coroutine a request. `consent` asks the person for permissions."""

    def __init__(self, session: Session, consent: Consent | None) -> None:
        self._session = session
        self._consent = consent

    def table(self) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        """Return the handler of every method."""
        return {"carrel/providers": self.providers, "carrel/key": self.key}

    async def providers(self, raw: Any) -> wire.ProvidersResult:
        """Answer `carrel/providers`."""
        params = decode(wire.ProvidersParams, raw)
        composition, settings = self._session.composition, self._session.settings
        if params.check and self._consent:
            self._consent.forget()  # whoever checks wants to be asked again
        states = await model_report.report(composition, settings, check=params.check)
        store = await asyncio.to_thread(store_report, composition, settings)
        kept_from = [place for state in states if not state.allowed for place in state.destinations]
        kept_from += [place for place in store.destinations if not composition.outbound.permissions.allows(place)]
        if params.check and await self._allowed_meanwhile(kept_from):
            states = await model_report.report(composition, settings, check=True)
        allows = composition.outbound.permissions.allows
        return wire.ProvidersResult(
            models=tuple(from_state(state, allows) for state in states),
            store=from_store(store, allows),
            known=model_report.known(),
            keys=model_report.key_names(settings),
        )

    async def key(self, raw: Any) -> wire.KeyResult:
        """Answer `carrel/key`."""
        params = decode(wire.KeyParams, raw)
        self._session.composition.outbound.keys.give(params.provider, Secret(params.key) if params.key else None)
        if params.key:
            self._session.retry_models()  # the editor can hand a key over only after a folder began to be indexed
        return wire.KeyResult(kept=bool(params.key))

    async def _allowed_meanwhile(self, places: Iterable[Destination]) -> bool:
        """Wait for the person's answer about each place that a check was kept from; tell whether one is allowed now."""
        if self._consent is None:
            return False
        allows = self._session.composition.outbound.permissions.allows
        # A check that is taken back must not take the question back: others may wait for its answer.
        return any([allows(place) or await asyncio.shield(self._consent.want(place)) for place in dict.fromkeys(places)])
