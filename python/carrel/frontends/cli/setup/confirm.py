"""`carrel confirm`: say which providers text may be sent to. Only a person at a terminal can allow one."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from carrel.composition.composition import Composition
from carrel.composition.team import team_destination
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.cli.terminal.terminal_confirmation import agreed
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.outbound import Destination
from carrel.model.published import PublishedAddress
from carrel.policy import consent
from carrel.policy.audit import AuditTrail
from carrel.policy.permissions import PermissionFile
from carrel.service.model_report import report, store_report
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.system.background import run_blocking


def run(arguments: Namespace, output: Output) -> int:
    """Show, give or withdraw permissions."""
    settings, _ = resolve(read_user())
    permissions = PermissionFile(allowed=lambda: settings.allow_providers)
    if arguments.list:
        _show(permissions, output)
        return 0
    if arguments.provider and not arguments.host:
        raise InvalidInput("HOST", "is missing", "Name the host too, such as `carrel confirm openai api.openai.com`.")
    if arguments.provider:
        wanted = [Destination(arguments.provider, arguments.host.lower())]
    else:
        states = run_blocking(report(Composition(), settings))
        places = [place for state in states for place in state.destinations]
        places += store_report(Composition(), settings).destinations
        places += filter(None, [team_destination(settings.team, Composition().outbound.of(settings))])
        places += [Destination("qdrant", PublishedAddress.read(it.url).host) for _, it in settings.sources.by_id if it.url]
        wanted = [place for place in places if not permissions.allows(place)]
    trail = AuditTrail(Caller("command line"))
    trail.settings = settings.audit
    try:
        if arguments.withdraw:
            return _withdraw(wanted, permissions, trail, output)
        return _allow(wanted, permissions, trail, output)
    finally:
        trail.close()


def _allow(wanted: list[Destination], permissions: PermissionFile, trail: AuditTrail, output: Output) -> int:
    allowed = []
    for place in dict.fromkeys(wanted):
        if permissions.allows(place):
            output.note(f"{place} is allowed already.")
        elif agreed(_lines(place)):
            permissions.allow(place)
            trail.permission(place, allowed=True)
            allowed.append(place)
        else:
            raise CarrelError(f"Nothing was allowed: the code for {place} was not typed")
    if not wanted:
        output.note("No model, store, team or repository that is set waits for a permission.")
    if output.json:
        output.value({"allowed": [{"provider": place.provider, "host": place.host} for place in allowed]})
    for place in allowed:
        output.note(f"{place} may be sent text from now on. Withdraw it: carrel confirm --withdraw {place.provider} {place.host}")
    return 0


def _lines(place: Destination) -> list[str]:
    question = consent.of_provider(place)
    return [f"{question.risk}.", *(f"  {name}: {value}" for name, value in question.details.items())]


def _withdraw(places: list[Destination], permissions: PermissionFile, trail: AuditTrail, output: Output) -> int:
    if not places:
        raise InvalidInput("PROVIDER", "is missing", "`carrel confirm --list` shows what is allowed.")
    for place in places:
        if not permissions.withdraw(place):
            raise CarrelError(f"{place} was not allowed here", "What your settings file allows is changed there.")
        trail.permission(place, allowed=False)
        output.note(f"{place} may not be sent text any more.")
    if output.json:
        output.value({"withdrawn": [{"provider": place.provider, "host": place.host} for place in places]})
    return 0


def _show(permissions: PermissionFile, output: Output) -> None:
    entries = permissions.entries()
    if output.json:
        rows = [{"provider": it.destination.provider, "host": it.destination.host, "at": it.at} for it in entries]
        output.value({"providers": rows})
        return
    for item in entries:
        since = f"since {datetime.fromtimestamp(item.at, UTC):%Y-%m-%d}" if item.at else "by your settings file"
        output.text(f"{item.destination}, {since}")
    if not entries:
        output.note("Text may be sent nowhere but to this machine.")
