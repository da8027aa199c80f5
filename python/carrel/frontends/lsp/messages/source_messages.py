"""What travels about sources: what is searched beside the workspace, and in which state each source is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import State, Wire, iso_time
from carrel.frontends.lsp.messages.index_messages import FailedFile
from carrel.frontends.lsp.messages.question_messages import FolderParams

if TYPE_CHECKING:
    from carrel.sources.source_state import SourceReport


class SourcesParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources`: what a question in this folder can be answered from. Makes no index."""


class SourceResult(Wire, kw_only=True, frozen=True):
    """One source."""

    id: Annotated[str, Meta(description="The name that `sources` of other requests takes.")]
    kind: Annotated[str, Meta(description="`code` for the workspace, `documents`, `git` or `mcp`.")]
    description: Annotated[str, Meta(description="What whoever chooses between sources sees.")]
    folder: str
    state: State
    files: int
    chunks: int
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    last_indexed: Annotated[str | UnsetType, Meta(description="When it was last compared with its folder. ISO 8601, UTC.")] = (
        UNSET
    )
    problems: Annotated[tuple[str, ...], Meta(description="What a person may want to mend, in words.")] = ()
    failed: Annotated[tuple[FailedFile, ...], Meta(description="What could not be read, and why.")] = ()


class SourcesResult(Wire, kw_only=True, frozen=True):
    """The workspace first, then the others in the order of the settings."""

    sources: tuple[SourceResult, ...]


class SourcesAddParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources/add`: add a source to the person's own settings file, or change one. The person is asked first."""

    id: Annotated[str, Meta(min_length=1, max_length=300, description="What it is called: small letters, digits, `-` and `_`.")]
    place: Annotated[
        str,
        Meta(
            max_length=4_000,
            description="A folder (absolute, or with `~`), `mcp://SERVER` with the beginning of the resources' URIs behind it, "
            "or `qdrant://HOST:PORT/NAME`. With `git` empty for the workspace's own history.",
        ),
    ] = ""
    git: Annotated[bool, Meta(description="The history of a repository, in place of documents.")] = False
    description: Annotated[str, Meta(max_length=300, description="One line on what it holds, for whoever chooses.")] = ""
    outdated_after_days: Annotated[int, Meta(ge=0, le=36_500, description="Mark documents that are older as outdated.")] = 0
    key: Annotated[str, Meta(max_length=200, description="Where a server's key is: `env:NAME`, `keyring` or `none`.")] = ""


class SourcesRemoveParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/sources/remove`: take a source out of the settings file, with what is kept of it. The person is asked first."""

    id: Annotated[str, Meta(min_length=1, max_length=300)]


class SourceChanged(Wire, kw_only=True, frozen=True):
    """What became of it."""

    id: str
    changed: Annotated[bool, Meta(description="False where the person said no, or nobody could ask them.")]
    file: Annotated[str | UnsetType, Meta(description="The settings file that was written.")] = UNSET
    problem: Annotated[str | UnsetType, Meta(description="Why nothing was changed, and how else to do it.")] = UNSET


def from_report(report: SourceReport) -> SourceResult:
    """Encode the state of a source."""
    return SourceResult(
        id=report.id,
        kind=report.kind,
        description=report.description,
        folder=report.folder,
        state=report.state,
        files=report.files,
        chunks=report.chunks,
        pending=report.pending,
        last_indexed=UNSET if report.updated is None else iso_time(report.updated),
        problems=report.problems,
        failed=tuple(FailedFile(path=path, reason=reason) for path, reason in report.failed),
    )
