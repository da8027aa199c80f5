"""`carrel models | confirm | sources`: which models and sources are set, and which services text may be sent to."""

from __future__ import annotations

import getpass
import sys
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carrel.composition.composition import Composition
from carrel.composition.outbound import delete_key, keep_key
from carrel.composition.team import team_destination
from carrel.frontends.cli.in_process import with_commands
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.cli.typed_input import agreed
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.convert.convert_setup import from_state, from_store
from carrel.frontends.lsp.messages.setup_messages import ProvidersResult
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.outbound import Destination, Secret
from carrel.model.plain_data import inner
from carrel.model.published import SCHEME, PublishedAddress
from carrel.model.wording import counted
from carrel.policy import consent
from carrel.policy.audit import AuditTrail
from carrel.policy.permissions import PermissionFile
from carrel.service import model_report
from carrel.service.model_report import ModelState, report, store_report
from carrel.service.workspace import Workspace
from carrel.settings.model_settings import read_models
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.settings.settings_writer import set_model
from carrel.sources import source_editing
from carrel.system.background import run_blocking

_MODEL_FIELDS = {
    "model": "model",
    "base_url": "baseUrl",
    "key": "key",
    "dimensions": "dimensions",
    "window": "window",
    "price": "price",
}

_OF_ADDRESS = frozenset({"baseUrl", "key", "tokenUrl"})
"""Fields that hold for every model that is asked there."""


def run_models(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"list": _list_models, "check": _list_models, "set": _set, "key": _key}
    return actions[arguments.action](arguments, output)


def _list_models(arguments: Namespace, output: Output) -> int:
    check = arguments.action == "check"
    settings, problems = resolve(read_user())
    composition = Composition()
    states = run_blocking(model_report.report(composition, settings, check=check))
    for problem in problems:
        output.warn(f"problem: {problem}")
    if output.json:
        allows = composition.outbound.permissions.allows
        models = tuple(from_state(state, allows) for state in states)
        store = from_store(store_report(composition, settings), allows)
        providers, keys = model_report.providers_by_role(), model_report.key_names(settings)
        output.value(ProvidersResult(models=models, store=store, known=providers, keys=keys))
    else:
        for state in states:
            _show_model(state, output)
        for role, names in model_report.providers_by_role().items():
            output.note(f"providers for {role}: {', '.join(names) or 'none'}")
    composition.outbound.meter.close()
    return 1 if check and any(state.problem for state in states) else 0


def _show_model(state: ModelState, output: Output) -> None:
    where = ", ".join(place.host + ("" if not place.local else " (this machine)") for place in state.destinations)
    output.text(
        f"{state.role}: {state.provider}, {state.model or 'its usual model'}; {where or 'inside Carrel, nothing is sent'}"
    )
    if state.destinations:
        key = "has a key" if state.has_key else "no key found" if state.lacks_key else "needs no key"
        permission = "allowed" if state.allowed else "not allowed yet: `carrel confirm`"
        output.text(
            f"  {key}; {permission}; {counted(state.requests, 'request')}, "
            f"{counted(state.tokens, 'token')}, ${state.dollars:.4f} so far"
        )
    if state.answered_ms is not None:
        output.text(f"  answered in {state.answered_ms:,.0f} ms")
    if state.problem or state.last_error:
        output.text(f"  problem: {state.problem or state.last_error}")


def _set(arguments: Namespace, output: Output) -> int:
    fields: dict[str, object] | None = None
    kept: dict[str, object] = {}
    if arguments.provider not in ("none", "bundled"):
        names = model_report.providers_by_role()[arguments.role]
        if arguments.provider not in names:
            there_are = f"There are: {', '.join(names)}." if names else "There is none yet."
            raise InvalidInput("PROVIDER", f'there is no provider "{arguments.provider}" for {arguments.role}', there_are)
        values = {field: getattr(arguments, name) for name, field in _MODEL_FIELDS.items()}
        typed = {"provider": arguments.provider, **{name: value for name, value in values.items() if value is not None}}
        chosen = {name: value for name, value in typed.items() if value not in ("", 0)}
        kept = _kept(arguments.role, typed)
        try:
            read_models({arguments.role: chosen | kept})
        except ValueError:  # maybe of what the file has, which goes then
            kept = {}
        fields = chosen | kept
        try:
            read_models({arguments.role: fields})
        except ValueError as error:
            raise InvalidInput("models", str(error)) from None
    path = set_model(arguments.role, fields)
    settings, _ = resolve(read_user())
    states = run_blocking(model_report.report(Composition(), settings))
    state = next((state for state in states if state.role == arguments.role), None)
    output.value({"file": str(path), "role": arguments.role, "provider": arguments.provider})
    output.note(f"Written to {path}.")
    if kept:
        output.note(f"Kept as before: {', '.join(kept)}. `carrel models set {arguments.role} none` first gives them up.")
    if state and state.problem:
        output.warn(f"problem: {state.problem}")
    elif state and not state.allowed:
        output.note("Text is sent there only after you allowed it: carrel confirm")
    return 0


