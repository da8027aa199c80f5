"""The history of a repository as Markdown in Carrel's cache: one file a month, one section a commit, so that the core indexes it.

Bounded: the newest `MOST_COMMITS`, of each so much of its message and so many of its paths. Only what came since the last run is
read; a history that was rewritten is read anew.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.core.atomic_file import replace_file
from carrel.core.native import CancelToken
from carrel.core.structs import whole_characters
from carrel.engine import git
from carrel.engine.documents import text_folder
from carrel.engine.git import LoggedCommit

if TYPE_CHECKING:
    from carrel.engine.indexer import RunNative

MOST_COMMITS = 5_000
_A_PAGE = 500
_LONGEST_MESSAGE = 4_000
_MOST_PATHS = 40
_FORMAT = 1
_MARKUP = re.compile(r"^(?=\s*(?:#|```|~~~|[=-]+\s*$|<))", re.MULTILINE)
"""Of a message, what would end its section or begin another."""
_NO_GIT = "git gave no answer: the folder is no repository, has no commits, or git isn't installed"


class GitMirror:
    """The commits of one repository, as texts. Its methods block."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root = root
        self.texts = directory / "texts"
        self._directory = directory
        self._state = directory / "state.json"
        self._problem = ""

    def prepare(self) -> None:
        """Make the folder of the texts. Raises `StoreError`."""
        text_folder.make(self.texts)

    def original(self, path: str) -> str:
        """Return the path that stands for a text."""
        return path

    def refused(self, path: str) -> bool:  # noqa: ARG002 - there is no original to ask for
        """Tell whether a text may not be given any more: commits have no access rules."""
        return False

    @property
    def failed(self) -> dict[str, str]:
        """Say why the history could not be read, if so."""
        return {".": self._problem} if self._problem else {}

    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = lambda: None) -> int:
        """Add the commits since the last run; return how many. Raises `StoreError` where they can't be written."""
        return await native(lambda: self._update(cancel, compared))

    def _update(self, cancel: CancelToken, compared: Callable[[], None]) -> int:
        self.prepare()
        if foreign := git.foreign(self.root):
            compared()
            self._problem = f"its commits are not read: {foreign}"
            self._forget()
            return 0
        head = git.head(self.root)
        compared()
        self._problem = "" if head else _NO_GIT
        known = self._known()
        if head is None or head == known:
            return 0
        grows = known is not None and git.descends(self.root, known)
        commits = self._commits(known if grows else None, cancel)
        if commits is None or cancel.cancelled:
            return 0
        try:
            if not grows:
                self._forget()
            self._write(commits)
            replace_file(self._state, json.dumps({"head": head, "format": _FORMAT}).encode())
        except OSError as error:
            raise text_folder.not_writable(self.texts, error) from None
        return len(commits)

    def delete(self) -> None:
        """Delete all that is kept."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _forget(self) -> None:
        self._state.unlink(missing_ok=True)
        for path in self.texts.glob("*.md"):
            path.unlink()

    def _known(self) -> str | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            state = json.loads(self._state.read_text("utf-8"))
            return str(state["head"]) if state["format"] == _FORMAT else None
        return None

    def _commits(self, since: str | None, cancel: CancelToken) -> list[LoggedCommit] | None:
        found: list[LoggedCommit] = []
        while len(found) < MOST_COMMITS and not cancel.cancelled:
            page = git.log(self.root, limit=_A_PAGE, skip=len(found), since=since)
            if page is None:
                self._problem = "git was too slow, or failed: only the newest commits were read" if found else _NO_GIT
                return found or None
            found += page
            if len(page) < _A_PAGE:
                break
        return found[:MOST_COMMITS]

    def _write(self, commits: Sequence[LoggedCommit]) -> None:
        months: dict[str, list[LoggedCommit]] = defaultdict(list)
        for commit in commits:
            months[commit.at[:7] if re.match(r"\d{4}-\d\d", commit.at) else "undated"].append(commit)
        for month, group in months.items():
            path = self.texts / f"{month}.md"
            before = path.read_text("utf-8") if path.exists() else ""
            replace_file(path, ("".join(map(section, group)) + before).encode())


def section(commit: LoggedCommit) -> str:
    """Return a commit as a section whose heading is its subject."""
    message = _MARKUP.sub(r"\\", whole_characters(commit.message[:_LONGEST_MESSAGE]))
    subject, _, body = message.partition("\n")
    paths = ", ".join(_plain(path) for path in commit.paths[:_MOST_PATHS])
    more = len(commit.paths) - _MOST_PATHS
    files = f"Files: {paths}{f' and {more} more' if more > 0 else ''}\n" if paths else ""
    body = f"\n{body.strip()}\n" if body.strip() else ""
    return f"# {_plain(subject)}\n\nCommit {commit.sha[:12]} of {commit.at[:10]} by {_plain(commit.author)}\n{body}{files}\n"


def _plain(text: str) -> str:
    return " ".join(whole_characters(text).split())
