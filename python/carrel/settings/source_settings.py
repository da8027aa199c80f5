"""The settings of sources beside the workspace: folders of documents, git history, and published repositories.

Only the person's own settings file counts: neither a project nor an editor's settings, which a project may bring along, can name
a folder to be read.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.model.errors import InvalidInput
from carrel.model.published import PublishedAddress
from carrel.model.structs import decode
from carrel.settings.setting_checks import check_key_place, is_source_name, refuse_unknown, sentence_of

SourceKind = Literal["documents", "git", "mcp", "repository"]
WORKSPACE = "workspace"
"""The id of the workspace itself among the sources."""
MOST_SOURCES = 50


class SourceSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One source."""

    kind: Annotated[
        SourceKind,
        Meta(
            description="`documents` is a folder of them, `git` the history of a repository, `mcp` resources of a server, "
            "`repository` one that `carrel publish` published."
        ),
    ] = "documents"
    folder: Annotated[
        str,
        Meta(
            description="Its absolute path; `~` is your home folder. For `git` it may be empty: the repository of the workspace."
        ),
    ] = ""
    url: Annotated[str, Meta(description="Of `repository` its address, `qdrant://HOST:PORT/NAME`.")] = ""
    key: Annotated[
        str, Meta(description="Of `repository` where its key is: `env:NAME`, `keyring`, `editor` or `none`; empty for none.")
    ] = ""
    server: Annotated[str, Meta(description="For `mcp`: the name of a server among `tools.servers`.")] = ""
    prefix: Annotated[str, Meta(description="For `mcp`: how the URIs of the resources begin; empty for all.")] = ""
    description: Annotated[
        str, Meta(description="One line that says what it holds, for whoever chooses between sources.", max_length=300)
    ] = ""
    outdated_after_days: Annotated[
        int, Meta(description="Documents that are older are marked as outdated and count for less; 0 for never.", ge=0, le=36_500)
    ] = 0


class Sources(Struct, frozen=True):
    """Every source by its id, in the order of the settings."""

    by_id: tuple[tuple[str, SourceSettings], ...] = ()


def read_sources(raw: object) -> Sources:
    """Read the setting `sources`. Raises `ValueError` that says what is wrong where."""
    if not isinstance(raw, dict):
        raise ValueError("must be a table of sources by their ids")  # noqa: TRY004 - whoever reads settings expects it
    if len(raw) > MOST_SOURCES:
        raise ValueError(f"may name at most {MOST_SOURCES} sources, not {len(raw)}")
    return Sources(tuple((str(name), _read(str(name), value)) for name, value in raw.items()))


def _read(name: str, raw: object) -> SourceSettings:
    check_id(name)
    names = [field.encode_name for field in msgspec.structs.fields(SourceSettings)]
    if not isinstance(raw, dict):
        raise ValueError(f"{name}: must be a table with {', '.join(names)}")  # noqa: TRY004 - likewise
    refuse_unknown(raw, SourceSettings, f"{name}.")
    for key, value in raw.items():
        if isinstance(value, str) and any(unicodedata.category(c) == "Cc" for c in value):
            raise ValueError(f"{name}.{key}: must have no control characters")
    try:
        source = decode(SourceSettings, raw)
    except InvalidInput as error:
        raise ValueError(f"{name}: {sentence_of(error)}") from None
    if source.kind == "repository":
        return _checked_repository(name, source)
    if source.url or source.key:
        raise ValueError(f"{name}: only a source of the kind `repository` has `url` and `key`")
    if not source.folder and source.kind == "documents":
        raise ValueError(f"{name}.folder: must name the folder of the documents")
    if (
        (source.kind == "mcp") != bool(source.server)
        or (source.prefix and not source.server)
        or (source.server and source.folder)
    ):
        raise ValueError(f'{name}: a source of MCP resources has `kind = "mcp"` and a `server`, and no `folder`')
    if source.folder and not folder_of(source).is_absolute():
        raise ValueError(f"{name}.folder: must be an absolute path, not {source.folder!r}")
    return source


def _checked_repository(name: str, source: SourceSettings) -> SourceSettings:
    if source.folder:
        raise ValueError(f"{name}.folder: a published repository has a `url` and no folder")
    check_key_place(f"{name}.key", source.key)
    try:
        PublishedAddress.read(source.url)
    except InvalidInput as error:
        raise ValueError(f"{name}.url: {error.sentence}") from None
    return source


def check_id(name: str) -> None:
    """Raise `ValueError` for what can't be the id of a source."""
    if not is_source_name(name) or name == WORKSPACE:
        raise ValueError(
            f"{name[:60]!r} can't be the id of a source: use up to 40 small letters, digits, `-` and `_`, but not {WORKSPACE!r}"
        )


def folder_of(source: SourceSettings) -> Path:
    """Return the folder that a source names."""
    try:
        return Path(source.folder).expanduser()
    except RuntimeError:  # no home folder
        return Path(source.folder)
