"""From settings to concrete parts: the one place that names classes of `engine`, `providers` and the compiled core.

Imports are inside the functions: the server must answer `initialize` before any of it is loaded.
"""

# ruff: noqa: PLC0415 - the engine is imported by the first question, so that the server starts at once
from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from carrel.core.errors import CarrelError, StoreError
from carrel.server.index_location import IndexLocation, clean_up, locate, prepare
from carrel.server.index_state import STATE_FILE, export, forget
from carrel.server.jobs import Work

if TYPE_CHECKING:
    from carrel.core.local_index import CoreEmbedder
    from carrel.core.native import CancelToken, CutOptions, SecretOptions, Store, WalkOptions
    from carrel.core.ports import Tokenizer
    from carrel.engine.indexer import IndexReport
    from carrel.server.settings import Settings

log = logging.getLogger(__name__)

_LAST_INDEXED = "last_indexed"
_NO_SOURCES = ("/.carrel/", ".aider.*.history*")
"""Left out always: our own files, and Aider's logs of its chats, which would be the best hit for every question asked there."""


RENEWED = "The index was deleted while it was in use. It is being built anew: ask again in a moment."
_OF_THE_INDEX = (
    *("exclude", "excluded_folders", "editor_exclude", "max_file_bytes"),
    *("chunking", "chunk_lines", "chunk_overlap", "class_lines"),
    *("secret_patterns", "secret_allow_paths", "secret_allow_rules"),
    *("storage", "cache_folder"),
)
"""Settings that decide what an index holds or where it lives."""


@dataclass(slots=True)
class OpenIndex:
    """An index and what feeds it. `complete` says that a run over the whole workspace ended once."""

    root: Path
    store: Store
    embedder: CoreEmbedder
    directory: Path
    place_problems: tuple[str, ...] = ()  # why it isn't where or as it was asked to be
    complete: bool = False
    last_indexed: float | None = None
    temporary: TemporaryDirectory[str] | None = None  # goes with the process
    not_kept: str | None = None  # why what is indexed now will not be there next time
    renewed: bool = False  # made in place of one that was deleted while it was in use
    in_project: Path | None = None  # the project's folder, if the index lives in it

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with it, in words for a person."""
        told = (self.not_kept, RENEWED if self.being_renewed else None)
        return (*self.place_problems, *filter(None, told), *self.store.problems)

    @property
    def being_renewed(self) -> bool:
        """It takes the place of one that was deleted, and doesn't hold everything yet."""
        return self.renewed and not self.complete

    @property
    def begun(self) -> bool:
        """Somebody wanted this index: it holds something, or a whole run found nothing to hold."""
        return self.complete or self.store.snapshot().files > 0

    def follow(self) -> bool:
        """Load what the writer committed since; true when there was something."""
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
        """A run over the whole workspace has ended."""
        self.last_indexed = time.time()
        self.store.set_meta(_LAST_INDEXED, str(self.last_indexed))
        self.complete = True

    def clear(self) -> None:
        """Delete the index's content."""
        self.store.clear()
        if self.in_project is not None:
            forget(self.directory / STATE_FILE)
        self.complete, self.last_indexed = False, None


class Wiring:
    """What the server builds its workspaces from; tests hand in their own."""

    def new_token(self) -> CancelToken:
        """A token of the core."""
        from carrel.core.native import CancelToken

        return CancelToken()

    def warm_up(self, settings: Settings) -> None:
        """Load what the first question needs and what takes long to load: the engine, and the tokenizer's table."""
        from carrel.engine import context, explain, retriever  # noqa: F401

        self.tokenizer(settings, None).count("warm")

    def index_exists(self, root: Path, settings: Settings) -> bool:
        """True when an index was made before."""
        directory = self.index_folder(root, settings)
        return directory.is_dir() and any(entry.name != ".gitignore" for entry in directory.iterdir())

    def index_folder(self, root: Path, settings: Settings) -> Path:
        """Where the index lives, or will."""
        return locate(root, settings).directory

    def needs_reopening(self, old: Settings, new: Settings) -> bool:
        """True when the index must be opened anew to take these settings."""
        return any(getattr(old, key) != getattr(new, key) for key in _OF_THE_INDEX)

    def open_index(self, root: Path, settings: Settings) -> OpenIndex:
        """Open or create the index of `root`. Raises `StoreError`.

        One whose folder can't be written is read if it is whole; else one is made that goes with this process.
        """
        from carrel.providers.grammars import register_all
        from carrel.providers.local import bundled

        register_all()
        embedder = bundled()
        location = locate(root, settings)
        refused: OSError | None = None
        try:
            prepare(location, root)
        except OSError as error:
            refused = error
        index = _kept_index(location, root, settings, embedder, refused)
        if index is None:
            index = _temporary_index(location, root, settings, embedder, refused)
        index.read_meta()
        self._clean_up(location)
        return index

    def run_index(
        self, index: OpenIndex, work: Work, token: CancelToken, progress: Callable[[int, int, str], None]
    ) -> IndexReport:
        """Do one index job. Runs on an index thread; raises `Cancelled` with what was finished kept.

        Raises `StoreError` where the folder isn't there, or was taken away meanwhile: an unplugged disk must neither empty
        its index nor count as indexed.
        """
        _check_root(index.root)
        from carrel.core.native import give_back_memory
        from carrel.engine.indexer import IndexReport, run_index

        if not (work.full or index.begun):
            return IndexReport()  # cleared since these files were saved: an index that was not made stays unmade
        scope: Literal["all", "force"] | list[str] = "force" if work.force else "all" if work.full else sorted(work.paths)
        try:
            report = run_index(index.store, index.embedder, token, scope=scope, progress=progress)
        except CarrelError as error:
            # The error may be kept for long, and its frames hold the texts and vectors of a batch.
            traceback.clear_frames(error.__traceback__)
            raise
        finally:
            if work.full:
                give_back_memory()
        _check_root(index.root)
        if work.full:
            index.note_run()
            self.write_state(index)
        return report

    def write_state(self, index: OpenIndex) -> None:
        """Write what the index holds into the project, if it lives there."""
        if index.in_project is not None and index.begun:
            export(index.store, index.directory / STATE_FILE, self.head_sha(index.in_project))

    def head_sha(self, root: Path) -> str | None:
        """The commit that is checked out, if `root` is in a git repository."""
        from carrel.engine import git

        return git.head(root)

    def tokenizer(self, settings: Settings, model: str | None) -> Tokenizer:
        """The tokenizer of a chat model, or the one that is set."""
        from carrel.providers.tokenizers import ExactTokenizer, tokenizer_for

        return tokenizer_for(model) if model else ExactTokenizer(settings.tokenizer)

    def _clean_up(self, location: IndexLocation) -> None:
        if not location.in_workspace:
            for gone in clean_up(location.directory.parent):
                log.info("Deleted an index whose folder is gone for 30 days: %s", gone.name)


