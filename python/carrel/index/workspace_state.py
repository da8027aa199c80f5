"""What a workspace is at one moment. A state is replaced on the event loop, never changed."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from carrel.index.open_index import OpenIndex
from carrel.model.errors import CarrelError
from carrel.settings.settings import Settings

State = Literal["empty", "indexing", "ready", "error"]


class Progress(Struct, frozen=True):
    """How far a run is: files done, files in all, the phase or path it is at, and what a remote model was sent so far."""

    done: int
    total: int
    at: str = ""
    sent: str = ""


class FolderSettings(Struct, frozen=True):
    """What settings files say about a folder, what is wrong with them, and why nothing may be read, if so."""

    settings: Settings = field(default_factory=Settings)
    problems: tuple[str, ...] = ()
    blocked: CarrelError | None = None  # while it stands, nothing is read


class WorkspaceState(Struct, frozen=True):
    """A workspace at one moment."""

    folder: FolderSettings = field(default_factory=FolderSettings)
    reported: bool = False  # the editor tells us of changes on disk
    watch_problem: str | None = None  # why we can't watch all of it ourselves
    index: OpenIndex | None = None
    error: str | None = None
    progress: Progress = field(default_factory=lambda: Progress(0, 0))


class StateCell:
    """Holds the state of this moment. Replaced on the event loop only; whoever reads it keeps what they read."""

    def __init__(self, first: WorkspaceState) -> None:
        self.now = first

    def replace(self, **changes: Any) -> None:
        """Put another state in its place."""
        self.now = replace(self.now, **changes)
