"""What `carrel tune` learned of a workspace, kept as one file beside its index in the user's cache folder.

The file is never read from inside the workspace: a project that somebody else wrote can't bring one, also where the setting
`storage` has the index itself there. It holds words of the subjects of commits, their secrets masked, and paths. One that is
damaged or out of bounds counts as not there, with a notice.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from carrel.core.atomic_file import replace_file
from carrel.core.commit_memory import CommitMemory, HistoryAdapter, RememberedCommit
from carrel.core.errors import StoreError
from carrel.server.index_location import IndexLocation, cache_root, folder_name, prepare
from carrel.server.settings import Settings

log = logging.getLogger(__name__)

TUNING_FILE = "tuning.json"
VERSION = 1
_MOST_BYTES = 8_000_000
_MOST_COMMITS, _MOST_WORDS, _MOST_PATHS, _MOST_FILES = 2_000, 40, 12, 24_000
_Word = Annotated[str, Meta(min_length=1, max_length=200)]
_Path = Annotated[str, Meta(min_length=1, max_length=4_096)]
_Place = Annotated[int, Meta(ge=0, lt=_MOST_FILES)]
_Share = Annotated[float, Meta(ge=-1, le=1)]


class TuningFigures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was measured when it was learned: NDCG@10 over so many held-back commits, and 90 % of the gain's bootstrap."""

    questions: Annotated[int, Meta(ge=1, le=100_000)]
    without: _Share
    with_it: _Share
    gain: _Share
    low: _Share
    high: _Share


class TuningRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. A commit is its words and the places of its paths in `paths`; `at` is in Unix seconds."""

    version: Annotated[int, Meta(ge=VERSION, le=VERSION)] = VERSION
    model: Annotated[str, Meta(max_length=500)]
    commit: Annotated[str, Meta(max_length=64)]
    at: Annotated[float, Meta(ge=0, le=1e12)]
    weight: Annotated[float, Meta(gt=0, le=1)]
    figures: TuningFigures
    paths: Annotated[tuple[_Path, ...], Meta(max_length=_MOST_FILES)]
    commits: Annotated[
        tuple[
            tuple[
                Annotated[tuple[_Word, ...], Meta(min_length=1, max_length=_MOST_WORDS)],
                Annotated[tuple[_Place, ...], Meta(min_length=1, max_length=_MOST_PATHS)],
            ],
            ...,
        ],
        Meta(min_length=1, max_length=_MOST_COMMITS),
    ]

    @classmethod
    def of(cls, adapter: HistoryAdapter, figures: TuningFigures, *, model: str, commit: str, at: float) -> TuningRecord:
        """Return what is kept of an adapter."""
        paths = sorted({path for known in adapter.memory.commits for path in known.paths})
        places = {path: place for place, path in enumerate(paths)}
        commits = tuple((known.words, tuple(places[path] for path in known.paths)) for known in adapter.memory.commits)
        return cls(model=model, commit=commit, at=at, weight=adapter.weight, figures=figures, paths=tuple(paths), commits=commits)

    def adapter(self) -> HistoryAdapter:
        """Return what the ranking uses. Raises `ValueError` where a commit names a path that isn't there."""
        if any(place >= len(self.paths) for _, places in self.commits for place in places):
            raise ValueError("a commit names a path that isn't in the file")
        known = [RememberedCommit(words, tuple(self.paths[place] for place in places)) for words, places in self.commits]
        return HistoryAdapter(CommitMemory(known), self.weight)


class _Known(NamedTuple):
    """What the file said when it was looked at last; a value that is replaced, since several threads look."""

    stamp: tuple[int, int, int] | None = None
    record: TuningRecord | None = None
    adapter: HistoryAdapter | None = None
    problem: str | None = None


class TuningFile:
    """The file of one workspace. It is read again where it changed, so that whoever has the index open notices at once.

    Only `refresh`, `write` and `delete` touch the disk: they belong on a thread. What is known may be asked for anywhere.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._folder = cache_root(settings)[0] / folder_name(root)
        self.path = self._folder / TUNING_FILE
        self._known = _Known()

    @property
    def record(self) -> TuningRecord | None:
        """Return what was learned; None where nothing was, or it can't be used."""
        return self._known.record

    @property
    def problem(self) -> str | None:
        """Say why a file that is there isn't used."""
        return self._known.problem

    def adapter(self, model: str) -> HistoryAdapter | None:
        """Return what the ranking uses with this embedding model: the gain was measured with one."""
        known = self._known
        return known.adapter if known.record and known.record.model == model else None

    def write(self, record: TuningRecord) -> None:
        """Keep what was learned. Raises `StoreError`."""
        self._check_place()
        content = msgspec.json.encode(record)
        try:
            _decoded(content)
        except (ValueError, msgspec.MsgspecError) as error:
            raise StoreError(f"What was learned of this repository can't be kept: {error}") from None
        try:
            prepare(IndexLocation(self._folder, in_workspace=False), self._root)
            replace_file(self.path, content)
        except OSError as error:
            raise StoreError(f"{self.path} can't be written: {error.strerror or error}", "Make its folder writable.") from None

    def delete(self) -> bool:
        """Forget what was learned; tell whether there was something. Raises `StoreError`."""
        try:
            self.path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StoreError(f"{self.path} can't be deleted: {error.strerror or error}", "Delete it yourself.") from None
        return True

    def refresh(self) -> None:
        """Look whether the file changed, and read it then."""
        try:
            found = self.path.stat()
        except OSError:
            self._known = _Known()
            return
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp == self._known.stamp:
            return
        record, adapter, problem = None, None, None
        try:
            record, adapter = self._read(found)
        except OSError as error:
            problem = f"it can't be read ({error.strerror or error}). Make it readable, or run `carrel tune` again."
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:
            problem = f"it is damaged ({error}). Run `carrel tune` again."
        except StoreError as error:
            problem = str(error)
        if problem:
            problem = f"{self.path}, what `carrel tune` learned, is not used: {problem}"
            log.warning("%s", problem)
        self._known = _Known(stamp, record, adapter, problem)

    def _read(self, found: os.stat_result) -> tuple[TuningRecord, HistoryAdapter]:
        self._check_place()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no file")  # a pipe would be waited for
        with self.path.open("rb") as file:
            return _decoded(file.read(_MOST_BYTES + 1))

    def _check_place(self) -> None:
        if Path(os.path.realpath(self._folder)).is_relative_to(os.path.realpath(self._root)):
            raise StoreError(
                f"{self._folder} lies in the workspace, which may not bring what was learned",
                "Set `cacheFolder` to a folder outside of it.",
            )


def _decoded(content: bytes) -> tuple[TuningRecord, HistoryAdapter]:
    if len(content) > _MOST_BYTES:
        raise ValueError("it is too large")
    record = msgspec.json.decode(content, type=TuningRecord)
    return record, record.adapter()
