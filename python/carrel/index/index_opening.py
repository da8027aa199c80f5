"""Open the index of a folder: which files count, how they are cut, and what is opened where its place can't be written.

Imports are inside the functions: the server answers `initialize` first.

Indexes of remote models are folders inside the workspace's index folder, one for each model, beside the bundled model's own: that
one goes on answering while another is filled, a kill in between leaves both as they were, and going back costs a comparison with
the files.
"""

# ruff: noqa: PLC0415 - the core is imported by the first question, so that the server starts at once
from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import time
import weakref
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from carrel.index.index_location import IndexLocation, why_not_writable
from carrel.index.open_index import OpenIndex
from carrel.model.errors import InvalidInput, StoreError
from carrel.system import leftovers
from carrel.system.filesystem import FULL_DISK

if TYPE_CHECKING:
    from carrel.model.native import CutOptions, SecretOptions, Store, WalkOptions
    from carrel.model.ports import Embedder
    from carrel.settings.settings import Settings


log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def register_all() -> tuple[str, ...]:
    """Hand the language pack's grammars to the core, once a process; the languages that have one now. None without the extra.

    A grammar that can't be used is logged and left out: its files are cut by lines, as they are without the extra.
    """
    try:
        from tree_sitter_language_pack import get_binding  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return ()
    from carrel.model.native import register_grammar, registrable_grammars

    registered = []
    for name in registrable_grammars():
        try:
            binding = get_binding(name)  # type: ignore[arg-type,unused-ignore]
            registered.append(register_grammar(name, binding))
        except (LookupError, ImportError, OSError, InvalidInput) as error:
            log.info("The language pack's grammar %s is not used: %s", name, error)
    return tuple(registered)


LineWindows = tuple[int, int]
"""Lines of a window and overlap with the next one."""

_NO_SOURCES = ("/.carrel/", ".aider.*.history*")
"""Left out always: our own files, and Aider's logs of its chats, which would be the best hit for every question asked there."""


class IndexPlace(Struct, frozen=True):
    """Where an index of a workspace is, how it is cut, and why its folder can't be written, if so."""

    root: Path
    settings: Settings
    location: IndexLocation
    cut: CutOptions
    refused: OSError | None


def walk_options(settings: Settings) -> WalkOptions:
    """Return which files count by the settings."""
    from carrel.model.native import WalkOptions

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


def cut_options(settings: Settings, windows: LineWindows | None) -> CutOptions:
    """Return how files are cut. The grammars count as well: an index is the same, whoever writes it."""
    from carrel.model.native import CutOptions

    register_all()
    # A size that changes no chunk must not have the index cut again.
    lines = windows or line_windows(settings)
    return CutOptions(always_lines=lines) if lines else CutOptions(class_lines=settings.class_lines)


def line_windows(settings: Settings) -> LineWindows | None:
    """Return the windows that every file is cut into, where the settings ask for lines."""
    return (settings.chunk_lines, settings.chunk_overlap) if settings.chunking == "lines" else None


def secret_options(settings: Settings) -> SecretOptions:
    """Return what counts as a secret by the settings."""
    from carrel.model.native import SecretOptions

    return SecretOptions(
        patterns=settings.secret_patterns, allow_paths=settings.secret_allow_paths, allow_rules=settings.secret_allow_rules
    )


def question_mask(settings: Settings) -> Callable[[str], str]:
    """Return what masks the secrets of a question before it leaves the machine, by the settings."""
    from carrel.question.question_secrets import mask_by

    return mask_by(secret_options(settings))


def open_kept(place: IndexPlace, embedder: Embedder) -> OpenIndex | None:
    """Open the index where it belongs; None where nothing can be written and none can answer as it is."""
    location, refused = place.location, place.refused
    if refused and (refused.errno is None or not location.directory.is_dir()):  # no number: the folder isn't trusted
        return None
    try:
        store = _open_store(location.directory, place, embedder)
    except StoreError as error:
        if refused is None:
            raise
        log.warning("%s can't be read either: %s", location.directory, error)
        return None
    index = OpenIndex(place.root, store, embedder, location.directory, place_problems=location.problems)
    if refused is None and not store.read_only:
        index.in_project = place.root if location.in_workspace else None
    elif store.snapshot().files:
        reason = why_not_writable(location.directory) or _reason(refused)
        index.not_kept = (
            f"{location.directory} can't be written ({reason}): the index in it is read as it was left. "
            "Free some disk space, make the folder writable, or set `cacheFolder` to one that is."
        )
    else:
        store.close()
        return None
    return index


