"""An index that is open: its store, the model that feeds it, and what is known of how complete it is.

Of an index that lives in the project, its state is a file as well, which people and other tools can read. It is written
after each run over the whole workspace, and when saves have come to rest: it costs too much for each of them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from carrel.index.index_location import INDEX_FILE, why_not_writable
from carrel.index.left_out import FINISH, empty_text, files_left_out, folders_left_out, is_file_name, unfinished_text
from carrel.index.waiting_questions import WaitingQuestions
from carrel.model.errors import CarrelError, TextRefused
from carrel.model.remote import KeepsVectors, RemoteEmbedder
from carrel.model.wording import counted

if TYPE_CHECKING:
    from carrel.index.replica import VectorReplica
    from carrel.model.local_index import SnapshotView
    from carrel.model.native import Store
    from carrel.model.outbound import Receipt
    from carrel.model.ports import Embedder, Tokenizer
if TYPE_CHECKING:
    from carrel.model.native import Store

RENEWED = "The index was deleted or damaged while it was in use. It is being built anew: ask again in a moment."
_LAST_INDEXED = "last_indexed"
_LAST_COMMIT = "last_commit"
_EXPECTED = "expected"
_NOT_USED = "not_used:"
"""Before a model's name: why the last run could not make the index of that model whole."""
USE_MODEL = (
    "`carrel models check` asks the model, `carrel models set embedder` chooses another one, and `carrel index` tries again, "
    "with `--force` for texts that it refused, too."
)
_LOOKED_AT = 1_000
"""Of the list of what was left out, for names of folders."""
_FEW_LACKING = 0.01
"""Of the chunks: so few without a vector are told by `status` alone, since a service may refuse the same text for ever."""


