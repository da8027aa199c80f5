"""What a request names: its folder, its files and lines, and the question for context that they make."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import structs

from carrel.frontends.common.uris import folder_path, uri_to_path
from carrel.frontends.lsp.convert import convert_questions as convert
from carrel.frontends.lsp.messages import question_messages as wire
from carrel.model.errors import InvalidInput
from carrel.model.types import Budget, Lines
from carrel.service.context_request import AttachedLines, ContextRequest, FileRef
from carrel.service.folder_group import FolderGroup
from carrel.service.session import Session
from carrel.service.workspace import Workspace
from carrel.settings.model_settings import window_of
from carrel.settings.settings import Settings


class RequestTargets:
    """Finds the folders and files of a session that requests name. Raises `InvalidInput` for what isn't there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def workspace(self, params: wire.FolderParams) -> Workspace:
        """Return the folder that is meant: the only or first one where none is named."""
        if params.workspace_folder is None:
            return self._session.workspace(None)
        path = folder_path(params.workspace_folder)
        if path is None:
            raise InvalidInput("workspaceFolder", "is neither a file URI nor an absolute path")
        return self._session.workspace(path)

    def name_of(self, workspace: Workspace) -> str:
        """Return what an open folder is called in answers."""
        return self._session.name_of(workspace)

    def others(self, workspace: Workspace) -> dict[str, Workspace]:
        """Return the other open folders by what they are called in answers."""
        return {name: other for name, other in self._session.names().items() if other is not workspace}

    def searched(self, params: wire.FoldersParams) -> Workspace | FolderGroup:
        """Return the folder that is meant, or several as a group: all open ones where none is named.

        The first of a group is the one that holds the file in front, else the first of all.
        """
        if params.workspace_folder is not None and params.folders:
            raise InvalidInput("folders", "names folders, and so does workspaceFolder", "Give one of the two.")
        if params.workspace_folder is not None or (not params.folders and len(self._session.folders) < 2):
            return self.workspace(params)
        chosen = [self._open_folder(folder) for folder in params.folders] or list(self._session.folders.values())
        if len(set(chosen)) == 1:
            return chosen[0]
        active = getattr(params, "active", None)
        first = None
        with contextlib.suppress(InvalidInput):
            first = self.file(active.uri)[0] if active else None
        # By the names that they have among all: a folder is called the same in every answer.
        names = {name: workspace for name, workspace in self._session.names().items() if workspace in chosen}
        return self._session.group(names, first if first in chosen else chosen[0])

    def single_folder(self, params: wire.FoldersParams) -> Workspace:
        """Return the folder that is meant, where no more than one can answer: the only or first one where none is named."""
        target = self.searched(params) if params.folders else self.workspace(params)
        if isinstance(target, FolderGroup):
            raise InvalidInput("folders", "names several folders, and one answers this request", "Name one.")
        return target

    def _open_folder(self, folder: str) -> Workspace:
        path = folder_path(folder)
        place = self._session.locate(path) if path else None
        if place is None or place[1]:
            raise InvalidInput("folders", "is not an open folder", "Name folders as they were opened.", value=folder)
        return place[0]

    def file(self, uri: str) -> tuple[Workspace, str]:
        """Return the folder and the relative path of a file."""
        path = uri_to_path(uri)
        place = self._session.locate(path) if path else self._session.unsaved(uri)
        if place is None or not place[1]:
            raise InvalidInput("uri", "is not a file in an open folder")
        return place

    def named(self, workspace: Workspace, uri: str) -> FileRef:
        """Return a file that an editor names, which may be outside the folder."""
        with contextlib.suppress(InvalidInput):
            folder, path = self.file(uri)
            if folder is workspace:
                return FileRef(path, uri)
        return FileRef(None, uri)

    def context_requests(self, group: FolderGroup, params: wire.ContextParams, query: str) -> dict[str, ContextRequest]:
        """Return the question for each folder of a group, with the files that lie in it.

        What lies in none of them is told once, by the first folder.
        """
        whole = self.context_request(group.first, params, query)
        requests: dict[str, ContextRequest] = {}
        for name, workspace in group.folders.items():
            concerned = partial(self._concerns, group, workspace)
            here = structs.replace(
                params,
                active=params.active if params.active and concerned(params.active.uri) else None,
                open_uris=tuple(filter(concerned, params.open_uris)),
                pinned=tuple(filter(concerned, params.pinned)),
                attached=tuple(lines for lines in params.attached if concerned(lines.uri)),
            )
            request = self.context_request(workspace, here, query)
            requests[name] = structs.replace(request, limit=whole.limit, budget=whole.budget)
        return requests

    def _concerns(self, group: FolderGroup, workspace: Workspace, uri: str) -> bool:
        with contextlib.suppress(InvalidInput):
            folder = self.file(uri)[0]
            if folder in group.folders.values():
                return folder is workspace
        return workspace is group.first

    def context_request(self, workspace: Workspace, params: wire.ContextParams, query: str) -> ContextRequest:
        """Return the question for context."""
        settings = workspace.settings
        active = self.named(workspace, params.active.uri) if params.active else None
        budget = convert.to_budget(params.budget, default_budget(settings, params))
        return ContextRequest(
            query=query,
            limit=params.top_k or settings.places(budget),
            budget=budget,
            filters=convert.to_filters(params.filters, params.exclude),
            model=params.model,
            active=active,
            selection=selected_lines(active, params.active),
            open=tuple(self.named(workspace, uri) for uri in params.open_uris),
            pinned=tuple(self.named(workspace, uri) for uri in params.pinned),
            attached=tuple(self._attached(workspace, params)),
            left_out=tuple(self._left_out(workspace, params.exclude_lines)),
            trigger=params.trigger,
            wait_ms=params.wait_ms,
            deadline_ms=params.deadline_ms,
            format=params.format,
            history=convert.to_history(params.history),
            plan=params.plan,
            rerank=params.rerank,
            sources=params.sources,
        )

    def _left_out(self, workspace: Workspace, places: Iterable[wire.LinesParam]) -> Iterator[Lines]:
        for lines in places:
            if lines.end_line < lines.start_line:
                raise InvalidInput("excludeLines", "endLine comes before startLine")
            if path := self.named(workspace, lines.uri).path:  # lines elsewhere are in no answer anyway
                yield Lines(path, lines.start_line, lines.end_line)

    def _attached(self, workspace: Workspace, params: wire.ContextParams) -> Iterator[AttachedLines]:
        active = params.active
        if active and active.selection and (selected := convert.to_lines(active.selection)):
            yield AttachedLines(self.named(workspace, active.uri), *selected)
        for lines in params.attached:
            if lines.end_line < lines.start_line:
                raise InvalidInput("attached", "endLine comes before startLine")
            yield AttachedLines(self.named(workspace, lines.uri), lines.start_line, lines.end_line)


def default_budget(settings: Settings, params: wire.ContextParams) -> Budget:
    """Return the budget of a request that names none."""
    return settings.budget_policy.budget(params.window or window_of(params.model))


def selected_lines(file: FileRef | None, editor: wire.ActiveEditor | None) -> Lines | None:
    """Return the selected lines; a cursor selects nothing."""
    chosen = convert.to_lines(editor.selection) if editor and editor.selection else None
    return Lines(file.path, *chosen) if chosen and file and file.path is not None else None
