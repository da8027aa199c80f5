"""An index that is open: its store, the model that feeds it, and what is known of how complete it is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from carrel.server.index_state import STATE_FILE, forget

if TYPE_CHECKING:
    from carrel.core.native import Store
    from carrel.core.ports import Embedder, Tokenizer

RENEWED = "The index was deleted or damaged while it was in use. It is being built anew: ask again in a moment."
_LAST_INDEXED = "last_indexed"


@dataclass(slots=True)
class OpenIndex:
    """An index and what feeds it. `complete` says that a run over the whole workspace ended once.

    Its methods do native work and belong on a thread.
    """

    root: Path
    store: Store
    embedder: Embedder
    directory: Path
    counter: Tokenizer | None = None  # counts the texts of a model that has a limit
    place_problems: tuple[str, ...] = ()  # why it isn't where or as it was asked to be
    complete: bool = False
    last_indexed: float | None = None
    temporary: TemporaryDirectory[str] | None = None  # goes with the process
    not_kept: str | None = None  # why what is indexed now will not be there next time
    renewed: bool = False  # made in place of one that was deleted while it was in use
    in_project: Path | None = None  # the project's folder, if the index lives in it

    @property
    def problems(self) -> tuple[str, ...]:
        """Name what is wrong with it, in words for a person."""
        told = (self.not_kept, RENEWED if self.being_renewed else None)
        return (*self.place_problems, *filter(None, told), *self.store.problems)

    @property
    def being_renewed(self) -> bool:
        """Tell whether it takes the place of one that was deleted, and doesn't hold everything yet."""
        return self.renewed and not self.complete

    @property
    def begun(self) -> bool:
        """Tell whether somebody wanted this index: it holds something, or a whole run found nothing to hold."""
        return self.complete or self.store.snapshot().files > 0

    def follow(self) -> bool:
        """Load what the writer committed since; return whether there was something."""
        news = self.store.follow()
        if news:
            self.read_meta()
        return news

    def read_meta(self) -> None:
        """Read when the last whole run ended."""
        stamp = self.store.get_meta(_LAST_INDEXED)
        self.last_indexed = float(stamp) if stamp else None
        self.complete = self.last_indexed is not None

    def note_run(self) -> None:
        """Record that a run over the whole workspace has ended."""
        self.last_indexed = time.time()
        self.store.set_meta(_LAST_INDEXED, str(self.last_indexed))
        self.complete = True

    def clear(self) -> None:
        """Delete the index's content."""
        self.store.clear()
        if self.in_project is not None:
            forget(self.directory / STATE_FILE)
        self.complete, self.last_indexed = False, None
