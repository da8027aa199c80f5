"""Hold the process's state: folders, settings, recent packs. Changed on the event loop only; questions read snapshots."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrel.index.workspace_state import FolderSettings
from carrel.model.errors import CarrelError, InvalidInput, NotReady, SettingsError
from carrel.policy.broad_folders import BroadFolder, refusal
from carrel.service.context_request import RecentContexts
from carrel.service.folder_group import FolderGroup, Locate, named
from carrel.service.workspace import Workspace, WorkspaceEvents
from carrel.settings.settings import Layer, Options, Problem, Settings, resolve
from carrel.settings.settings_files import WORKSPACE_FILE, read_user, read_workspace, stamp, user_files
from carrel.sources.knowledge import KnowledgeBase
from carrel.system.jobs import Jobs

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.upkeep.index_jobs import IndexRunner

log = logging.getLogger(__name__)


class Session:
    """Workspaces and settings of one connection."""

    def __init__(
        self,
        composition: Composition,
        locate: Locate,
        *,
        events: WorkspaceEvents = WorkspaceEvents(),
        on_settings: Callable[[Settings], None] = lambda _: None,
        on_problems: Callable[[tuple[Problem, ...]], None] | None = None,
    ) -> None:
        """Take whom the workspaces tell, and who is told of settings and of what can't be used of them."""
        self.composition = composition
        self.jobs = Jobs()
        self.knowledge = KnowledgeBase(composition, lambda: self.settings, self._index_of_source)
        self.settings = Settings()
        self.folders: dict[str, Workspace] = {}
        self._named_last: dict[str, str] = {}  # by each name that a folder had, the root of the last one
        self.recent = RecentContexts()
        self._events = events
        self._on_settings = on_settings
        self._on_problems = on_problems or _log_problems
        self._locate = locate
        self._watched = False  # the editor tells of changes on disk
        self.options: Options = {}
        self.options_are_the_persons = True
        """Whether an editor that sends options takes what leaves the machine from the person's own settings alone."""
        self._folder_options: Mapping[str, Options] = {}  # by root, where the editor has others for a folder
        self._good: dict[Path | None, Layer] = {}  # of each folder's own file, and of the user's (None), what was last readable
        self._broad: dict[Path, BroadFolder] = {}  # by root
        self._user_files = user_files()
        self._stamps: dict[Path, object] = {}  # of the settings files, when a folder's settings were read
        self._tasks: set[asyncio.Task[None]] = set()

    # --- folders

    def workspace(self, path: str | None) -> Workspace:
        """Return the workspace that holds `path`, or the first; raises `NotReady` or `InvalidInput`."""
        if not self.folders:
            raise NotReady("No folder is open", "Open one, or give the server a workspace folder.")
        if path is None:
            return next(iter(self.folders.values()))
        place = self.locate(path)
        if place is None:
            raise InvalidInput("workspace_folder", "is not an open folder")
        return place[0]

    def name_of(self, workspace: Workspace) -> str:
        """Return what an open folder is called in answers; of one that was closed, the name of its root."""
        return next((name for name, other in self.names().items() if other is workspace), workspace.root.name)

    def names(self) -> dict[str, Workspace]:
        """Return the open folders by what they are called in answers, and keep these names for `former_names`."""
        names = named(self.folders.values())
        self._named_last |= {name: workspace.root_key for name, workspace in names.items()}
        return names

    def former_names(self) -> dict[str, Workspace]:
        """Return open folders by names that they had before others came or went: places that were given keep them."""
        names, folders = self.names(), self.folders
        return {name: folders[root] for name, root in self._named_last.items() if name not in names and root in folders}

    def group(self, folders: Mapping[str, Workspace], first: Workspace | None = None) -> FolderGroup:
        """Return open folders as a group, by their names."""
        return FolderGroup(folders, first or next(iter(folders.values())), self._locate, self.former_names())

    def locate(self, path: str) -> tuple[Workspace, str] | None:
        """Return the innermost open folder that holds an absolute path, and the path in it ("" for the folder itself)."""
        path = str(Path(path))
        if path in self.folders:
            return self.folders[path], ""
        place = self._locate(list(self.folders), path)
        return (self.folders[place[0]], place[1]) if place else None

    def unsaved(self, uri: str) -> tuple[Workspace, str] | None:
        """Return the folder that an open document without a file was given to, and the path that stands for it."""
        places = ((workspace, workspace.buffers.path_of(uri)) for workspace in self.folders.values())
        return next(((workspace, path) for workspace, path in places if path), None)

    def add_folder(self, path: str, uri: str, *, broad: BroadFolder = "once indexed") -> Workspace:
        """Open a folder; what it does by itself begins when `start` is called. `broad` says who named one that is no project."""
        root = Path(path)
        path = str(root)
        if path in self.folders:
            return self.folders[path]
        self._broad[root] = broad
        settings, problems, blocked = self._resolve(root)
        workspace = Workspace(
            root,
            uri,
            folder=FolderSettings(settings, tuple(map(str, problems)), blocked),
            composition=self.composition,
            jobs=self.jobs,
            watched=self._watched,
            events=self._events,
            recheck=self.recheck,
            recent=self.recent,
            knowledge=self.knowledge,
        )
        self.folders[path] = workspace
        if problems:
            self._on_problems(problems)
        elif blocked:
            log.warning("%s", blocked)
        return workspace

    def _index_of_source(self, root: Path, settings: Settings, runner: IndexRunner | None) -> Workspace:
        """Make the index of a source: a folder that nobody has open."""
        folder = FolderSettings(settings)
        return Workspace(root, root.as_uri(), folder=folder, composition=self.composition, jobs=self.jobs, runner=runner)

    def watch(self) -> None:
        """Note that the editor tells of changes on disk from now on."""
        self._watched = True
        for workspace in self.folders.values():
            workspace.note_reports()

    def start(self, workspace: Workspace) -> None:
        """Begin what a folder does by itself."""
        self._spawn(workspace.start())

    def retry_models(self) -> None:
        """Take up what lacked a permission or a key until now."""
        for workspace in self.folders.values():
            workspace.retry()

    def remove_folder(self, path: str) -> None:
        """Close a folder."""
        if workspace := self.folders.pop(str(Path(path)), None):
            self._stamps.pop(workspace.root, None)
            self._broad.pop(workspace.root, None)
            self._spawn(workspace.close())

    def tell_names(self) -> None:
        """Tell of every folder once more: those of one name are called otherwise when another comes or goes."""
        for workspace in self.folders.values():
            self._events.changed(workspace)

    # --- settings

    def configure(self, options: Options, by_folder: Mapping[str, Options] | None = None) -> None:
        """Take the editor's settings, and those of folders by their roots; they replace what it sent before."""
        self.options, self._folder_options = options, by_folder or {}
        self.settings, problems, _ = self._resolve(None)
        self.composition.outbound.use(self.settings)
        self._on_settings(self.settings)
        if problems:
            self._on_problems(problems)
        for workspace in self.folders.values():
            self.reread(workspace)

    def recheck(self, workspace: Workspace) -> None:
        """Take over a settings file that was changed: nobody watches the user's, and not every client the workspace's."""
        if not workspace.blocked and self._stamps.get(workspace.root) == self._stamp(workspace.root):
            return
        settings, _, _ = self._resolve(None)
        if settings != self.settings:
            self.settings = settings
            self.composition.outbound.use(settings)
            self._on_settings(settings)
        self.reread(workspace)

    def reread(self, workspace: Workspace) -> None:
        """Read the settings of one folder again: its `.carrel.toml` changed, or the editor's settings did."""
        settings, problems, blocked = self._resolve(workspace.root)
        if news := tuple(problem for problem in problems if str(problem) not in workspace.problems):
            self._on_problems(news)
        workspace.apply(FolderSettings(settings, tuple(map(str, problems)), blocked))

    def _resolve(self, root: Path | None) -> tuple[Settings, tuple[Problem, ...], CarrelError | None]:
        """Return settings, what can't be used of them, and why nothing may be read.

        That is if a file was never readable, or if nobody meant so broad a folder.
        """
        problems: list[Problem] = []
        blocked: CarrelError | None = None

        def layer(key: Path | None, read: Callable[[], Layer]) -> Layer:
            nonlocal blocked
            try:
                self._good[key] = read()
            except SettingsError as error:
                if key in self._good:
                    problems.append(Problem("", "", f"{error} The settings from before count."))
                else:
                    problems.append(Problem("", "", str(error)))
                    blocked = error
            return self._good.get(key) or Layer("", {})

        if root:
            self._stamps[root] = self._stamp(root)  # first: what changes while it is read is read again
        sent = self._folder_options.get(str(root), self.options)
        layers = [layer(None, read_user), Layer("editor", sent, perhaps_project=not self.options_are_the_persons)]
        if root:
            layers.append(layer(root, lambda: read_workspace(root)))
        settings, further = resolve(*layers)
        blocked = blocked or (self._too_broad(root, settings) if root else None)
        return settings, (*problems, *further), blocked

    def _too_broad(self, root: Path, settings: Settings) -> CarrelError | None:
        match self._broad.get(root, "allowed"):
            case "once indexed" if not self.composition.index_exists(root, settings):
                return refusal(root, f"Open a project's folder, or have all of this indexed: carrel index --yes {root}")
            case "refused":
                return refusal(root, f"Have the client name a project's folder, or start the server with `--root {root}`.")
        return None

    def _stamp(self, root: Path) -> object:
        return stamp(*self._user_files, root / WORKSPACE_FILE)

    # --- end

    async def close(self) -> None:
        """Cancel everything, release every index."""
        self.jobs.cancel_all()
        closing = (*(workspace.close() for workspace in self.folders.values()), self.knowledge.close())
        await asyncio.gather(*closing, return_exceptions=True)
        self.folders.clear()
        for task in tuple(self._tasks):
            task.cancel()
        await self.composition.close()
        self.jobs.close()
        if self.composition.audit is not None:
            await asyncio.to_thread(self.composition.audit.close)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            with contextlib.suppress(CarrelError):  # it is the workspace's error state by now
                await coroutine

        task = asyncio.get_running_loop().create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _log_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        log.warning("Setting: %s", problem)
