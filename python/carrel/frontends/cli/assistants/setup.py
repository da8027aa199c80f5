"""`carrel agents install | uninstall | status` and `carrel mcp install | uninstall`, as typed."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from carrel.frontends.agents.meeting_place import check, program
from carrel.frontends.cli.assistants.agents import (
    AGENTS,
    Agent,
    Place,
    edits_of_agent,
    edits_of_client,
    is_here,
    named,
    started_by,
)
from carrel.frontends.cli.assistants.install import Change, apply, apply_all, plan, standing
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.mcp.server_info import sdk_problem
from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.lines import lines_of
from carrel.model.wording import counted

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal import Output

TRIES = 5
"""An agent that runs writes its own settings at any time."""


class _Plan(Struct):
    """The changes of one agent's files."""

    name: str
    changes: list[Change] = field(default_factory=list)
    is_first: bool = False
    error: str = ""
    backups: list[Path] = field(default_factory=list)

    @property
    def agent(self) -> Agent:
        return AGENTS[self.name]

    @property
    def needed(self) -> bool:
        return any(change.needed for change in self.changes)


def run(arguments: Namespace, output: Output) -> int:
    """Install for agents, take out, or say what is there."""
    place = Place(arguments.scope or "global", str(folder(arguments.path)), os.environ, str(Path.home()))
    if arguments.action == "status":
        return _status(list(AGENTS) if arguments.agent == "all" else [arguments.agent], place, output)
    install = arguments.action == "install"
    plans = [_planned(name, place, install=install) for name in _chosen(arguments.agent, place, install=install)]
    needed = [agent_plan for agent_plan in plans if agent_plan.needed and not agent_plan.error]
    if arguments.dry_run:
        _show(needed, output)
    elif install and not arguments.yes and (new := [agent_plan for agent_plan in needed if agent_plan.is_first]):
        _ask(new, output)
    if install and (problem := sdk_problem()):
        output.warn(str(problem))
    if not arguments.dry_run:
        for agent_plan in needed:
            _apply(agent_plan, place, install=install)
    _tell(plans, place, output, install=install, dry_run=arguments.dry_run)
    return 1 if any(agent_plan.error for agent_plan in plans) else 0


def _chosen(choice: str, place: Place, *, install: bool) -> list[str]:
    """Return the agents that are meant; by `all` those that are here, and to take it out, any."""
    if choice != "all":
        return [choice]
    names = [name for name, agent in AGENTS.items() if not install or (is_here(agent, place) and not agent.only_by_name)]
    if not names:
        titles = ", ".join(agent.title for agent in AGENTS.values() if not agent.only_by_name)
        raise CarrelError(f"None of these was found: {titles}", "Name one that is to be set up all the same.")
    return names


def _planned(name: str, place: Place, *, install: bool) -> _Plan:
    """Plan all files of an agent before any is touched."""
    agent_plan = _Plan(name)
    try:
        hook = str(program()) if install and agent_plan.agent.starts_program else ""
        files = list(edits_of_agent(agent_plan.agent, place, carrel_command(place.scope), hook))
        for file in files:
            inside(file.path, place)
        agent_plan.is_first = not any(standing(file.path, file.edits) for file in files)
        agent_plan.changes = [plan(file.path, file.edits, install=install, only=file.wanted) for file in files]
    except CarrelError as error:
        agent_plan.error = str(error)
    return agent_plan


