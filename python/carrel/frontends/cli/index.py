"""`carrel index | status | clear | secrets`: the index of a folder, and what its files hold of secrets. Never a value of one."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UnsetType
from msgspec.structs import asdict

from carrel.composition.composition import Composition
from carrel.frontends.cli.in_process import (
    confirm_broad_folder,
    indexed_folder,
    publish_vectors,
    settings,
    with_commands,
    with_progress,
)
from carrel.frontends.cli.terminal import Output, folder
from carrel.frontends.cli.typed_input import confirm
from carrel.frontends.common.event_loop import cancellable
from carrel.frontends.lsp.commands.index_commands import status_result
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.frontends.lsp.messages.index_messages import FailedFile, IndexResult, StatusResult, VectorsInfo
from carrel.index.index_opening import secret_options, walk_options
from carrel.index.indexer import follow_index_blocking
from carrel.index.left_out import FINISH, reasons_text, unfinished_text
from carrel.index.open_index import OpenIndex
from carrel.model.errors import Cancelled, CarrelError, StoreError, TextRefused
from carrel.model.native import CancelToken, list_secrets
from carrel.model.remote import Confirm, refuse
from carrel.model.wording import counted
from carrel.service.queries import MOST_SKIPPED
from carrel.service.workspace import Workspace
from carrel.settings.settings import Settings
from carrel.settings.settings_files import settings_of
from carrel.system.background import run_blocking
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner
from carrel.upkeep.model_switch import fill_blocking, why_not_used

if TYPE_CHECKING:
    from carrel.composition.stores import VectorReplica
    from carrel.model.local_index import Progress as ShowProgress
    from carrel.model.native import Store


_BACKGROUND_WAIT_S = 30.0
_WARNED_FAILED = 3


def run_index(arguments: Namespace, output: Output) -> int:
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
        work = Work(full=True, force=arguments.force)
        report = with_progress(output, f"Indexing {root.name}", partial(IndexRunner().run_blocking, index, work))
        if index.wanted:
            _fill_model_index(index, chosen, output, refuse if arguments.background else confirm, force=arguments.force)
        composition.attach_replica(index, chosen)  # it may have become large
        if index.replica:
            _publish(index.replica, output)
        snapshot = index.store.snapshot()
        output.value(IndexResult(**asdict(report)))
        lacking = snapshot.chunks_without_vectors
        output.text(
            f"{counted(snapshot.files, 'file')}, {counted(snapshot.chunks, 'chunk')}"
            f"{f' ({lacking:,} without a vector)' if lacking else ''}: "
            f"{report.added:,} added, {report.changed:,} changed, "
            f"{report.removed:,} removed, {report.unchanged:,} unchanged, {report.failed:,} failed, "
            f"{f'{report.refused:,} with a refused text, ' if report.refused else ''}"
            f"{counted(report.skipped, 'path')} and {counted(report.trivial, 'trivial chunk')} left out; "
            f"{report.elapsed_ms / 1000:.2f} s, "
            f"{index.store.bytes_on_disk / 1e6:.1f} MB on disk"
        )
        if left_out := index.left_out(after_run=True):
            output.note(left_out)
        if report.failed:
            _warn_failed(index.store, report.failed, output)
        return 1 if report.failed else 0
    finally:
        if index.replica:
            run_blocking(index.close_replica())
        index.store.close()


def _warn_failed(store: Store, count: int, output: Output) -> None:
    """Name files that failed, and why."""
    output.warn(f"{count:,} file{' was' if count == 1 else 's were'} not indexed in full, which the next run tries again:")
    failed = [(path, reason) for path, reason in store.failed() if not TextRefused.is_reason(reason)]
    for path, reason in failed[:_WARNED_FAILED]:
        output.warn(f"  {path}: {reason}")
    if count > _WARNED_FAILED:
        output.warn(f"  … {count - _SHOWN_FAILED:,} more: `carrel status` says why")


def _publish(replica: VectorReplica, output: Output) -> None:
    """Have the store that is set hold what the index does; what can't be told to it now is told next time."""
    try:
        publish_vectors(replica, output)
    except Cancelled:
        raise
    except CarrelError as error:
        output.warn(f"{str(error).rstrip('.')}. What waits is published by the next run; the index's own vectors answer.")


def _fill_model_index(index: OpenIndex, chosen: Settings, output: Output, ask: Confirm, *, force: bool) -> None:
    """Make the index of the remote model that is set. Until it is whole the one that was just made answers."""

    def work(token: CancelToken, progress: ShowProgress) -> None:
        fill_blocking(Composition(confirm=ask), index.root, chosen, token, progress, output.note, force=force)

    try:
        with_progress(output, f"Embedding {index.root.name}", work, shows_text=True)
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
    output.value(IndexResult(**asdict(report)))
    files = index.store.snapshot().files
    output.text(
        f"{counted(files, 'file')}, all current; {counted(report.skipped, 'path')} left out; {report.elapsed_ms / 1000:.2f} s"
    )
    return 0


def _lead(index: OpenIndex) -> bool:
    """Wait until nobody else writes: of two hooks in a row, the first may have looked before the second one's change."""
    end = time.monotonic() + _BACKGROUND_WAIT_S
    while not index.store.try_become_writer():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


_SHOWN_SKIPPED = 12
_SHOWN_FAILED = 5


