"""The server's session inside the command's own process: one folder, the same requests, the same answers as an editor gets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from carrel.composition.composition import Composition
from carrel.frontends.cli.terminal import absolute_path, folder, is_text
from carrel.frontends.common.event_loop import cancellable, run_cancellable
from carrel.frontends.common.uris import longest_match, path_to_uri
from carrel.frontends.lsp.commands.question_commands import Commands
from carrel.index.open_index import OpenIndex
from carrel.index.workspace_state import Progress
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError, InvalidInput, SettingsError, StoreError
from carrel.model.remote import Confirm, refuse
from carrel.policy.audit import AuditTrail
from carrel.policy.broad_folders import BroadFolder, breadth
from carrel.service.queries import missing_changes
from carrel.service.session import Session
from carrel.service.workspace import Workspace, WorkspaceEvents
from carrel.settings.settings import Problem, Settings
from carrel.settings.settings_files import settings_of
from carrel.system.background import run_blocking
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal import Output
    from carrel.frontends.lsp.client_model import Asker
    from carrel.index.replica import VectorReplica
    from carrel.model.local_index import Progress as ShowProgress
    from carrel.model.native import CancelToken


T = TypeVar("T")
_WAIT_MS = 600_000
_WRITER_SECONDS = 2.0
"""Seconds that another process that writes the index may take for what was just changed."""
_MOST_NAMED = 5
_FOLLOWER_WAIT_MS = 10_000  # another process writes the index and may never have been asked to begin


def indexed_folder(path: Path) -> Path:
    """Return a folder, or where one was whose index is still there, absolute; raises `InvalidInput` or `SettingsError`."""
    absolute = absolute_path(path)
    if is_text(str(absolute)) and not absolute.exists() and Composition().index_exists(absolute, settings_of(absolute)[0]):
        return absolute
    return folder(path)


def settings(path: Path, output: Output) -> Settings:
    """Return the settings of a folder; tell what can't be used of them. Raises `SettingsError`."""
    folder_settings, problems = settings_of(path)
    tell(problems, output)
    return folder_settings


def tell(problems: Iterable[Problem], output: Output) -> None:
    """Say of each setting that can't be used why, in the words of every command."""
    for problem in dict.fromkeys(map(str, problems)):
        output.warn(f"setting: {problem}")


def current_index(root: Path, chosen: Settings, token: CancelToken, progress: ShowProgress) -> OpenIndex:
    """Open the index of a folder and bring it up to date, unless another process keeps it so; its store is to be closed."""
    index = Composition().open_index(root, chosen)
    try:
        if index.store.role == "writer":
            IndexRunner().run_blocking(index, Work(full=True), token, progress)
    except CarrelError:
        index.store.close()
        raise
    return index


def with_progress(
    output: Output, title: str, work: Callable[[CancelToken, ShowProgress], T], *, unit: str = "files", shows_text: bool = False
) -> T:
    """Run native work that Ctrl-C cancels, and show how far it is."""

    def shown(token: CancelToken) -> T:
        with output.progress(title, unit=unit, shows_text=shows_text) as progress:
            return work(token, progress)

    return cancellable(shown)


def publish_vectors(replica: VectorReplica, output: Output, *, sweep: bool = False) -> None:
    """Have a store elsewhere hold what the index does."""

    def work(token: CancelToken, progress: ShowProgress) -> None:
        run_blocking(replica.publish(lambda done, total: progress(done, total, ""), sweep=sweep), token)

    with_progress(output, f"Publishing vectors to {replica.place.name}", work, unit="chunks")


def with_commands(
    path: Path,
    output: Output,
    use: Callable[[Commands, Workspace], Coroutine[Any, Any, T]],
    *,
    client: Asker | None = None,
    confirm: Confirm = refuse,
    interruptible: bool = True,
    broad: BroadFolder = "allowed",
) -> T:
    """Open `path` as a workspace, run `use`, and release everything. Ctrl-C cancels the native work and raises `Cancelled`.

    `client` is told of partial results, `confirm` asks the person.
    `broad` says what happens to a home folder where `use` doesn't ask before it is indexed.
    Without `interruptible`, `use` minds Ctrl-C itself, which ends the process elsewhere.
    Raises `SettingsError` where the settings of the user or of the folder can't be read.
    """

    async def work() -> T:
        problems: list[Problem] = []
        session = Session(
            Composition(confirm=confirm, audit=AuditTrail(Caller("command line"))),
            longest_match,
            events=_telling(output),
            on_problems=problems.extend,
        )
        session.configure({})
        try:
            workspace = session.add_folder(str(path), path_to_uri(str(path)), broad=broad)
            if isinstance(workspace.blocked, SettingsError):
                raise workspace.blocked
            tell(problems, output)
            return await use(Commands(session, None, client), workspace)
        finally:
            await session.close()

    return run_cancellable(work()) if interruptible else asyncio.run(work())


def _telling(output: Output) -> WorkspaceEvents:
    """Have a run that takes a while told: a first index, or one that is made again, may take minutes."""
    show: ShowProgress | None = None

    def progressed(workspace: Workspace, _: object, progress: Progress) -> None:
        nonlocal show
        if show is None:
            show = output.progress_lines(f"Indexing {workspace.root.name}")
        show(progress.done, progress.total, "")

    return WorkspaceEvents(progressed=progressed)


async def bring_up_to_date(commands: Commands, workspace: Workspace, output: Output) -> int:
    """Index what changed, unless another process does; return for how many milliseconds a question may wait for the index.

    A store of vectors isn't opened for one question: the index's own answer, and `carrel index` publishes what waits.
    """
    confirm_broad_folder(workspace.root, workspace.settings)
    index = await workspace.open()
    for problem in index.problems:
        output.warn(problem)
    if index.store.role != "writer":
        if index.complete:
            await _tell_missing(workspace, index, output)
        return _FOLLOWER_WAIT_MS
    try:
        await commands.indexes.index({})
    except StoreError as error:
        if not index.store.snapshot().files:
            raise
        output.warn(str(error))
        await _tell_missing(workspace, index, output)
    return _WAIT_MS


async def _tell_missing(workspace: Workspace, index: OpenIndex, output: Output) -> None:
    """Say which changed files an answer lacks, and why another process that writes the index can't take them up."""
    try:
        missing = await missing_changes(workspace, _WRITER_SECONDS if index.has_other_writer else 0)
    except StoreError as error:
        output.warn(f"Which changed files the answer lacks can't be told. {error}")
        return
    if not missing:
        return
    if problem := await workspace.run_interactive(lambda _: index.writer_problem()):
        output.warn(problem)
    more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
    files = "1 changed file isn't" if len(missing) == 1 else f"{len(missing):,} changed files aren't"
    output.warn(
        f"{files} in the index yet, so the answer doesn't regard what is in there now: {', '.join(missing[:_MOST_NAMED])}{more}"
    )


def confirm_broad_folder(root: Path, settings: Settings, *, agreed: bool = False) -> None:
    """Ask before a whole disk or home is indexed for the first time; raises `CarrelError` unless the person agrees."""
    what = breadth(root)
    if what is None or agreed or Composition().index_exists(root, settings):
        return
    if not (sys.stdin and sys.stderr and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            "path", f"{root} is {what}", f"Name a project's folder, or index all of it by `carrel index --yes {root}`."
        )
    sys.stderr.write(f"{root} is {what}. Index all of its text? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CarrelError("Nothing was indexed")
