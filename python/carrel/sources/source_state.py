"""What a source of a workspace's answers is at one moment: a value."""

from __future__ import annotations

from dataclasses import dataclass

from carrel.index.workspace_state import State


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The state of one source; `files` and `chunks` count what its indexes hold, `updated` is when they were last compared."""

    id: str
    kind: str
    description: str
    folder: str = ""
    state: State = "empty"
    files: int = 0
    chunks: int = 0
    pending: int = 0
    updated: float | None = None
    problems: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
