"""Adding, changing and removing sources in the person's settings file: checked and worded first, written when they agreed."""

from __future__ import annotations

import contextlib
import hashlib
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from carrel.model.errors import InvalidInput
from carrel.model.outbound import Destination
from carrel.model.plain_data import as_dict
from carrel.model.published import SCHEME, PublishedAddress
from carrel.model.remote import Confirmation
from carrel.settings.setting_checks import options_of
from carrel.settings.settings import resolve
from carrel.settings.settings_files import read_user
from carrel.settings.source_settings import SourceSettings, folder_of, read_sources
from carrel.sources import knowledge

MCP = "mcp://"
_PLACE = ("kind", "folder", "server", "prefix", "url")
"""The fields of a source that say where it is."""


class WantedSource(Struct, frozen=True):
    """A source as a person gives it. Of one that is there already, only what is given is changed."""

    id: str
    place: str = ""
    """An absolute folder, `mcp://SERVER[/PREFIX]` or `qdrant://HOST:PORT/NAME`; of a history empty for the workspace's own."""
    git: bool = False
    description: str = ""
    outdated_after_days: int = 0
    key: str = ""


class SourceChange(Struct, frozen=True):
    """What would be written: `fields` under the id, or None where the source is removed. `before` is None where it is new.

    `entry` is that of the settings file, None for none: nothing is written where it isn't so any more.
    """

    id: str
    source: SourceSettings
    before: SourceSettings | None
    fields: Mapping[str, Any] | None
    entry: Any = None

    @property
    def leaves(self) -> SourceSettings | None:
        """The source whose place isn't searched any more, if one isn't."""
        gone = self.before is not None and (self.fields is None or _place(self.before) != _place(self.source))
        return self.before if gone else None


def planned(wanted: WantedSource) -> SourceChange:
    """Return what adding a source would write. Raises `InvalidInput` that says what is wrong with it."""
    written = _written()
    published = bool(_existing(written, wanted.id, moved=False, repository=True)) and not wanted.place
    is_repository = published or SCHEME in f"{wanted.id} {wanted.place}"
    name, fields = (_repository if is_repository else _local)(wanted, written)
    try:  # with all others, which one too many would switch off
        source = dict(read_sources({**written, name: fields}).by_id)[name]
    except ValueError as error:
        raise InvalidInput("sources", str(error)) from None
    return SourceChange(name, source, _readable(written, name), fields, written.get(name))


def removal(name: str) -> SourceChange:
    """Return what removing a source would do. Raises `InvalidInput` where there is none of that id."""
    written = _written()
    if name not in written:
        raise InvalidInput("id", f"is no source; there are {', '.join(written) or 'none'}", value=name)
    source = _readable(written, name)
    return SourceChange(name, source or SourceSettings(folder="not readable"), source, None, written[name])


def write(change: SourceChange) -> Path:
    """Write a change to the person's settings file; return the file. Raises `CarrelError`.

    What is kept of a place that isn't searched any more is deleted.
    """
    from carrel.settings.settings_writer import set_source  # noqa: PLC0415 - it loads an editor of TOML

    path = set_source(change.id, change.fields, entry=change.entry)
    if change.leaves:
        knowledge.forget(resolve(read_user())[0], change.id, change.leaves)
    return path


def confirmation(change: SourceChange) -> Confirmation:
    """Return the question that a person answers before a change is written."""
    details = {"Name": change.id, "Place": place_of(change.source)}
    if change.fields is not None and change.leaves:
        details["Before"] = place_of(change.leaves)
    if change.source.description:
        details["Description"] = change.source.description
    if change.source.key:
        details["Key"] = change.source.key
    if change.source.outdated_after_days:
        details["Outdated after days"] = str(change.source.outdated_after_days)
    if change.fields is None:
        risk = "It isn't searched any more, and what Carrel keeps of it is deleted; the source itself stays as it is"
    else:
        risk = "Carrel reads it, and its passages can go to the chats and models that you ask, in all your projects"
    named = hashlib.sha256(repr((change.fields is None, sorted(details.items()))).encode("utf-8", "replace"))
    return Confirmation("source", risk, details, named.hexdigest()[:32])


def place_of(source: SourceSettings) -> str:
    """Return where a source is, in words."""
    if source.kind == "git":
        return f"git history of {source.folder or 'the workspace'}"
    return source.folder or source.url or f"{MCP}{source.server}{f'/{source.prefix}' if source.prefix else ''}"