def _check_root(root: Path) -> None:
    if not root.is_dir():
        raise StoreError(f"{root} is gone; its index is kept. Bring the folder back, or delete the index: carrel clear {root}")


def walk_options(settings: Settings) -> WalkOptions:
    """Which files count by the settings."""
    from carrel.core.native import WalkOptions

    folders: dict[str, bool] = {}  # whether it is kept; what was said last counts
    for item in settings.excluded_folders:
        folders[item.removeprefix("!")] = item.startswith("!")
    left_out = (f"**/{name}/" for name, kept in folders.items() if not kept)
    return WalkOptions(
        max_file_bytes=settings.max_file_bytes,
        # The last pattern that fits counts: a person's own may bring back what the editor only hides.
        exclude=(*settings.editor_exclude, *settings.exclude, *left_out, *_NO_SOURCES),
        kept_folders=[name for name, kept in folders.items() if kept],
    )


def line_chunks(settings: Settings) -> tuple[int, int] | None:
    """Lines and overlap of the chunks of every file, where the settings ask for lines."""
    return (settings.chunk_lines, settings.chunk_overlap) if settings.chunking == "lines" else None


def cut_options(settings: Settings) -> CutOptions:
    """How files are cut by the settings."""
    from carrel.core.native import CutOptions

    # A size that changes no chunk must not have the index cut again.
    lines = line_chunks(settings)
    return CutOptions(always_lines=lines) if lines else CutOptions(class_lines=settings.class_lines)


def secret_options(settings: Settings) -> SecretOptions:
    """What counts as a secret by the settings."""
    from carrel.core.native import SecretOptions

    return SecretOptions(
        patterns=settings.secret_patterns, allow_paths=settings.secret_allow_paths, allow_rules=settings.secret_allow_rules
    )


def _open_store(directory: Path, root: Path, settings: Settings, embedder: CoreEmbedder) -> Store:
    from carrel.core.native import Store

    return Store.open(
        str(directory),
        str(root),
        embedder_id=embedder.spec.id,
        dim=embedder.spec.dim,
        walk=walk_options(settings),
        cut=cut_options(settings),
        secrets=secret_options(settings),
    )


def _kept_index(
    location: IndexLocation, root: Path, settings: Settings, embedder: CoreEmbedder, refused: OSError | None
) -> OpenIndex | None:
    """The index where it belongs; None where nothing can be written and none can answer as it is."""
    if refused and (refused.errno is None or not location.directory.is_dir()):  # no number: the folder isn't trusted
        return None
    try:
        store = _open_store(location.directory, root, settings, embedder)
    except StoreError as error:
        if refused is None:
            raise
        log.warning("%s can't be read either: %s", location.directory, error)
        return None
    index = OpenIndex(root, store, embedder, location.directory, location.problems)
    if refused is None and not store.read_only:
        index.in_project = root if location.in_workspace else None
    elif store.snapshot().files:
        index.not_kept = (
            f"{location.directory} can't be written ({_reason(refused)}): the index in it is read as it was left. "
            "Make the folder writable, or set `cacheFolder` to one that is."
        )
    else:
        store.close()
        return None
    return index


def _reason(refused: OSError | None) -> str:
    return (refused.strerror or str(refused)) if refused else "no right to write"


def _temporary_index(
    location: IndexLocation, root: Path, settings: Settings, embedder: CoreEmbedder, refused: OSError | None
) -> OpenIndex:
    """An index that can't be kept; raises `StoreError` where there is no place for one either."""
    reason = _reason(refused)
    try:
        place = TemporaryDirectory(prefix="carrel-", ignore_cleanup_errors=True)
    except OSError:
        raise StoreError(f"{location.directory} can't be written ({reason}). Set `cacheFolder` to a folder that can.") from None
    not_kept = f"{location.directory} can't be written ({reason}): the index is kept only until this process ends."
    store = _open_store(Path(place.name), root, settings, embedder)
    return OpenIndex(root, store, embedder, Path(place.name), location.problems, temporary=place, not_kept=not_kept)
