"""The messages about the index itself: what it holds, its runs, its deletion; and about the audit log."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import State, Wire
from carrel.frontends.lsp.messages.question_messages import FolderParams, ProgressToken


class StatusParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/status`: what the index holds and what it is doing."""


class ClearParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/clear`: delete the index of the folder."""


class IndexParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/index`: bring the index up to date, with `$/progress` in numbers of files."""

    force: Annotated[bool, Meta(description="Read and embed everything again.")] = False
    work_done_token: Annotated[ProgressToken | None, Meta(description="Where progress is reported.")] = None


class SkippedFile(Wire, kw_only=True, frozen=True):
    """A file that isn't in the index, and why."""

    path: str
    reason: str


class FailedFile(Wire, kw_only=True, frozen=True):
    """A file that could not be read, cut or embedded as a whole, and why. The next run tries it again unless it was refused."""

    path: str
    reason: str


class ModelInfo(Wire, kw_only=True, frozen=True):
    """The embedding model."""

    id: str
    dims: int


class VectorsInfo(Wire, kw_only=True, frozen=True):
    """The copy of an index's vectors in the store that is set."""

    kind: Annotated[str, Meta(description="`lancedb` or `qdrant`.")]
    place: str
    state: Annotated[
        Literal["waiting", "opening", "filling", "ready", "unreachable"],
        Meta(description="Whether it answers questions (`ready`); else the index's own vectors do."),
    ]
    leaves_machine: Annotated[bool, Meta(description="Whether vectors go to another machine.")]
    held: Annotated[int, Meta(description="Chunks that it holds.")]
    backlog: Annotated[int, Meta(description="Chunks that wait for being added or deleted there.")]
    lag_seconds: Annotated[float, Meta(description="For how long the oldest of these waits.")]
    problem: Annotated[str | UnsetType, Meta(description="Why it doesn't answer.")] = UNSET


class StatusResult(Wire, kw_only=True, frozen=True):
    """The state of one folder's index; also the content of `carrel/statusChanged`."""

    workspace_folder: str
    name: Annotated[str, Meta(description="What the folder is called in answers, beside others that are open.")]
    state: State
    role: Annotated[
        Literal["writer", "follower", "closed"],
        Meta(description="Whether this server writes the index, follows another, or hasn't opened it."),
    ]
    files: int
    chunks: int
    bytes: Annotated[int, Meta(description="Size of the index on disk.")]
    languages: Annotated[dict[str, int], Meta(description="Files by language.")]
    model: ModelInfo
    store: Annotated[str, Meta(description="The index's folder.")]
    vectors: Annotated[
        VectorsInfo | UnsetType, Meta(description="Where its vectors are kept besides, if the setting `store` says so.")
    ] = UNSET
    last_indexed: Annotated[str | UnsetType, Meta(description="ISO 8601, UTC.")] = UNSET
    last_commit_sha: Annotated[
        str | UnsetType, Meta(description="The commit that was checked out when the last run over all files began.")
    ] = UNSET
    head_sha: Annotated[str | UnsetType, Meta(description="The commit that is checked out now.")] = UNSET
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    complete: Annotated[
        bool, Meta(description="Whether a run over all files has ended. If not, `ready` means that a part of them answers.")
    ] = False
    unfinished: Annotated[
        int,
        Meta(
            description="Files that a run over all files has still to do, or left when it was cancelled, killed or failed; the "
            "next one resumes."
        ),
    ] = 0
    skipped: Annotated[tuple[SkippedFile, ...], Meta(description="What was left out, and why: the first 1,000.")]
    left_out: Annotated[dict[str, int], Meta(description="Paths left out, by reason.")] = msgspec.field(default_factory=dict)
    guessed_encodings: Annotated[int, Meta(description="Files whose encoding is a guess.")] = 0
    failed: Annotated[tuple[FailedFile, ...], Meta(description="Files that failed, and why: the first 1,000.")]
    failed_files: Annotated[int, Meta(description="How many files failed; `carrel/statusChanged` has this number alone.")]
    refused_files: Annotated[int, Meta(description="How many of these only hold a text that the model refused.")] = 0
    chunks_without_vectors: Annotated[
        int, Meta(description="Chunks that words alone find, until the embedding model gives them a vector.")
    ] = 0
    masked_files: Annotated[int, Meta(description="Files in which secrets are masked.")]
    masked_secrets: Annotated[int, Meta(description="How many secrets are masked in them.")]
    problems: Annotated[tuple[str, ...], Meta(description="What a person may want to mend, in words.")] = ()
    error: str | UnsetType = UNSET


class IndexResult(Wire, kw_only=True, frozen=True):
    """What one index run did, in files."""

    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: int
    failed: int
    refused: Annotated[int, Meta(description="Files that hold a text which the embedding model refused; they didn't fail.")] = 0
    chunks: Annotated[int, Meta(description="Chunks that were embedded.")]
    trivial: Annotated[
        int, Meta(description="Pieces of the added and changed files that were left out: too small, with no neighbour to join.")
    ]
    elapsed_ms: float


class ClearResult(Wire, kw_only=True, frozen=True):
    """How much was deleted."""

    freed_bytes: int


class AuditParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/audit`: what was given to whom, the newest first."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 50
    since: Annotated[str | None, Meta(description="A span such as `12h` or `7d`, or a date.")] = None
    kind: Annotated[
        str | None, Meta(description="Only `context`, `search`, `tool`, `answer`, `sent` or `permission`, for example.")
    ] = None


class AuditEntry(Wire, kw_only=True, frozen=True):
    """One entry of the log."""

    number: int
    at: Annotated[str, Meta(description="ISO 8601, UTC.")]
    kind: str
    user: str
    details: Annotated[dict[str, Any], Meta(description="Places, scores, hashes and sizes; docs/audit.md has the fields.")]


class AuditResult(Wire, kw_only=True, frozen=True):
    """The newest entries of the log, which all of the person's programs share."""

    entries: tuple[AuditEntry, ...]
    enabled: Annotated[bool, Meta(description="Whether anything is recorded at the moment.")]
    problem: Annotated[str | UnsetType, Meta(description="Why nothing can be written at the moment.")] = UNSET
