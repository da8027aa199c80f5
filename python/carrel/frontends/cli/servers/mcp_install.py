"""`carrel mcp install | uninstall`, as typed."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.frontends.cli.questions.in_process import folder
from carrel.frontends.mcp.clients import CLIENTS, Scope, System, configuration
from carrel.frontends.mcp.install import Change, apply, plan
from carrel.model.errors import CarrelError
from carrel.model.lines import lines_of

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal.output import Output


def run(arguments: Namespace, output: Output) -> int:
    """Change one client's configuration, or show the change."""
    client = CLIENTS[arguments.client]
    scope: Scope = arguments.scope or "global"
    root = folder(arguments.path)
    system: System = "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
    path = Path(configuration(arguments.client, scope, str(root), system, os.environ, str(Path.home())))
    if scope == "workspace" and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise CarrelError(f"{path} leads out of the folder; it was left as it is")
    entry = None
    if arguments.action == "install":
        served = str(folder(arguments.serve_root)) if arguments.serve_root else ""
        entry = client.entry(arguments.start or _command(scope), served)
    change = plan(path, client.section, entry)
    backup = apply(change) if change.needed and not arguments.dry_run else None
    if output.json:
        output.value({"path": str(change.path), "changed": change.needed, "backup": backup and str(backup)})
    elif not change.needed:
        output.text(f"{change.path}: nothing to change")
    elif arguments.dry_run:
        output.whole(_difference(change))
    else:
        output.text(f"{change.path}: {'entered' if entry else 'taken out'}" + (f" (before: {backup})" if backup else ""))
    return 0


def _command(scope: str) -> str:
    """Return how the client starts Carrel. A workspace's file is shared with others, whose Carrel is elsewhere."""
    if scope == "workspace":
        return "carrel"
    beside = Path(sys.argv[0])
    if beside.stem == "carrel" and beside.is_file():
        return str(beside.absolute())
    return shutil.which("carrel") or "carrel"


def _difference(change: Change) -> str:
    before, after = (lines_of((data or b"").decode("utf-8", "replace")) for data in (change.before, change.after))
    return "\n".join(difflib.unified_diff(before, after, str(change.path), str(change.path), lineterm=""))
