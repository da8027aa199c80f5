"""`carrel sources`: what is searched beside the workspace, and in which state it is."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.frontends.cli.questions.in_process import with_commands
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.model.published import SCHEME
from carrel.service.workspace import Workspace
from carrel.sources import source_editing

_FIRST_INDEX_MS = 600_000


def run(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"add": _add, "remove": _remove, "list": _list}
    return actions[arguments.action](arguments, output)


def _add(arguments: Namespace, output: Output) -> int:
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
    if output.json:
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


def _remove(arguments: Namespace, output: Output) -> int:
    change = source_editing.removal(arguments.id)
    path = source_editing.write(change)
    if output.json:
        output.value({"file": str(path), "id": arguments.id})
    stays = "What is published stays." if change.source.kind == "repository" else "The folder itself is as it was."
    output.note(f"Taken out of {path}; what was kept of it is deleted. {stays}")
    return 0


def _list(arguments: Namespace, output: Output) -> int:
    async def work(commands: Commands, workspace: Workspace) -> Any:
        if arguments.index:
            for source in workspace.sources():
                await source.bring_up_to_date(_FIRST_INDEX_MS)
        return await commands.table()["carrel/sources"]({})

    result = with_commands(folder(arguments.path), output, work)
    if output.json:
        output.value(result)
        return 0
    for source in result.sources:
        output.text(f"{source.id}: {source.kind}, {source.state}, {source.files:,} files, {source.chunks:,} chunks")
        output.text(f"  {source.folder}; {source.description}")
        for problem in source.problems:
            output.text(f"  problem: {problem}")
        for file in source.failed:
            output.text(f"  not read: {file.path}: {file.reason}")
    return 0