def _kept(role: str, typed: Mapping[str, object]) -> dict[str, object]:
    """Return what the settings file has about a model that isn't typed and still holds.

    All of the same model at the same address; of another one there only how it is asked; nothing of another provider or address.
    """
    fields = inner(read_user().options, "models", role)
    if not isinstance(fields, dict) or any(name in typed and fields.get(name) != typed[name] for name in ("provider", "baseUrl")):
        return {}
    is_same = typed.get("model", fields.get("model")) == fields.get("model")
    return {name: value for name, value in fields.items() if name not in typed and (is_same or name in _OF_ADDRESS)}


def _key(arguments: Namespace, output: Output) -> int:
    provider = arguments.provider
    if arguments.remove:
        if not delete_key(provider):
            raise CarrelError(f"The keyring holds no key for {provider}")
        output.note(f"The key for {provider} is deleted.")
    else:
        key = Secret(_typed(provider, from_input=arguments.stdin))
        keep_key(provider, key)
        output.note(f"The key for {provider} is in the keyring. Try it: carrel models check")
    output.value({"provider": provider, "kept": not arguments.remove})
    return 0


def _typed(provider: str, *, from_input: bool) -> str:
    if from_input:
        text = sys.stdin.readline() if sys.stdin else ""
    else:
        try:
            text = getpass.getpass(f"Key for {provider} (it isn't shown): ")
        except (EOFError, OSError):
            text = ""
    if not text.strip():
        raise InvalidInput("key", "was not given", "Type it, or give it with --stdin; nothing was changed.")
    return text.strip()


def run_confirm(arguments: Namespace, output: Output) -> int:
    """Show, give or withdraw permissions."""
    settings, _ = resolve(read_user())
    permissions = PermissionFile(allowed=lambda: settings.allow_providers)
    if arguments.list:
        _show_permissions(permissions, output)
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
    output.value({"withdrawn": [{"provider": place.provider, "host": place.host} for place in places]})
    return 0


def _show_permissions(permissions: PermissionFile, output: Output) -> None:
    entries = permissions.entries()
    rows = [{"provider": it.destination.provider, "host": it.destination.host, "at": it.at} for it in entries]
    output.value({"providers": rows})
    for item in entries:
        since = f"since {datetime.fromtimestamp(item.at, UTC):%Y-%m-%d}" if item.at else "by your settings file"
        output.text(f"{item.destination}, {since}")
    if not entries:
        output.note("Text may be sent nowhere but to this machine.")


_FIRST_INDEX_MS = 600_000


def run_sources(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"add": _add_source, "remove": _remove_source, "list": _list_sources}
    return actions[arguments.action](arguments, output)


def _add_source(arguments: Namespace, output: Output) -> int:
    place = arguments.folder or ""
    is_folder = place and not place.startswith(source_editing.MCP) and SCHEME not in place
    wanted = source_editing.WantedSource(
        id=arguments.id,
        place=str(Path(place).expanduser().absolute()) if is_folder else place,
        git=arguments.git,
        description=arguments.description or "",
        outdated_after_days=arguments.outdated_after or 0,
        key=arguments.key or "",
    )
    change = source_editing.planned(wanted)
    path, source = source_editing.write(change), change.source
    is_update = change.before is not None and source.kind != "repository"
    details = {"url": source.url} if source.kind == "repository" else {"folder": source.folder, "updated": is_update}
    output.value({"file": str(path), "id": change.id, "kind": source.kind, **details})
    if is_update:
        output.note(f"{change.id} was a source already: {path} has what you gave now, and of the rest what it had.")
    else:
        output.note(f"Written to {path}. Every workspace of yours is searched together with it from now on.")
    if elsewhere := source_editing.destination(source):
        output.note(
            f"Questions are sent there, as vectors and hashed words, once you allowed it: carrel confirm qdrant {elsewhere.host}"
        )
    return 0


def _remove_source(arguments: Namespace, output: Output) -> int:
    change = source_editing.removal(arguments.id)
    path = source_editing.write(change)
    output.value({"file": str(path), "id": arguments.id})
    stays = "What is published stays." if change.source.kind == "repository" else "The folder itself is as it was."
    output.note(f"Taken out of {path}; what was kept of it is deleted. {stays}")
    return 0


def _list_sources(arguments: Namespace, output: Output) -> int:
    async def work(commands: Commands, workspace: Workspace) -> Any:
        if arguments.index:
            for source in workspace.sources():
                await source.bring_up_to_date(_FIRST_INDEX_MS)
        return await commands.table()["carrel/sources"]({})

    result = with_commands(folder(arguments.path), output, work)
    output.value(result)
    for source in result.sources:
        output.text(
            f"{source.id}: {source.kind}, {source.state}, {counted(source.files, 'file')}, {counted(source.chunks, 'chunk')}"
        )
        output.text(f"  {source.folder}; {source.description}")
        for problem in source.problems:
            output.text(f"  problem: {problem}")
        for file in source.failed:
            output.text(f"  not read: {file.path}: {file.reason}")
    return 0