class OpenIndex(Struct, eq=False, weakref=True):
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
    expected: int = 0  # files that it will hold when a run over the whole workspace ends that goes on or was stopped
    last_commit: str | None = None  # which was checked out when the last run over the whole workspace began
    temporary: bool = False  # its folder goes with it, at the latest when the process ends
    not_kept: str | None = None  # why what is indexed now will not be there next time
    renewed: bool = False  # made in place of one that was deleted while it was in use
    in_project: Path | None = None  # the project's folder, if the index lives in it
    home: Path | None = None  # the workspace's index folder, where `directory` is a model's inside it
    wanted: str | None = None  # the model that is set, where this index answers only until that one's is whole
    waits_for: str | None = None  # why it isn't yet
    last_failure: str | None = None  # the same, as the last run of any process found it
    unusable: str | None = None  # why the model that is set can't be used at all
    traffic: Receipt | None = None  # what the run that goes on has sent
    replica: VectorReplica | None = None  # the copy of its vectors in the store that is set
    no_replica: str | None = None  # why it has none, though one is set
    questions: WaitingQuestions = field(default_factory=WaitingQuestions)  # what waits while a run over everything goes on

    @property
    def problems(self) -> tuple[str, ...]:
        """Name what is wrong with it, in words for a person."""
        model = self.waits_for or (f"{self.model_not_used} {USE_MODEL}" if self.last_failure else None)
        return (*filter(None, (model,)), *self.other_problems)

    @property
    def other_problems(self) -> tuple[str, ...]:
        """Name what is wrong with it, but not why the model that is set isn't used."""
        copy = self.replica.problem if self.replica else self.no_replica
        cache = self.embedder.problem if isinstance(self.embedder, KeepsVectors) else None
        problems = (self.not_kept, self.unusable, copy, cache, RENEWED if self.being_renewed else None)
        return (*self.place_problems, *filter(None, problems), *self.store.problems)

    @property
    def model_not_used(self) -> str | None:
        """Say that the model that is set isn't used, and why."""
        if not self.wanted or self.unusable or self.waits_for:
            return self.waits_for
        if self.last_failure:
            return f"The embedding model {self.wanted} is set, but isn't used. Its last run ended so: {self.last_failure}"
        return (
            f"The embedding model {self.wanted} is set, but isn't used yet, since its index isn't whole: the bundled one answers."
        )

    @property
    def being_renewed(self) -> bool:
        """Tell whether it takes the place of one that was deleted, and doesn't hold everything yet."""
        return self.renewed and not self.complete

    @property
    def begun(self) -> bool:
        """Tell whether somebody wanted this index: it keeps something, or a whole run found nothing to keep."""
        return self.complete or self.store.kept_files > 0

    @property
    def refused_files(self) -> int:
        """Count the files of which chunks lack a vector because the model refused their text, and for nothing else."""
        return sum(TextRefused.is_reason(reason) for _, reason in self.store.failed()) if self.store.failed_count else 0

    @property
    def lacks_most_vectors(self) -> bool:
        """Tell whether more than half of the chunks have no vector."""
        view = self.store.snapshot()
        return view.chunks_without_vectors * 2 > view.chunks

    @property
    def unfinished(self) -> int:
        """Count the files that a run over the whole workspace has still to do, or left when it was stopped.

        By what the index holds: a commit is seen before the run can say so, and a killed run never does.
        """
        return max(self.expected - self.store.kept_files, 0)

    @property
    def lacks(self) -> str | None:
        """Say how much of the workspace is in it, where a first run over everything was begun and has not ended."""
        if self.complete or not self.unfinished:
            return None
        shortfall = unfinished_text(self.store.kept_files, self.unfinished, 0, complete=False)
        return f"The index is {shortfall}. {FINISH}" if shortfall else None

    @property
    def has_other_writer(self) -> bool:
        """Tell whether another process writes the index."""
        return self.store.role == "follower" and not self.store.read_only

    @property
    def committed_ns(self) -> int:
        """Tell when the index was written last, in nanoseconds since 1970; 0 where that can't be told."""
        try:
            return (self.directory / INDEX_FILE).stat().st_mtime_ns
        except OSError:
            return 0

    def writer_problem(self) -> str | None:
        """Say why the other process that writes the index can't, if so: this one lags behind what changes then."""
        if not self.has_other_writer:
            return None
        reason = why_not_writable(self.directory)
        return reason and (
            f"{self.directory} can't be written ({reason}), so the Carrel process that writes this index can't take up what "
            "changes. Free some disk space, or make the folder writable."
        )

    def notice(self, view: SnapshotView, problem: str | None) -> str | None:
        """Say what an answer lacks: files, or vectors, or everything; None where it is as it should be.

        `view` answers it, also while the index is closed; `problem` is why the question has no vector.
        """
        return " ".join(filter(None, (self.lacks, self._without_vectors(view, problem)))) or None

    @property
    def has_nothing_to_read(self) -> bool:
        """Tell whether the last whole run saw no file that can be indexed, and none is under way."""
        return self.complete and not self.expected and not self.store.failed_count and not self.store.snapshot().files

    def left_out(self, *, after_run: bool = False) -> str | None:
        """Say which kinds of files and which folders were not read, to who asked or after a run; None for none worth it."""
        files = files_left_out(self.store.skipped_counts(), after_run=after_run)
        folders = folders_left_out(self.store.skipped(_LOOKED_AT), after_run=after_run)
        what = "; ".join(filter(None, (files, f"folders by their names: {folders}" if folders else "")))
        return f"Not read: {what}. `carrel status` names them all." if what else None

    def file_left_out(self, name: str) -> str | None:
        """Say that the file of this name or path was not read, and why; None where there is none, or none was left out."""
        if not is_file_name(name):
            return None
        paths = (pair for pair in self.store.skipped(_LOOKED_AT) if pair[0] == name or pair[0].endswith(f"/{name}"))
        return next((f"{path} is not in the index: {reason}." for path, reason in paths), None)

    def _without_vectors(self, view: SnapshotView, problem: str | None) -> str | None:
        """Say why a question is answered by words alone, or not at all."""
        if not view.files:
            return self._why_empty() or problem
        if problem:
            return problem
        lacking = view.chunks_without_vectors
        if lacking <= view.chunks * _FEW_LACKING:
            return None
        refused = self.refused_files
        if refused == self.store.failed_count and 0 < lacking < view.chunks and refused:
            return None  # these get none: `status` names them
        which = "The index has" if lacking == view.chunks else f"{lacking:,} of {view.chunks:,} chunks of the index have"
        by_words = "the question was answered by its words alone" if lacking == view.chunks else "words alone find them"
        yet = f", which refused texts of {refused:,} file{'s' if refused > 1 else ''}" if refused else " yet"
        return f"{which} no vectors of the embedding model {self.embedder.spec.id}{yet}: {by_words}."

    def _why_empty(self) -> str | None:
        if self.has_nothing_to_read:
            return empty_text(self.store.skipped_counts())
        failed = self.store.failed_count
        if not failed:
            return None
        path, reason = self.store.failed()[0]
        return f"The index is empty: {counted(failed, 'file')} couldn't be indexed and will be tried again. {path}: {reason}"

    def follow(self) -> bool:
        """Load what the writer committed since; return whether there was something."""
        news = self.store.follow()
        if news:
            self.read_meta()
        return news

    def read_meta(self) -> None:
        """Read when the last whole run ended, and what was checked out then."""
        stamp = self.store.get_meta(_LAST_INDEXED)
        self.last_indexed = float(stamp) if stamp else None
        self.last_commit = self.store.get_meta(_LAST_COMMIT) or None
        self.expected = int(self.store.get_meta(_EXPECTED) or 0)
        self.complete = self.last_indexed is not None
        self._read_failure()

    def want(self, model: str) -> None:
        """Answer only until the index of this model is whole."""
        self.wanted = model
        self._read_failure()

    def _read_failure(self) -> None:
        self.last_failure = self.store.get_meta(f"{_NOT_USED}{self.wanted}") or None if self.wanted else None

    def note_failure(self, why: str | None) -> None:
        """Keep why the model that is wanted can't be used, or that it can; nothing where this process may not write."""
        if self.wanted and why != self.last_failure:
            with contextlib.suppress(CarrelError):
                self.store.set_meta(f"{_NOT_USED}{self.wanted}", why or "")
                self.last_failure = why

    def note_run(self, commit: str | None) -> None:
        """Record that a run over the whole workspace has ended, and which commit was checked out when it began."""
        self.last_indexed, self.last_commit = time.time(), commit
        self.store.set_meta(_LAST_COMMIT, commit or "")
        self.store.set_meta(_LAST_INDEXED, str(self.last_indexed))
        self.complete = True
        self.note_unfinished(0)

    def note_unfinished(self, files: int) -> None:
        """Record how many files a run over the whole workspace has still to do."""
        expected = self.store.kept_files + files if files else 0
        if expected != self.expected:
            self.expected = expected
            self.store.set_meta(_EXPECTED, str(expected))

    def clear(self) -> None:
        """Delete the index's content."""
        self.store.clear()
        if self.in_project is not None:
            forget((self.home or self.directory) / STATE_FILE)
        self.complete, self.last_indexed, self.last_commit, self.expected = False, None, None, 0

    async def start_replica(self) -> None:
        """Keep the copy of its vectors current on this event loop, if there is one."""
        if self.replica is not None:
            self.replica.start()

    async def close_replica(self) -> None:
        """Release the store of its vectors; before the index itself is closed, from which they are read."""
        if self.replica is not None:
            await self.replica.close()
            self.replica = None

    async def close_model(self) -> None:
        """Close the connections that its model has on the running event loop."""
        if isinstance(self.embedder, RemoteEmbedder):
            await self.embedder.aclose()


log = logging.getLogger(__name__)

STATE_FILE = "rag-state.json"
VERSION = 1


def export(store: Store, target: Path, commit: str | None) -> None:
    """Write `{version, lastCommitSha, files: {path: {lastModified, chunkIds}}}` in one step; a fault is logged, no more."""
    files = {path: {"lastModified": _milliseconds(mtime_ns), "chunkIds": ids} for path, mtime_ns, ids in store.index_state()}
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        draft.unlink(missing_ok=True)
        with draft.open("x", encoding="utf-8") as file:  # a project may bring a link of that name, which leads anywhere
            file.write(json.dumps({"version": VERSION, "lastCommitSha": commit, "files": files}))
        draft.replace(target)
    except OSError as error:
        log.warning("%s can't be written: %s", target, error.strerror)
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _milliseconds(ns: int) -> float:
    """Give a time as the `mtimeMs` of Node.js does, to the last bit: its readers compare the two."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return seconds * 1e3 + rest / 1e6


def forget(target: Path) -> None:
    """Delete the file: it names what an index that was deleted held. A fault is logged, no more."""
    try:
        target.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be deleted: %s", target, error.strerror)
