"""`carrel index`: bring a folder's index up to date."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from carrel.composition.composition import Composition
from carrel.frontends.cli.questions.in_process import confirm_broad_folder, settings
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.cli.terminal.terminal_confirmation import confirm
from carrel.frontends.common.event_loop import cancellable
from carrel.frontends.lsp.messages.index_messages import IndexResult
from carrel.index.indexer import IndexReport, follow_index_blocking
from carrel.index.left_out import HANDFUL
from carrel.index.open_index import OpenIndex
from carrel.model.errors import Cancelled, CarrelError, StoreError, TextRefused
from carrel.model.remote import Confirm, refuse
from carrel.settings.settings import Settings
from carrel.system.background import run_blocking
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner
from carrel.upkeep.model_switch import fill_blocking, why_not_used

if TYPE_CHECKING:
    from carrel.composition.stores import VectorReplica
    from carrel.model.native import CancelToken, Store

_BACKGROUND_WAIT_S = 30.0
_SHOWN_FAILED = 3


def run(arguments: Namespace, output: Output) -> int:
    """Index, with progress; in the background quietly, at the lowest priority."""
    if not arguments.background:
        return _index(arguments, output)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.nice(19)
    with contextlib.suppress(CarrelError):
        _index(arguments, Output(json=output.json, silent=True))
    return 0


def _index(arguments: Namespace, output: Output) -> int:
    root = folder(arguments.path)
    chosen = settings(root, output)
    confirm_broad_folder(root, chosen, agreed=arguments.yes)
    composition = Composition()
    index = composition.open_index(root, chosen)
    composition.attach_replica(index, chosen)
    try:
        if index.temporary:
            raise StoreError(index.not_kept or "The index can't be kept")
        for text in index.other_problems:
            output.note(text)
        if index.store.role == "follower" and not (arguments.background and _lead(index)):
            return _follow(index, arguments, output)

        def work(token: CancelToken) -> IndexReport:
            with output.progress(f"Indexing {root.name}") as progress:
                return IndexRunner().run_blocking(index, Work(full=True, force=arguments.force), token, progress)

        report = cancellable(work)
        if index.wanted:
            _fill_model_index(index, chosen, output, refuse if arguments.background else confirm, force=arguments.force)
        composition.attach_replica(index, chosen)  # it may have become large
        if index.replica:
            _publish(index.replica, output)
        snapshot = index.store.snapshot()
        if output.json:
            output.value(IndexResult(**asdict(report)))
        else:
            lacking = snapshot.chunks_without_vectors
            output.text(
                f"{snapshot.files:,} files, {snapshot.chunks:,} chunks{f' ({lacking:,} without a vector)' if lacking else ''}: "
                f"{report.added:,} added, {report.changed:,} changed, "
                f"{report.removed:,} removed, {report.unchanged:,} unchanged, {report.failed:,} failed, "
                f"{f'{report.refused:,} with a refused text, ' if report.refused else ''}"
                f"{report.skipped:,} paths and {report.trivial:,} trivial chunks left out; {report.elapsed_ms / 1000:.2f} s, "
                f"{index.store.bytes_on_disk / 1e6:.1f} MB on disk"
            )
        if left_out := index.left_out(HANDFUL):
            output.note(left_out)
        if report.failed:
            _show_failed(index.store, report.failed, output)
        return 1 if report.failed else 0
    finally:
        if index.replica:
            run_blocking(index.close_replica())
        index.store.close()


def _show_failed(store: Store, count: int, output: Output) -> None:
    """Name files that failed, and why."""
    output.warn(f"{count:,} file{' was' if count == 1 else 's were'} not indexed in full, which the next run tries again:")
    failed = [(path, reason) for path, reason in store.failed() if not TextRefused.is_reason(reason)]
    for path, reason in failed[:_SHOWN_FAILED]:
        output.warn(f"  {path}: {reason}")
    if count > _SHOWN_FAILED:
        output.warn(f"  … {count - _SHOWN_FAILED:,} more: `carrel status` says why")


def _publish(replica: VectorReplica, output: Output) -> None:
    """Have the store that is set hold what the index does; what can't be told to it now is told next time."""

    def work(token: CancelToken) -> None:
        with output.progress(f"Publishing vectors to {replica.place.name}", unit="chunks") as progress:
            run_blocking(replica.publish(lambda done, total: progress(done, total, "")), token)

    try:
        cancellable(work)
    except Cancelled:
        raise
    except CarrelError as error:
        output.warn(f"{str(error).rstrip('.')}. What waits is published by the next run; the index's own vectors answer.")


def _fill_model_index(index: OpenIndex, chosen: Settings, output: Output, ask: Confirm, *, force: bool) -> None:
    """Make the index of the remote model that is set. Until it is whole the one that was just made answers."""

    def work(token: CancelToken) -> None:
        with output.progress(f"Embedding {index.root.name}", shows_text=True) as progress:
            fill_blocking(Composition(confirm=ask), index.root, chosen, token, progress, output.note, force=force)

    try:
        cancellable(work)
    except Cancelled:
        raise
    except CarrelError as error:
        index.note_failure(text := why_not_used(index, str(error)))
        output.warn(text)
    else:
        index.note_failure(None)
        output.note(f"{index.wanted} answers from now on.")


def _follow(index: OpenIndex, arguments: Namespace, output: Output) -> int:
    """See that the index is current, beside another writer."""
    report = cancellable(lambda token: follow_index_blocking(index.store, token, force=arguments.force))
    if not index.store.read_only:
        output.note("Another Carrel process keeps this index up to date.")
    if output.json:
        output.value(IndexResult(**asdict(report)))
    else:
        files = index.store.snapshot().files
        output.text(f"{files:,} files, all current; {report.skipped:,} paths left out; {report.elapsed_ms / 1000:.2f} s")
    return 0


def _lead(index: OpenIndex) -> bool:
    """Wait until nobody else writes: of two hooks in a row, the first may have looked before the second one's change."""
    end = time.monotonic() + _BACKGROUND_WAIT_S
    while not index.store.try_become_writer():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True
