"""`carrel agents ACTION`: set up, serve and look at what hooks of agents in a terminal add to prompts."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output
    from carrel.policy.audit import Entry

SHOWN, _READ = 20, 1_000
_BY_HOOKS = ("agent hook", "mcp")
"""Through MCP also tools are called, but never as a chat."""


def run(arguments: Namespace, output: Output) -> int:
    """Run one action."""
    match arguments.action:
        case "serve":  # until no hook came for a while
            from carrel.frontends.agents.serve import serve

            return serve()
        case "last":
            return _last(output)
    from carrel.frontends.cli.assistants import setup

    return setup.run(arguments, output)


def _last(output: Output) -> int:
    """Show what was added to the last prompts, the newest last, by the audit log, which has each of them."""
    from carrel.model.caller import Caller
    from carrel.policy.audit import AuditTrail
    from carrel.settings.settings import resolve
    from carrel.settings.settings_files import read_user

    settings, _ = resolve(read_user())
    trail = AuditTrail(Caller("command line"))
    trail.settings = settings.audit
    if not settings.audit.enabled:
        output.note("Nothing is recorded at the moment: `audit` says so in your settings.")
    additions = [_addition(entry) for entry in trail.entries(kind="context", limit=_READ) if _is_addition(entry)][:SHOWN]
    if output.json:
        output.value(additions)
        return 0
    for addition in reversed(additions):
        output.text(
            f"{addition['at']}  {addition['agent']}  {addition['session']}  "
            f"{addition['places']} places, {addition['tokens']:,} tokens"
        )
    if not additions:
        output.note("Nothing was added to a prompt yet.")
    return 0


def _is_addition(entry: Entry) -> bool:
    details = entry[1].details
    by_hook = str(details.get("caller")).partition(":")[0] in _BY_HOOKS
    return by_hook and details.get("trigger") == "chat" and bool(details.get("places"))


def _addition(entry: Entry) -> dict[str, Any]:
    from carrel.frontends.common.wire import iso_time

    event, details = entry[1], entry[1].details
    agent, _, session = str(details["caller"]).partition(": ")[2].partition(" ")
    return {
        "at": iso_time(event.at),
        "agent": agent,
        "session": session,
        "folder": details.get("folder"),
        "places": len(details["places"]),
        "tokens": details.get("tokens"),
    }
