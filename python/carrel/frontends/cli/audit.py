"""`carrel audit`, and `carrel agents last`: read and export what was given to whom."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.frontends.cli.terminal import Output
from carrel.frontends.common.filters import since
from carrel.frontends.common.wire import iso_time
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError
from carrel.model.ports import AuditEvent
from carrel.model.wording import counted
from carrel.policy.audit import AuditTrail, Entry, audit_file
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user

_SHOWN, _READ = 20, 1_000
_BY_HOOKS = ("agent hook", "mcp")
"""Through MCP also tools are called, but never as a chat."""


def run(arguments: Namespace, output: Output) -> int:
    """Show the newest entries, or write all of them into a file."""
    trail = _trail(output)
    after = since(arguments.since, time.time()) if arguments.since else None
    if arguments.export:
        return _export(trail.entries(after, arguments.kind), arguments.export, output)
    entries = trail.entries(after, arguments.kind, arguments.limit)
    output.value({"file": str(audit_file()), "entries": [_plain(*entry) for entry in entries]})
    for number, event in reversed(entries):  # the newest last, where the prompt is
        output.text(f"{number:>6}  {iso_time(event.at)}  {event.kind:<10}  {_summary(event.kind, event.details)}")
    output.note(f"{len(entries):,} entries of {audit_file()}." if entries else f"There is nothing in {audit_file()}.")
    return 0


def _trail(output: Output) -> AuditTrail:
    """Return the person's log as their settings have it, and say where nothing is recorded."""
    settings, _ = resolve(read_user())
    trail = AuditTrail(Caller("command line"))
    trail.settings = settings.audit
    if not settings.audit.enabled:
        output.note("Nothing is recorded at the moment: `audit` says so in your settings.")
    return trail


def _export(entries: list[Entry], path: Path, output: Output) -> int:
    try:
        with path.open("x", encoding="utf-8") as file:
            for entry in reversed(entries):
                file.write(json.dumps(_plain(*entry), separators=(",", ":")) + "\n")
    except FileExistsError:
        raise CarrelError(f"{path} is there already", "Name a new file.") from None
    except OSError as error:
        raise CarrelError(f"{path} can't be written: {error.strerror}", "Name a file in a folder that can be.") from None
    output.value({"file": str(path), "entries": len(entries)})
    output.note(f"{len(entries):,} entries, the oldest first, are in {path}.")
    return 0


def _plain(number: int, event: AuditEvent) -> dict[str, Any]:
    return {"number": number, "at": iso_time(event.at), "kind": event.kind, "user": event.user, "details": event.details}


def _summary(kind: str, details: Any) -> str:
    """Say in a line what happened: by whom, what, where."""
    caller = details.get("caller", "")
    if kind in ("context", "search"):
        places = [f"{place['path']}:{place['lines'][0]}-{place['lines'][1]}" for place in details.get("places", ())]
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        return f"{caller}: {', '.join(places[:3]) or 'nothing given'}{more}"
    if kind == "tool":
        return f"{caller}: {details.get('tool')}{', failed' if details.get('failed') else ''}"
    if kind == "answer":
        return f"{caller}: {details.get('model')}, {details.get('answer_tokens')} tokens"
    if kind == "sent":
        amount = f"{details.get('texts')} texts, {details.get('chars')} characters, ${details.get('dollars', 0):.4f}"
        return f"{caller}: {details.get('provider')} at {details.get('host')}: {amount}"
    if kind == "permission":
        verb = "allowed" if details.get("allowed") else "withdrawn"
        return f"{caller}: {details.get('provider')} at {details.get('host')} {verb}"
    return f"{caller}: " + ", ".join(f"{key} {value}" for key, value in details.items() if key != "caller")


def show_last_prompts(output: Output) -> int:
    """Show what was added to the last prompts, the newest last, by the audit log, which has each of them."""
    entries = _trail(output).entries(kind="context", limit=_READ)
    additions = [_addition(entry) for entry in entries if _is_addition(entry)][:_SHOWN]
    output.value(additions)
    for addition in reversed(additions):
        output.text(
            f"{addition['at']}  {addition['agent']}  {addition['session']}  "
            f"{counted(addition['places'], 'place')}, {counted(addition['tokens'], 'token')}"
        )
    if not additions:
        output.note("Nothing was added to a prompt yet.")
    return 0


def _is_addition(entry: Entry) -> bool:
    details = entry[1].details
    by_hook = str(details.get("caller")).partition(":")[0] in _BY_HOOKS
    return by_hook and details.get("trigger") == "chat" and bool(details.get("places"))


def _addition(entry: Entry) -> dict[str, Any]:
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
