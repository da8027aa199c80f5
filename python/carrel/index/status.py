"""Plain values that describe an index and its runs; frontends turn them into wire structs or terminal lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from carrel.index.open_index import USE_MODEL
from carrel.index.workspace_state import State, WorkspaceState

if TYPE_CHECKING:
    from carrel.index.open_index import OpenIndex
    from carrel.index.replica import ReplicaStatus

Role = Literal["writer", "follower", "closed"]


class StatusDetails(Struct, frozen=True):
    """What a status costs a thread for."""

    skipped: tuple[tuple[str, str], ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    """Count the paths left out, by reason; `skipped` names the first of them."""
    guessed_encodings: int = 0
    """Files in an encoding that nothing names."""
    failed: tuple[tuple[str, str], ...] = ()
    head_sha: str | None = None
    writer_problem: str | None = None
    model_not_used: str | None = None
    """The problem that no run made the index of the model that is set, and none begins by itself."""


class Status(StatusDetails, frozen=True, kw_only=True):
    """The state of one workspace's index."""

    root: str
    state: State
    role: Role = "closed"
    files: int = 0
    chunks: int = 0
    bytes: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    model_id: str = ""
    dims: int = 0
    store: str = ""
    last_indexed: float | None = None
    last_commit: str | None = None
    pending: int = 0
    complete: bool = False
    """Whether a run over all files has ended."""
    unfinished: int = 0
    """Files that such a run has still to do, or left when it was stopped, killed or failed."""
    failed_files: int = 0
    """How many failed or lack vectors; `failed` names the first of them."""
    refused_files: int = 0
    """The number of these that lack vectors only because the model refused a text."""
    chunks_without_vectors: int = 0
    """The number that words alone find, as long as their model gives them no vector."""
    problems: tuple[str, ...] = ()
    masked: tuple[int, int] = (0, 0)
    """Files with masked secrets, and how many secrets those are."""
    error: str | None = None
    vectors: ReplicaStatus | None = None
    """The copy of its vectors in the store that is set, where there is one."""

    @classmethod
    def of(
        cls,
        root: str,
        now: WorkspaceState,
        state: State,
        pending: int,
        *,
        details: StatusDetails = StatusDetails(),
    ) -> Status:
        """Describe a workspace at this moment."""
        problems, index = now.folder.problems, now.index
        if now.watch_problem:
            problems = (*problems, now.watch_problem)
        error = str(now.folder.blocked) if now.folder.blocked else now.error
        if index is None:
            return cls(root=root, state=state, problems=problems, error=error, pending=pending)
        store = index.store
        snapshot = store.snapshot()
        files = store.kept_files  # without one, what is in the snapshot is the text of open buffers
        role: Role = store.role
        return cls(
            **asdict(details),
            root=root,
            state=state,
            role=role,
            files=files,
            chunks=snapshot.chunks if files else 0,
            bytes=store.bytes_on_disk,
            languages=snapshot.languages() if files else {},
            model_id=index.embedder.spec.id,
            dims=index.embedder.spec.dim,
            store=str(index.directory),
            last_indexed=index.last_indexed,
            last_commit=index.last_commit,
            pending=pending,
            complete=index.complete,
            unfinished=index.unfinished,
            failed_files=store.failed_count,
            refused_files=index.refused_files,
            chunks_without_vectors=snapshot.chunks_without_vectors if files else 0,
            problems=(*problems, *index.problems, *filter(None, (details.writer_problem, details.model_not_used))),
            error=error,
            masked=store.masked,
            vectors=index.replica.status() if index.replica else None,
        )


def read_details(index: OpenIndex, root: Path, most_files: int, *, switches: bool) -> StatusDetails:
    """Read so many skipped and failed files, the commit that is checked out, and why another writer can't write.

    `switches` says that the process makes the index of the model that is set by itself.
    """
    from carrel.git import git  # noqa: PLC0415 - search is imported by the first question

    if index.replica:
        index.replica.measure()
    skipped, failed = tuple(index.store.skipped(most_files)), tuple(index.store.failed()[:most_files])
    covered = switches or index.waits_for or index.last_failure  # among the index's problems
    model = f"{index.model_not_used} {USE_MODEL}" if index.model_not_used and not covered else None
    return StatusDetails(
        skipped,
        index.store.skipped_counts(),
        index.store.guessed_encodings,
        failed,
        git.head(root),
        index.writer_problem(),
        model,
    )