def open_temporary(place: IndexPlace, embedder: Embedder) -> OpenIndex:
    """Make an index that can't be kept; raises `StoreError` where there is no place for one either."""
    location, reason = place.location, _reason(place.refused)
    try:
        folder = leftovers.new_folder("carrel-")
    except OSError:
        raise StoreError(f"{location.directory} can't be written ({reason})", "Set `cacheFolder` to a folder that can.") from None
    try:
        store = _open_store(Path(folder), place, embedder)
    except BaseException:
        leftovers.drop_folder(folder)
        raise
    index = OpenIndex(place.root, store, embedder, Path(folder), place_problems=location.problems)
    index.temporary = True
    weakref.finalize(index, leftovers.drop_folder, folder)
    full = place.refused is not None and place.refused.errno in FULL_DISK
    index.not_kept = (
        f"{location.directory} can't be written ({reason}): the index is kept only until this process ends. "
        f"{'Free some disk space' if full else 'Make the folder writable'}, or set `cacheFolder` to a folder that can be written."
    )
    return index


def _open_store(directory: Path, place: IndexPlace, embedder: Embedder) -> Store:
    from carrel.model.native import Store

    return Store.open(
        str(directory),
        str(place.root),
        embedder_id=embedder.spec.id,
        dim=embedder.spec.dim,
        walk=walk_options(place.settings),
        cut=place.cut,
        languages=(*place.settings.editor_languages, *place.settings.languages),
        secrets=secret_options(place.settings),
    )


def _reason(refused: OSError | None) -> str:
    return (refused.strerror or str(refused)) if refused else "no right to write"


KEEP_UNUSED_SECONDS = 30 * 24 * 3600
"""A model's index is deleted after 30 days in which nobody opened it."""
_PREFIX = "model-"
_ABOUT = "model.json"


class ModelFolder(Struct, frozen=True):
    """Name the folder of one model's index."""

    directory: Path
    model: str

    @property
    def dim(self) -> int:
        """Return the dimension that was written there, 0 where none was."""
        try:
            about = json.loads((self.directory / _ABOUT).read_text("utf-8"))
            dim = about["dim"] if about["id"] == self.model else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return dim if type(dim) is int and dim > 0 else 0

    @property
    def exists(self) -> bool:
        """Tell whether an index was begun there."""
        return self.dim > 0

    def prepare(self, dim: int) -> None:
        """Make the folder, and note the model and this use. Raises `OSError`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        about = self.directory / _ABOUT
        if self.dim == dim:
            os.utime(about)  # its time is the last use
        else:
            about.write_text(json.dumps({"id": self.model, "dim": dim}), "utf-8")


def folder_of(home: Path, model: str) -> ModelFolder:
    """Return where a model's index is below a workspace's index folder."""
    digest = hashlib.blake2b(model.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    label = re.sub(r"[^a-z0-9.]+", "-", model.lower())[:40].strip("-.")
    return ModelFolder(home / f"{_PREFIX}{label}-{digest}", model)


def others(home: Path, used: Path | None = None) -> list[Path]:
    """List the folders of models below a workspace's index folder, but the one that is used."""
    return sorted(path for path in home.glob(f"{_PREFIX}*") if path.is_dir() and not path.is_symlink() and path != used)


def clean_up(home: Path, used: Path, *, now: float | None = None) -> list[Path]:
    """Delete indexes of models that nobody opened for 30 days; return those deleted."""
    now = time.time() if now is None else now
    deleted = []
    for path in others(home, used):
        with contextlib.suppress(OSError):  # not ours, or another process is at it
            if now - (path / _ABOUT).stat().st_mtime > KEEP_UNUSED_SECONDS:
                shutil.rmtree(path)
                deleted.append(path)
    return deleted
