"""Plain values that describe an index and its runs; frontends turn them into wire structs or terminal lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from carrel.server.wiring import OpenIndex

State = Literal["empty", "indexing", "ready", "error"]
Role = Literal["writer", "follower", "closed"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: files done, files in all, and the phase or path it is at."""

    done: int
    total: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class Status:
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
    head_sha: str | None = None
    pending: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()
    masked: tuple[int, int] = (0, 0)
    """Files with masked secrets, and how many secrets those are."""
    error: str | None = None

    @classmethod
    def of(
        cls,
        index: OpenIndex,
        root: str,
        state: State,
        *,
        pending: int,
        skipped: tuple[tuple[str, str], ...],
        head_sha: str | None,
    ) -> Status:
        """What an open index holds at this moment."""
        store = index.store
        snapshot = store.snapshot()
        role: Role = store.role
        return cls(
            root,
            state,
            role=role,
            files=snapshot.files,
            chunks=snapshot.chunks,
            bytes=store.bytes_on_disk,
            languages=snapshot.languages(),
            model_id=index.embedder.spec.id,
            dims=index.embedder.spec.dim,
            store=str(index.directory),
            last_indexed=index.last_indexed,
            head_sha=head_sha,
            pending=pending,
            skipped=skipped,
            masked=store.masked,
        )