def command_of(wanted: WantedSource) -> str:
    """Return the command that adds a source in a terminal."""
    options = {"--description": wanted.description, "--outdated-after": wanted.outdated_after_days, "--key": wanted.key}
    arguments = [word for option, value in options.items() if value for word in (option, str(value))]
    words = ["carrel", "sources", "add", wanted.id, *filter(None, [wanted.place]), *(["--git"] if wanted.git else []), *arguments]
    import shlex  # noqa: PLC0415 - few commands say one

    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _local(wanted: WantedSource, written: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the id and the settings of documents, a history, or a server's resources."""
    if wanted.key:
        raise InvalidInput("key", "is for repositories on a server")
    name, place = wanted.id, wanted.place
    if not place and name.startswith(MCP):  # the server's name is that of the source
        name, place = name.removeprefix(MCP).partition("/")[0], name
    server, _, prefix = place.removeprefix(MCP).partition("/") if place.startswith(MCP) else ("", "", "")
    folder = "" if server else place
    if folder:
        folder = _folder(folder)
    source = SourceSettings(
        kind="git" if wanted.git else "mcp" if server else "documents",
        folder=folder,
        server=server,
        prefix=prefix,
        description=wanted.description,
        outdated_after_days=wanted.outdated_after_days,
    )
    entry = _existing(written, name, moved=bool(place or wanted.git))
    if server and server not in resolve(read_user())[0].tools.servers:
        raise InvalidInput("place", f"there is no MCP server {server!r}", f"Add it: carrel tools add {server} -- PROGRAM")
    return name, {**entry, **options_of(source)}


def _folder(text: str) -> str:
    """Return the absolute path of a folder that exists."""
    try:
        path = Path(text).expanduser()
    except (RuntimeError, ValueError):  # no home folder, or a zero byte
        path = Path(text)
    if not path.is_absolute():
        raise InvalidInput("place", f"{text} is no absolute path")
    try:
        is_folder, resolved_path = path.is_dir(), str(path.resolve())
        resolved_path.encode()
    except UnicodeEncodeError:
        raise InvalidInput("place", "its name isn't UTF-8, so that no settings file can hold it") from None
    except (OSError, ValueError) as error:
        raise InvalidInput("place", f"{text} can't be opened ({getattr(error, 'strerror', None) or error})") from None
    if not is_folder:
        raise InvalidInput("place", f"{text} is no folder")
    return resolved_path


def _repository(wanted: WantedSource, written: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the id and the settings of a published repository; where no id is given, its name is one."""
    if wanted.git or wanted.outdated_after_days:
        raise InvalidInput("place", "is no folder", "Leave out --git and --outdated-after.")
    entry = _existing(written, wanted.id, moved=False, repository=True)
    address = PublishedAddress.read(wanted.place or str(entry.get("url", wanted.id)))
    name = wanted.id if wanted.place or entry else re.sub(r"[^a-z0-9_-]+", "-", address.name.lower())[:40]
    if str(address) != entry.get("url"):  # a key is for one server
        entry.pop("key", None)
    source = SourceSettings(kind="repository", url=str(address), key=wanted.key, description=wanted.description)
    return name, {**entry, **options_of(source)}


def destination(source: SourceSettings) -> Destination | None:
    """Return where questions go to be answered from a source; None where it is on this machine."""
    if source.kind != "repository":
        return None
    place = Destination("qdrant", PublishedAddress.read(source.url).host)
    return None if place.local else place


def _written() -> Mapping[str, Any]:
    """Return the sources as they stand in the person's settings file, right or wrong."""
    return as_dict(read_user().options.get("sources"))


def _readable(written: Mapping[str, Any], name: str) -> SourceSettings | None:
    try:
        return dict(read_sources({name: written[name]}).by_id)[name] if name in written else None
    except ValueError:
        return None


def _existing(written: Mapping[str, Any], name: str, *, moved: bool, repository: bool = False) -> dict[str, Any]:
    """Return the entry of the person's settings file under this id, if it is of that kind; where `moved`, without its place."""
    entry = written.get(name)
    if not isinstance(entry, dict) or (entry.get("kind") == "repository") != repository:
        return {}
    return {key: value for key, value in entry.items() if not moved or key not in _PLACE}


def _place(source: SourceSettings) -> tuple[object, ...]:
    """Return where a source is, the same for each way to write its folder."""
    folder: object = source.folder
    if source.folder:
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # one that can't be opened is compared as it is written
            folder = folder_of(source).resolve()
    return (folder, *(getattr(source, field) for field in _PLACE if field != "folder"))
