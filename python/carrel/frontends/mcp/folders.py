"""The workspace folders of one MCP server, the names they go by, and the places in them that arguments name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from carrel.frontends.common.uris import path_to_uri, uri_to_path
from carrel.model.errors import InvalidInput
from carrel.policy.broad_folders import BroadFolder
from carrel.service.folder_group import FolderGroup
from carrel.service.session import Session
from carrel.service.workspace import Workspace


class Folders:
    """Open folders by name. Which they are is decided once: by `--root`, else by the client's roots, else the current folder."""

    def __init__(self, session: Session, roots: Iterable[Path], *, fallback: Path, broad: BroadFolder = "allowed") -> None:
        """Open `roots` at once. `fallback` is used where neither they nor the client name any.

        They were named by the person, or as `broad` says by an editor.
        """
        self._session = session
        self._fallback = fallback
        self._broad = broad
        self._names: dict[str, Workspace] = {}
        self.named = tuple(roots)
        self.decided = False
        if self.named:
            self.decide(self.named)

    def decide(self, roots: Iterable[Path]) -> None:
        """Open these folders and let others go; none at all means the fallback."""
        wanted = list(dict.fromkeys(root.absolute() for root in roots if root.is_dir())) or [self._fallback.absolute()]
        broad = self._broad if self.named else "refused"  # some clients start servers in the home folder, or name it
        for path in set(self._session.folders) - {str(root) for root in wanted}:
            self._session.remove_folder(path)
        workspaces = []
        for root in wanted:
            is_open = str(root) in self._session.folders
            workspaces.append(self._session.add_folder(str(root), path_to_uri(str(root)), broad=broad))
            if not is_open:
                self._session.start(workspaces[-1])
        self._names = dict(sorted(self._session.names().items(), key=lambda item: workspaces.index(item[1])))
        self.decided = True

    def all(self) -> list[tuple[str, Workspace]]:
        """Return every folder with its name."""
        return list(self._names.items())

    def searched(self, folder: str) -> Workspace | FolderGroup:
        """Return the folder of this name or path; all as a group for an empty string, if there are several. Raises
        `InvalidInput`.
        """
        if folder or len(self._names) < 2:
            return self.pick(folder)[1]
        return self._session.group(self._names)

    def name_of(self, workspace: Workspace) -> str:
        """Return the name of an open folder."""
        return next(name for name, other in self._names.items() if other is workspace)

    def pick(self, folder: str) -> tuple[str, Workspace]:
        """Return the folder of this name or path; the first one for an empty string. Raises `InvalidInput`.

        A folder goes by its former names, too: what was given with one can be read again.
        """
        for name, workspace in self._names.items():
            if folder in ("", name) or str(Path(folder)) == workspace.root_key:
                return name, workspace
        if folder in (former := self._session.former_names()):
            return self.name_of(former[folder]), former[folder]
        raise InvalidInput("folder", "is not an open workspace folder", f"There are: {', '.join(self._names) or 'none'}.")

    def holding(self, path: str) -> Workspace | None:
        """Return the open folder that an absolute path lies in, if one does."""
        if not Path(path).is_absolute() or "\0" in path or _leads_up(path):
            return None
        location = self._session.locate(path)
        return location[0] if location else None

    def switch_context(self, *, on: bool) -> None:
        """Have context put beside prompts, or not, from now on."""
        if self._session.options.get("ragEnabled") is not on:
            self._session.configure({**self._session.options, "ragEnabled": on})

    def place(self, folder: str, path: str) -> tuple[str, Workspace, str]:
        """Return the folder that holds a file and the file's path in it. Raises `InvalidInput` for whatever lies outside."""
        original_path = path
        if path.lower().startswith("file:"):
            path = uri_to_path(path) or ""
        if not path or "\0" in path or _leads_up(path):
            raise InvalidInput("path", "is outside the workspace", value=original_path)
        if not Path(path).is_absolute():
            name, workspace, path = self._relative(folder, Path(path).as_posix())
            return name, workspace, path
        location = self._session.locate(path)
        if location is None or not location[1]:
            raise InvalidInput("path", "is outside the workspace", value=original_path)
        workspace, relative = location
        return self.name_of(workspace), workspace, relative

    def _relative(self, folder: str, path: str) -> tuple[str, Workspace, str]:
        """Return the folder that is meant by a relative path. Of several it may begin with one's name, as paths of answers do."""
        name, workspace = self.pick(folder)
        if folder:
            return name, workspace, path
        first, _, rest = path.partition("/")
        former = self._session.former_names()
        candidates = [(first, self._names[first], rest)] if rest and first in self._names and len(self._names) > 1 else []
        candidates += [(other, at, path) for other, at in self._names.items()]
        candidates += [(self.name_of(former[first]), former[first], rest)] if rest and first in former else []
        there = (found for found in candidates if os.path.isfile(found[1].root / found[2]))  # noqa: PTH113 - `Path` raises for a name that is too long
        return next(there, candidates[0])

    def recorded(self, tool: str, arguments: Mapping[str, Any], result: str) -> None:
        """Record a call of a tool in the audit log, if there is one."""
        if self._session.composition.audit is not None:
            self._session.composition.audit.tool(tool, arguments, result)


def _leads_up(path: str) -> bool:
    return ".." in path.replace("\\", "/").split("/")