def run_status(arguments: Namespace, output: Output) -> int:
    """Show or delete."""
    root = indexed_folder(arguments.path)
    if arguments.command == "clear":
        cleared = with_commands(root, output, lambda commands, _: commands.indexes.clear({}))
        if not root.exists():
            shutil.rmtree(Composition().index_folder(root, settings_of(root)[0]))  # nobody will use it again
        output.value(cleared)
        output.text(f"The index of {root} is deleted ({cleared.freed_bytes / 1e6:.1f} MB).")
        return 0
    status = with_commands(root, output, _status)
    output.value(status)
    if isinstance(status.last_indexed, str) or status.unfinished or isinstance(status.error, str):
        _show_status(status, output)
    else:
        output.text(f"not indexed: {root}. `carrel index` there makes its index, as the first question does.")
        for problem in status.problems:
            output.text(f"problem: {problem}")
    if not root.exists():
        output.note(f"{root} is gone; its index goes 30 days after its last use, or with: carrel clear {root}")
    return 0


async def _status(_: Commands, workspace: Workspace) -> StatusResult:
    return status_result(workspace, workspace.root.name, await workspace.status(most_files=MOST_SKIPPED))


def _show_vectors(vectors: VectorsInfo | UnsetType, output: Output) -> None:
    if isinstance(vectors, UnsetType):
        return
    waiting = f"; {vectors.backlog:,} wait, the oldest for {vectors.lag_seconds:,.0f} s" if vectors.backlog else ""
    output.text(f"vectors also in {vectors.kind}, {vectors.place}: {vectors.held:,} chunks{waiting}")
    if not isinstance(vectors.problem, UnsetType):
        output.text(f"  problem: {vectors.problem}")


def _show_status(status: StatusResult, output: Output) -> None:
    lacks = unfinished_text(status.files, status.unfinished, status.failed_files, complete=status.complete)
    state = "unfinished" if lacks and status.state in ("ready", "empty") else status.state
    output.text(
        f"{state}: {counted(status.files, 'file')}, {counted(status.chunks, 'chunk')}, "
        f"{status.bytes / 1e6:.1f} MB in {status.store or '-'}"
    )
    if lacks:
        output.text(f"{lacks}. {FINISH}")
    if isinstance(status.last_indexed, str):
        commit = f", at commit {status.last_commit_sha[:12]}" if isinstance(status.last_commit_sha, str) else ""
        output.text(f"last indexed {status.last_indexed}{commit}, model {status.model.id}")
    _show_vectors(status.vectors, output)
    for language, files in sorted(status.languages.items(), key=lambda item: -item[1]):
        output.text(f"  {language:<14}{files:>8,}")
    files, secrets = status.masked_files, status.masked_secrets
    if secrets:
        output.text(f"{secrets:,} secret{'s are' if secrets > 1 else ' is'} masked in {files:,} file{'s' if files > 1 else ''}")
    if guesses := status.guessed_encodings:
        output.text(
            f"encoding guessed: {guesses:,} file{'s' if guesses > 1 else ''}; a `charset` in .editorconfig says it for good"
        )
    reasons = status.left_out
    if reasons:
        output.text(f"left out: {reasons_text(reasons)}")
    # The rare reasons first: a thousand pictures surprise nobody.
    for skipped in sorted(status.skipped, key=lambda file: reasons.get(file.reason, 0))[:_SHOWN_SKIPPED]:
        output.text(f"  {skipped.reason}: {skipped.path}")
    if (more := sum(reasons.values()) - _SHOWN_SKIPPED) > 0:
        output.text(f"  … {more:,} more: `carrel status --json` names them all")
    _show_failed(status, output)
    if isinstance(status.error, str):
        output.text(f"error: {status.error}")
    for problem in status.problems:
        output.text(f"problem: {problem}")


def _show_failed(status: StatusResult, output: Output) -> None:
    refused = [file for file in status.failed if TextRefused.is_reason(file.reason)]
    failed = [file for file in status.failed if file not in refused]
    if lacking := status.chunks_without_vectors:
        output.text(f"without a vector: {lacking:,} chunk{'s' if lacking > 1 else ''}, found by words")
    _show_files("failed", "tried again by the next run", status.failed_files - status.refused_files, failed, output)
    _show_files("refused", "of which the embedding model gave a text no vector", status.refused_files, refused, output)


def _show_files(what: str, outcome: str, count: int, files: list[FailedFile], output: Output) -> None:
    if not count:
        return
    output.text(f"{what}: {count:,} file{'s' if count > 1 else ''}, {outcome}")
    for file in files[:_SHOWN_FAILED]:
        output.text(f"  {file.path}: {file.reason}")
    if (more := count - _SHOWN_FAILED) > 0:
        output.text(f"  … {more:,} more: `carrel status --json` names them")


def run_secrets(arguments: Namespace, output: Output) -> int:
    """Look at every file that counts, and at nothing else; or at the one file that was named."""
    if arguments.path.is_file():
        root = arguments.path.absolute()
        chosen = settings(folder(root.parent), output)
    else:
        root = folder(arguments.path)
        chosen = settings(root, output)
        confirm_broad_folder(root, chosen)

    def work(token: CancelToken) -> list[tuple[str, int | None, str]]:
        return list_secrets(str(root), walk_options(chosen), secret_options(chosen), token)

    seen = cancellable(work)
    inside = sum(line is not None for _, line, _ in seen)
    entries = [{"path": path, "line": line, "kind": kind} for path, line, kind in seen]
    output.value({"secrets": entries, "masked": inside, "filesLeftOut": len(seen) - inside})
    for path, line, kind in seen:
        output.text(f"{path}: {kind}, left out" if line is None else f"{path}:{line}: {kind}, masked")
    output.note(f"{inside:,} values are masked, {len(seen) - inside:,} files are left out.")
    return 0
