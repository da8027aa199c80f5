"""`carrel mcp install | uninstall`, as typed."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from carrel.frontends.cli.assistants.agents import Place, edits_of_client
from carrel.frontends.cli.assistants.command import carrel_command, difference, inside
from carrel.frontends.cli.assistants.install import apply, plan
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:
    """Change one client's configuration, or show the change."""
    install = arguments.action == "install"
    place = Place(arguments.scope or "global", str(folder(arguments.path)), os.environ, str(Path.home()))
    start, served = (arguments.start, arguments.serve_root) if install else (None, None)
    file = edits_of_client(arguments.client, place, start or carrel_command(place.scope), str(folder(served)) if served else "")
    inside(file.path, place)
    change = plan(file.path, file.edits, install=install, only=file.wanted)
    backup = apply(change) if change.needed and not arguments.dry_run else None
    if output.json:
        output.value({"path": str(change.path), "changed": change.needed, "backup": backup and str(backup)})
    elif not change.needed:
        output.text(f"{change.path}: nothing to change")
    elif arguments.dry_run:
        output.whole(difference(change))
    else:
        output.text(f"{change.path}: {'entered' if install else 'taken out'}" + (f" (before: {backup})" if backup else ""))
    return 0
