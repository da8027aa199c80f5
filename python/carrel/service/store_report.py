"""Tell which store of vectors is set, where it sends them, and what is missing for it. Opens nothing and asks nobody."""

# ruff: noqa: PLC0415 - most settings name no store
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from carrel.model.errors import CarrelError
from carrel.model.outbound import Destination

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class StoreState:
    """A store as it is set; `place` is empty for the index itself."""

    kind: str
    place: str = ""
    destinations: tuple[Destination, ...] = ()
    allowed: bool = True
    has_key: bool = False
    problem: str = ""


def store_report(composition: Composition, settings: Settings) -> StoreState:
    """Describe the store that is set. Reads the keyring and the disk."""
    chosen = settings.store
    if chosen.kind == "segments":
        return StoreState("segments")
    from carrel.composition import stores

    outbound = composition.outbound.of(settings)
    destination = stores.destination_of(chosen)
    problem, has_key = "", False
    if not stores.is_installed(chosen.kind):
        problem = stores.not_installed(chosen.kind)
    elif chosen.kind == "qdrant" and not chosen.url and stores.qdrant_program(chosen) is None:
        problem = f"{stores.NO_PROGRAM[0]}. {stores.NO_PROGRAM[1]}"
    if chosen.kind == "qdrant" and chosen.url:
        try:
            has_key = outbound.keys.find("qdrant", chosen.key) is not None
        except CarrelError as error:
            problem = str(error)
    places = (destination,) if destination else ()
    allowed = all(map(composition.outbound.permissions.allows, places))
    where = chosen.url or ("the managed Qdrant on this machine" if chosen.kind == "qdrant" else "a folder beside each index")
    return StoreState(chosen.kind, where, places, allowed, has_key, problem)
