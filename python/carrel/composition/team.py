"""Make the team's cache of vectors that is set, and tell what it is."""

# ruff: noqa: PLC0415 - it is in a folder or at a server
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from carrel.extensions.team.team_cache import SealedValues, TeamCache, TeamSeal, TeamStatus
from carrel.extensions.team.team_ledger import TeamLedger
from carrel.model.errors import CarrelError, ProviderError

if TYPE_CHECKING:
    from carrel.model.outbound import Destination, Outbound
    from carrel.settings.store_settings import TeamSettings


__all__ = ["TeamCache", "TeamStatus", "make_team_cache", "team_destination"]

TEAM_LEDGER = "team.sqlite"
PROVIDER = "team"


def make_team_cache(settings: TeamSettings, outbound: Outbound, ledger: Path) -> TeamCache | None:
    """Return the team's cache; None where none is set. Opens nothing and asks nobody. Raises `InvalidInput`."""
    if not settings.used:
        return None
    from carrel.extensions.team.values import FolderValues, QdrantValues

    if settings.folder:
        place = Path(settings.folder).expanduser() / settings.collection
        name = str(place)
        values: SealedValues = FolderValues(place)
    else:
        name = f"{settings.collection} in Qdrant at {urlsplit(settings.url).netloc}"
        values = QdrantValues(outbound, settings.url, settings.collection, settings.key)
    return TeamCache(name, values, lambda: find_seal(settings, outbound), TeamLedger(ledger))


def problem_of(settings: TeamSettings, outbound: Outbound) -> str:
    """Say what is missing for a team's cache that is set; "" for nothing. Reads the keyring and asks nobody."""
    try:
        if destination := team_destination(settings, outbound):
            outbound.permissions.check(destination)
        find_seal(settings, outbound)
    except CarrelError as error:
        return str(error)
    return ""


def find_seal(settings: TeamSettings, outbound: Outbound) -> TeamSeal:
    """Return what the team's secret makes. Raises `CarrelError` where it is missing or can't be used. Runs on a thread."""
    secret = outbound.keys.find(PROVIDER, settings.secret)
    if secret is None:
        raise ProviderError("There is no team secret", "Enter it with `carrel models key team`, or set `CARREL_TEAM_SECRET`.")
    return TeamSeal(secret)


def team_destination(settings: TeamSettings, outbound: Outbound) -> Destination | None:
    """Return which host sealed vectors are sent to; None for none, and for a folder."""
    if not settings.url:
        return None
    from carrel.extensions.team.values import QdrantValues

    return QdrantValues(outbound, settings.url, settings.collection).destinations[0]