def _ask(plans: Sequence[_Plan], output: Output) -> None:
    """Have a person agree to what is written for the first time."""
    if not (sys.stdin and sys.stderr and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            "--yes",
            "is missing: nobody can be asked here, and this writes into the settings of other programs",
            "See what by --dry-run, then give --yes.",
        )
    for agent_plan in plans:
        for line in (line for change in agent_plan.changes if change.needed for line in difference(change).split("\n")):
            output.warn(line)
    files = [change.path for agent_plan in plans for change in agent_plan.changes if change.needed]
    sys.stderr.write(f"Write this into {counted(len(files), 'file')}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CarrelError("Nothing was written")


def _apply(agent_plan: _Plan, place: Place, *, install: bool) -> None:
    """Make an agent's changes, planned anew: Claude Code and Copilot CLI share a folder's `.mcp.json`."""
    for _ in range(TRIES):
        planned = _planned(agent_plan.name, place, install=install)
        agent_plan.changes, agent_plan.error = planned.changes, planned.error
        try:
            agent_plan.backups = apply_all(agent_plan.changes)
        except CarrelError as error:
            agent_plan.error = str(error)
            if error.retryable:
                continue
        return


def _show(plans: Sequence[_Plan], output: Output) -> None:
    if not output.json:
        for agent_plan in plans:
            for change in agent_plan.changes:
                if change.needed:
                    output.whole(difference(change))


def _tell(plans: Sequence[_Plan], place: Place, output: Output, *, install: bool, dry_run: bool) -> None:
    rows: list[dict[str, Any]] = []
    for agent_plan in plans:
        trust = (agent_plan.agent.trust_workspace if place.scope == "workspace" else agent_plan.agent.trust) if install else ""
        rows.append(
            {
                "agent": agent_plan.name,
                "files": [{"path": str(change.path), "changed": change.needed} for change in agent_plan.changes],
                "backups": [str(path) for path in agent_plan.backups],
                "trust": trust,
                **({"error": agent_plan.error} if agent_plan.error else {}),
            }
        )
        title = agent_plan.agent.title
        if agent_plan.error and not output.json:
            output.warn(f"{title}: {agent_plan.error}")
        elif not agent_plan.needed:
            output.text(f"{title}: nothing to change")
        elif not dry_run:
            written = ", ".join(str(change.path) for change in agent_plan.changes if change.needed)
            output.text(f"{title}: {'entered' if install else 'taken out'} ({written})")
        if trust and not agent_plan.error:
            output.text(f"  {trust}")
    output.value({"agents": rows})


def _status(names: Sequence[str], place: Place, output: Output) -> int:
    rows = [_row(name, place) for name in names]
    output.value({"agents": rows})
    for row in rows:
        output.text(f"{AGENTS[row['agent']].title}: {row['state']}" + (f" ({row['detail']})" if row["detail"] else ""))
    return 0


def _row(name: str, place: Place) -> dict[str, str]:
    """Compare an agent's files with what this installation would write."""
    agent, detail, hook, lacks = AGENTS[name], "", "", list[str]()
    try:
        try:
            if agent.starts_program:
                hook = str(program())
                check()
        except CarrelError as error:
            lacks.append(str(error))
        entries = [
            (file.path, edit, standing(file.path, [edit]))
            for file in edits_of_agent(agent, place, carrel_command(place.scope), hook)
            for edit in file.wanted
        ]
    except CarrelError as error:
        return {"agent": name, "state": "can't be read", "detail": str(error)}
    missing = [f"{named(agent, edit)} is missing in {path}" for path, edit, there in entries if not there]
    lacks = [*missing, *lacks]
    other = [
        f"{named(agent, edit)} in {path}"
        for path, edit, there in entries
        for value in there
        if started_by(edit, value) != started_by(edit, edit.value)
    ]
    if len(missing) == len(entries):
        state = "not installed" if is_here(agent, place) else "not here"
    elif lacks:
        state, detail = "incomplete", "; ".join(lacks)
    elif other:
        state, detail = "installed by another version or path", "; ".join(other)
    else:
        state = "installed"
    return {"agent": name, "state": state, "detail": detail}


def configure(arguments: Namespace, output: Output) -> int:
    """Change one client's configuration."""
    install = arguments.action == "install"
    place = Place(arguments.scope or "global", str(folder(arguments.path)), os.environ, str(Path.home()))
    file = edits_of_client(arguments.client, place, carrel_command(place.scope))
    inside(file.path, place)
    change = plan(file.path, file.edits, install=install, only=file.wanted)
    backup = apply(change) if change.needed else None
    output.value({"path": str(change.path), "changed": change.needed, "backup": backup and str(backup)})
    done = ("entered" if install else "taken out") if change.needed else "nothing to change"
    output.text(f"{change.path}: {done}" + (f" (before: {backup})" if backup else ""))
    return 0


def carrel_command(scope: str) -> str:
    """Return how the client starts Carrel. A workspace's file is shared with others, whose Carrel is elsewhere."""
    if scope == "workspace":
        return "carrel"
    beside = Path(sys.argv[0])
    if beside.stem == "carrel" and beside.is_file():
        return str(beside.absolute())
    return shutil.which("carrel") or "carrel"


def inside(path: Path, place: Place) -> None:
    """Refuse a file of a folder that leads out of it. Raises `CarrelError`."""
    if place.scope == "workspace" and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place.folder)):
        raise CarrelError(f"{path} leads out of the folder; it was left as it is")


def difference(change: Change) -> str:
    """Return a change as lines that go and come."""
    before, after = (lines_of(data.decode("utf-8", "replace")) if data else [] for data in (change.before, change.after))
    return "\n".join(difflib.unified_diff(before, after, str(change.path), str(change.path), lineterm=""))
