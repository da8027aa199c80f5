"""The history of a repository as Markdown in Carrel's cache: one file a month, one section a commit, so that the core indexes it.

Bounded: the newest `MOST_COMMITS`, of each so much of its message and so many of its paths; as many as git lists in its time and
`_MOST_TEXT` holds. Only what came since the last run is read; a history that was rewritten is read anew.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.git import git
from carrel.git.git import LoggedCommit
from carrel.git.git_process import Enough, NoAnswer, known_foreign
from carrel.model.native import CancelToken
from carrel.model.patterns import lazy_pattern
from carrel.model.structs import whole_characters
from carrel.sources.documents.text_folder import TextMirror, not_writable
from carrel.system.filesystem import replace_file

if TYPE_CHECKING:
    from carrel.index.indexer import RunNative

MOST_COMMITS = 5_000
_LONGEST_MESSAGE = 4_000
_MOST_PATHS = 40
_MOST_TEXT = 32_000_000
"""Characters of all commits of one run, which are kept in memory."""
_FORMAT = 1
_MARKUP = lazy_pattern(r"^(?=\s*(?:#|```|~~~|[=-]+\s*$|<))", re.MULTILINE)
"""Of a message, what would end its section or begin another."""
_PARTIAL = "only the newest commits were read: git was slow, or failed before the end of the history"
_NO_GIT_NOW = "git was too slow, or failed; what was read before is kept"
_NO_GIT = "git gave no answer: the folder is no repository, has no commits, or git isn't installed"


class GitMirror(TextMirror):
    """The commits of one repository, as texts."""

    def __init__(self, root: Path, directory: Path) -> None:
        super().__init__(directory, root)
        self._problem = ""

    def original(self, path: str) -> str:
        """Return the path that stands for a text."""
        return path

    @property
    def failed(self) -> dict[str, str]:
        """Say why the history could not be read, if so."""
        return {".": self._problem} if self._problem else {}

    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = lambda: None) -> int:
        """Add the commits since the last run; return how many. Raises `StoreError` where they can't be written."""
        return await native(lambda: self._update(cancel, compared))

    def _update(self, cancel: CancelToken, compared: Callable[[], None]) -> int:
        self.prepare()
        try:
            why = known_foreign(self.root)
        except NoAnswer:
            compared()
            self._problem = _NO_GIT_NOW
            return 0
        if why:
            compared()
            self._problem = f"its commits are not read: {why}"
            self._forget()
            return 0
        head = git.head(self.root)
        compared()
        last_commit, partial = self._last_commit()
        self._problem = _NO_GIT if head is None else _PARTIAL if partial else ""
        if head is None or head == last_commit:
            return 0
        grows = last_commit is not None and git.descends(self.root, last_commit)
        months = _Months(cancel)
        whole = git.log(self.root, months.add, limit=MOST_COMMITS, since=last_commit if grows else None) or months.full
        if cancel.cancelled or not (whole or months.commits):
            self._problem = self._problem if cancel.cancelled else _NO_GIT
            return 0
        partial = not whole or (partial and grows)
        self._problem = _PARTIAL if partial else ""
        try:
            # Until the texts are whole there is no state: after a kill in between all of them are written anew.
            self._state_file.unlink(missing_ok=True)
            self._write(months.texts, grows=grows)
            replace_file(self._state_file, json.dumps({"head": head, "format": _FORMAT, "partial": partial}).encode())
        except OSError as error:
            raise not_writable(self.texts, error) from None
        return months.commits

    def _forget(self) -> None:
        self._state_file.unlink(missing_ok=True)
        for path in self.texts.glob("*.md"):
            path.unlink()

    def _last_commit(self) -> tuple[str | None, bool]:
        """Return the commit that the texts end with, and whether older ones are missing."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            state = json.loads(self._state_file.read_text("utf-8"))
            if state["format"] == _FORMAT:
                return str(state["head"]), state.get("partial") is True
        return None, False

    def _write(self, months: Mapping[str, Sequence[str]], *, grows: bool) -> None:
        """Put commits before those that are there, or in the place of all texts."""
        for month, sections in months.items():
            path = self.texts / f"{month}.md"
            before = path.read_text("utf-8") if grows and path.exists() else ""
            replace_file(path, ("".join(sections) + before).encode())
        for path in () if grows else self.texts.glob("*.md"):
            if path.stem not in months:
                path.unlink()


class _Months:
    """The sections of commits by month, gathered while git lists them: what isn't shown of a commit is dropped at once."""

    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel
        self._length = 0
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.commits = 0

    @property
    def full(self) -> bool:
        """Tell whether there is room for no more."""
        return self._length >= _MOST_TEXT

    def add(self, commit: LoggedCommit) -> None:
        """Take the next commit, newest first. Raises `Enough`."""
        text = section(commit)
        self.texts[commit.at[:7] if re.match(r"\d{4}-\d\d", commit.at) else "undated"].append(text)
        self.commits += 1
        self._length += len(text)
        if self.full or self._cancel.cancelled:
            raise Enough("no more is kept")


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
