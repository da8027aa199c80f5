"""What a model reads: the same as the structured results, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from carrel.index.left_out import unfinished_text
from carrel.pack.appearance import one_line
from carrel.pack.formats import NOTHING_FOUND
from carrel.service.folder_group import FolderGroup

if TYPE_CHECKING:
    from carrel.index.status import Status
    from carrel.service.workspace import Workspace

__all__ = ["NOTHING_FOUND", "notes", "status"]


def notes(workspace: Workspace | FolderGroup, notice: str | None = None) -> tuple[str, ...]:
    """Say what a reader of an answer must know about the index behind it, beside its `notice`."""
    if isinstance(workspace, FolderGroup):
        return tuple(f"{name}: {note}" for name, folder in workspace.folders.items() for note in notes(folder, notice))
    index = workspace.index
    if workspace.error:
        return () if workspace.error in (notice or "") else (f"The index may be out of date: {workspace.error}",)
    if index is None:
        return ()
    if index.complete:
        waiting = workspace.pending
        files = "1 changed file is" if waiting == 1 else f"{waiting} changed files are"
        return (f"{files} still being indexed: what is new there may be missing here. Ask again for more.",) if waiting else ()
    if index.store.role == "follower" and not index.begun:
        return ("Another Carrel, such as the editor's, keeps this folder's index and hasn't filled it: index the folder there.",)
    renewed = ("The index was deleted or damaged and is being made anew.",) if index.being_renewed else ()
    lacks = index.lacks or "The first index is still being made: ask again for more."
    return renewed if lacks in (notice or "") else (*renewed, lacks)


def status(name: str, folder_status: Status) -> str:
    """Describe one folder's index in a few lines."""
    lacks = unfinished_text(
        folder_status.files, folder_status.unfinished, folder_status.failed_files, complete=folder_status.complete
    )
    state = "unfinished" if lacks and folder_status.state in ("ready", "empty") else folder_status.state
    lines = [f"{name} ({folder_status.root}): {state}, {folder_status.files} files, {folder_status.chunks} chunks"]
    if lacks:
        lines.append(lacks)
    if folder_status.pending:
        lines.append(f"{folder_status.pending} files wait for indexing")
    if folder_status.languages:
        ordered = sorted(folder_status.languages.items(), key=lambda pair: -pair[1])
        lines.append("languages: " + ", ".join(f"{language} {count}" for language, count in ordered))
    if folder_status.left_out:
        reasons = Counter(folder_status.left_out)
        lines.append("left out: " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    lines += [f"problem: {problem}" for problem in folder_status.problems]
    if folder_status.error:
        lines.append(f"error: {folder_status.error}")
    return "\n".join(one_line(line) for line in lines)
