"""`carrel sources`: what is searched beside the workspace, and in which state it is."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrel.core.errors import InvalidInput
from carrel.core.outbound import Destination
from carrel.core.published import SCHEME, PublishedAddress
from carrel.frontends.cli.in_process import folder, with_commands
from carrel.server import knowledge
from carrel.server.settings import resolve
from carrel.server.settings_files import read_user
from carrel.server.settings_writer import set_source
from carrel.server.source_settings import read_sources

if TYPE_CHECKING:
    from carrel.frontends.cli.output import Output
    from carrel.frontends.lsp.commands import Commands
    from carrel.server.workspace import Workspace

_FIRST_INDEX_MS = 600_000
_MCP = "mcp://"
_PLACE = ("kind", "folder", "server", "prefix")
"""The fields of a source that say where it is."""


def run(arguments: Namespace, output: Output) -> int:
    """Do what the action says."""
    actions = {"add": _add, "remove": _remove, "list": _list}
    return actions[arguments.action](arguments, output)


def _add(arguments: Namespace, output: Output) -> int:
    if SCHEME in f"{arguments.id} {arguments.folder}":
        return _add_repository(arguments, output)
    if arguments.key:
        raise InvalidInput("--key", "is for repositories on a server")
    name, place = arguments.id, arguments.folder
    if place is None and name.startswith(_MCP):  # the server's name is that of the source
        name, place = name.removeprefix(_MCP).partition("/")[0], name
    server, _, prefix = place.removeprefix(_MCP).partition("/") if place and place.startswith(_MCP) else ("", "", "")
    folder_named = place if place and not server else ""
    known = _known(name, moved=bool(place or arguments.git))
    given = {
        "kind": "git" if arguments.git else "mcp" if server else "",
        "folder": str(Path(folder_named).expanduser().resolve()) if folder_named else "",
        "server": server,
        "prefix": prefix,
        "description": arguments.description,
        "outdatedAfterDays": arguments.outdated_after,
    }
    fields = {**known, **{key: value for key, value in given.items() if value}}
    if folder_named and not Path(folder_named).expanduser().is_dir():
        raise InvalidInput("FOLDER", f"{folder_named} is no folder")
    settings, _ = resolve(read_user())
    if server and server not in settings.tools.servers:
        raise InvalidInput("FOLDER", f"there is no MCP server {server!r}", f"Add it: carrel tools add {server} -- PROGRAM")
    try:
        [(_, source)] = read_sources({name: fields}).by_id
    except ValueError as error:
        raise InvalidInput("sources", str(error)) from None
    before = dict(settings.sources.by_id).get(name)
    path = set_source(name, fields)
    if before and any(getattr(before, field) != getattr(source, field) for field in _PLACE):
        knowledge.forget(resolve(read_user())[0], name, before)
    if output.json:
        output.value({"file": str(path), "id": name, "kind": source.kind, "folder": source.folder, "updated": bool(known)})
    if known:
        output.note(f"{name} was a source already: {path} has what you gave now, and of the rest what it had.")
    else:
        output.note(f"Written to {path}. Every workspace of yours is searched together with it from now on.")
    return 0


def _add_repository(arguments: Namespace, output: Output) -> int:
    """Name a published repository; where no id is given, its name is one."""
    if arguments.git or arguments.outdated_after:
        raise InvalidInput("URL", "is no folder", "Leave out --git and --outdated-after.")
    url = arguments.folder or arguments.id
    address = PublishedAddress.read(url)
    name = arguments.id if arguments.folder else re.sub(r"[^a-z0-9_-]+", "-", address.name.lower())[:40]
    given = {"kind": "repository", "url": str(address), "key": arguments.key, "description": arguments.description}
    fields = {key: value for key, value in given.items() if value}
    try:
        read_sources({name: fields})
    except ValueError as error:
        raise InvalidInput("sources", str(error)) from None
    path = set_source(name, fields)
    if output.json:
        output.value({"file": str(path), "id": name, "kind": "repository", "url": str(address)})
    output.note(f"Written to {path}. Every workspace of yours is searched together with it from now on.")
    if not Destination("qdrant", address.host).local:
        output.note(
            f"Questions are sent there, as vectors and hashed words, once you allowed it: carrel confirm qdrant {address.host}"
        )
    return 0


def _known(name: str, *, moved: bool) -> dict[str, Any]:
    """Return what the person's settings file has under this id; without where it is, if that is given anew."""
    sources = read_user().options.get("sources")
    found = sources.get(name) if isinstance(sources, dict) else None
    if not isinstance(found, dict) or found.get("kind") == "repository":
        return {}
    return {key: value for key, value in found.items() if not moved or key not in _PLACE}


def _remove(arguments: Namespace, output: Output) -> int:
    settings, _ = resolve(read_user())
    found = dict(settings.sources.by_id).get(arguments.id)
    if found is None:
        known = ", ".join(name for name, _ in settings.sources.by_id) or "none"
        raise InvalidInput("ID", f"is no source; there are {known}", value=arguments.id)
    path = set_source(arguments.id, None)
    knowledge.forget(resolve(read_user())[0], arguments.id, found)
    if output.json:
        output.value({"file": str(path), "id": arguments.id})
    stays = "What is published stays." if found.kind == "repository" else "The folder itself is as it was."
    output.note(f"Taken out of {path}; what was kept of it is deleted. {stays}")
    return 0


def _list(arguments: Namespace, output: Output) -> int:
    async def work(commands: Commands, workspace: Workspace) -> Any:
        if arguments.index:
            for source in workspace.sources():
                await source.bring_up_to_date(_FIRST_INDEX_MS)
        return await commands.sources({})

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
