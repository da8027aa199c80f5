"""`carrel models`: which models are set, whether they answer, and where their keys are."""

from __future__ import annotations

import getpass
import sys
from argparse import Namespace

from carrel.composition.composition import Composition
from carrel.composition.outbound import delete_key, keep_key
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.lsp.convert.convert_setup import from_state, from_store
from carrel.frontends.lsp.messages.setup_messages import ProvidersResult
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.outbound import Secret
from carrel.service import model_report
from carrel.service.model_report import ModelState, store_report
from carrel.settings.model_settings import read_models
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.settings.settings_writer import set_model
from carrel.system.background import run_blocking

_FIELDS = {
    "model": "model",
    "base_url": "baseUrl",
    "key": "key",
    "dimensions": "dimensions",
    "window": "window",
    "price": "price",
}


def run(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"list": _list, "check": _list, "set": _set, "key": _key}
    return actions[arguments.action](arguments, output)


def _list(arguments: Namespace, output: Output) -> int:
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
            _show(state, output)
        for role, names in model_report.providers_by_role().items():
            output.note(f"providers for {role}: {', '.join(names) or 'none'}")
    composition.outbound.meter.close()
    return 1 if check and any(state.problem for state in states) else 0


def _show(state: ModelState, output: Output) -> None:
    where = ", ".join(place.host + ("" if not place.local else " (this machine)") for place in state.destinations)
    output.text(
        f"{state.role}: {state.provider}, {state.model or 'its usual model'}; {where or 'inside Carrel, nothing is sent'}"
    )
    if state.destinations:
        key = "has a key" if state.has_key else "no key found" if state.lacks_key else "needs no key"
        permission = "allowed" if state.allowed else "not allowed yet: `carrel confirm`"
        output.text(f"  {key}; {permission}; {state.requests:,} requests, {state.tokens:,} tokens, ${state.dollars:.4f} so far")
    if state.answered_ms is not None:
        output.text(f"  answered in {state.answered_ms:,.0f} ms")
    if state.problem or state.last_error:
        output.text(f"  problem: {state.problem or state.last_error}")


def _set(arguments: Namespace, output: Output) -> int:
    fields: dict[str, object] | None = None
    if arguments.provider not in ("none", "bundled"):
        names = model_report.providers_by_role()[arguments.role]
        if arguments.provider not in names:
            there_are = f"There are: {', '.join(names)}." if names else "There is none yet."
            raise InvalidInput("PROVIDER", f'there is no provider "{arguments.provider}" for {arguments.role}', there_are)
        values = {field: getattr(arguments, name) for name, field in _FIELDS.items()}
        fields = {"provider": arguments.provider, **{name: value for name, value in values.items() if value not in (None, "", 0)}}
        try:
            read_models({arguments.role: fields})
        except ValueError as error:
            raise InvalidInput("models", str(error)) from None
    path = set_model(arguments.role, fields)
    settings, _ = resolve(read_user())
    states = run_blocking(model_report.report(Composition(), settings))
    state = next((state for state in states if state.role == arguments.role), None)
    if output.json:
        output.value({"file": str(path), "role": arguments.role, "provider": arguments.provider})
    output.note(f"Written to {path}.")
    if state and state.problem:
        output.warn(f"problem: {state.problem}")
    elif state and not state.allowed:
        output.note("Text is sent there only after you allowed it: carrel confirm")
    return 0


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
    if output.json:
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
