"""The texts of documents that the core can't read itself, as Markdown files in Carrel's cache, kept current by their originals.

Converting takes seconds, so what came of it is kept: it is the one text of a person's files that Carrel stores, readable by them
alone, and deleted with the source. The core indexes that folder as any other, so that its secrets are masked when they are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from carrel.model.errors import StoreError
from carrel.model.kinds import suffix_to_convert
from carrel.model.local_index import READ_FAILED
from carrel.model.native import CancelToken
from carrel.model.structs import whole_characters
from carrel.sources.documents.converter_process import Convert
from carrel.sources.documents.freshness import front_matter
from carrel.sources.documents.text_folder import TextMirror, not_readable, not_writable, read_below
from carrel.system.filesystem import is_system_fault, replace_file

if TYPE_CHECKING:
    from carrel.index.indexer import RunNative

MOST_BYTES = 50_000_000
"""Of a document that is converted."""
MOST_FILES = 20_000
FORMAT = 1
"""Changes when the same document would be converted to another text."""
_ENTERED = (None, "gone")
"""Verdict of the access rules on a folder that may be entered."""
_NUMBERED = [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", *_NUMBERED}
"""Names that open a device on Windows, whatever stands behind a dot."""

Refusal = Callable[[str], str | None]
"""(path) -> why the access rules of the folder refuse it, None if they don't."""


class MirrorState(Struct):
    """What is known of each original by its path: its stamp and hash, or why it failed."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)


class _Original(Struct, frozen=True):
    """A document that may be read; a `problem` says why it isn't."""

    path: str
    stamp: list[int]
    problem: str = ""


class _Read(Struct, frozen=True):
    """A document that is to be converted."""

    path: str
    stamp: list[int]
    data: bytes
    digest: str


class Mirror(TextMirror):
    """The converted documents of one folder. One process writes at a time (the index's writer)."""

    def __init__(self, root: Path, directory: Path, refusal: Refusal, convert: Convert) -> None:
        super().__init__(directory, root)
        self._refusal = refusal
        self._convert = convert
        self._state: MirrorState | None = None
        self._state_stamp: object = None

    def original(self, path: str) -> str:
        """Return the path of the original of a text."""
        return path.removesuffix(".md")

    def refused(self, path: str) -> bool:
        """Tell whether the original of a text may not be read any more, or is gone."""
        return self._refusal(self.original(path)) is not None

    @property
    def failed(self) -> dict[str, str]:
        """Name the documents that were not converted, and why."""
        try:
            state = self._read_state()
        except StoreError as error:
            return {".": error.reason}
        return {whole_characters(path): entry["reason"] for path, entry in state.failed.items()}

    async def update(self, cancel: CancelToken, native: RunNative, compared: Callable[[], None] = lambda: None) -> int:
        """Convert what is new or changed and delete what is gone; return how many texts changed. Raises `StoreError`.

        Where the machine fails over a path, nothing is deleted for it: too many open files, a broken disk.

        Files are read and written by `native`, which may be another thread; no thread waits for a conversion. `compared` is
        called when it is known what there is to do.
        """
        state = await native(self._read_state)
        changed, todo = await native(partial(self._compare, state, compared))
        try:
            for original in todo:
                if cancel.cancelled:
                    break
                read = await native(partial(self._read, state, original))
                if read is None:
                    continue
                fields = await self._convert(suffix_to_convert(read.path) or "", read.data)
                changed += await native(partial(self._keep, state, read, fields))
        finally:
            # At once: where this was cancelled, no thread may be left to do it.
            with contextlib.suppress(OSError):
                self._write_state(state)
        return changed

    def _compare(self, state: MirrorState, compared: Callable[[], None]) -> tuple[int, list[_Original]]:
        """Delete the texts whose originals are gone; return how many that were, and the documents that are new or changed."""
        self.prepare()
        originals = list(self._originals())
        compared()
        paths = {original.path for original in originals}
        gone = [path for path in (*state.files, *state.failed) if path not in paths]
        for path in gone:
            self._drop(path)
            state.failed.pop(path, None)
        deleted = sum(state.files.pop(path, None) is not None for path in gone)
        return deleted, [original for original in originals if _entry(state, original.path).get("stamp") != original.stamp]

    def _originals(self) -> Iterator[_Original]:
        """Give the documents that may be read, with size and time; no link is followed. Raises `StoreError`."""
        left = MOST_FILES
        for folder, folders, names in os.walk(self.root, onerror=_raise_fault):
            inside = Path(folder).relative_to(self.root).as_posix()
            prefix = "" if inside == "." else f"{inside}/"
            for name in [name for name in folders if unusable_name(name)]:
                folders.remove(name)
                yield _Original(f"{prefix}{name}", [0, 0, FORMAT], f"none of it was read: {unusable_name(name)}")
            folders[:] = sorted(name for name in folders if self._decide(f"{prefix}{name}/any.html") in _ENTERED)
            for name in sorted(names):
                path = f"{prefix}{name}"
                if suffix_to_convert(path) is None:
                    continue
                problem = unusable_name(name)
                if not problem and self._decide(path) is not None:
                    continue
                try:
                    status = (Path(folder) / name).lstat()
                except OSError as error:
                    _raise_fault(error)
                    continue
                left -= 1
                yield _Original(path, [status.st_mtime_ns, status.st_size, FORMAT], problem)
                if not left:
                    return

    def _decide(self, path: str) -> str | None:
        """Return what the access rules say of a path. Raises `StoreError` where the machine kept them from saying it."""
        reason = self._refusal(path)
        if reason and reason.startswith(READ_FAILED):
            raise not_readable(self.root / path, reason)
        return reason

    def _read(self, state: MirrorState, original: _Original) -> _Read | None:
        """Return a document that is to be converted, None where it can't be read or didn't change."""
        path, stamp = original.path, original.stamp
        if original.problem:
            self._fail(state, path, stamp, original.problem)
            return None
        try:
            data = read_below(self.root, path, MOST_BYTES)
        except OSError as error:
            reason = error.strerror or str(error)
            if is_system_fault(error):
                state.failed[path] = {"stamp": [], "reason": reason}  # tried again, and its text stays
            else:
                self._fail(state, path, stamp, reason)
            return None
        digest, entry = hashlib.sha256(data).hexdigest(), _entry(state, path)
        if entry.get("sha256") == digest and entry["stamp"][2] == FORMAT:
            entry["stamp"] = stamp
            state.failed.pop(path, None)
            return None
        return _Read(path, stamp, data, digest)

    def _keep(self, state: MirrorState, read: _Read, fields: dict[str, str]) -> bool:
        """Write what a document was converted to; tell whether there was something. Raises `StoreError`."""
        if reason := fields.get("problem"):
            self._fail(state, read.path, read.stamp, reason)
            return False
        target = self.texts / f"{read.path}.md"
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(target, _page(read.path, fields).encode())
            os.utime(target, ns=(read.stamp[0], read.stamp[0]))
        except OSError as error:
            if is_system_fault(error) or isinstance(error, PermissionError):
                raise not_writable(self.texts, error) from None
            self._fail(state, read.path, read.stamp, f"its text can't be kept under its name ({error.strerror or error})")
            return False
        state.failed.pop(read.path, None)
        state.files[read.path] = {"stamp": read.stamp, "sha256": read.digest}
        return True

    def _fail(self, state: MirrorState, path: str, stamp: list[int], reason: str) -> None:
        self._drop(path)
        state.files.pop(path, None)
        # What another installation may be able to read is tried again by the next run.
        state.failed[path] = {"stamp": [] if "extra" in reason else stamp, "reason": reason}

    def _drop(self, path: str) -> None:
        """Delete the text of a document, if there is one. Raises `StoreError`."""
        text = self.texts / f"{path}.md"
        try:
            text.unlink(missing_ok=True)
        except OSError as error:
            if os.path.isfile(text):  # noqa: PTH113 - `Path.is_file` raises for a name that is too long
                raise not_writable(self.texts, error) from None

    def _read_state(self) -> MirrorState:
        """Return the written state. Raises `StoreError` where it can't be read at the moment: it must not be forgotten."""
        try:
            status = os.stat(self._state_file)  # noqa: PTH116 - each question asks
            stamp = (status.st_mtime_ns, status.st_size)
            if self._state is None or stamp != self._state_stamp:
                raw = json.loads(self._state_file.read_text("utf-8"))
                self._state, self._state_stamp = MirrorState(dict(raw["files"]), dict(raw["failed"])), stamp
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, OSError) and is_system_fault(error):
                raise not_readable(self._state_file, error) from None
            self._state, self._state_stamp = MirrorState(), None
        return self._state

    def _write_state(self, state: MirrorState) -> None:
        if self._directory.is_dir():
            content = json.dumps({"files": state.files, "failed": state.failed}).encode()
            if not self._state_file.exists() or self._state_file.read_bytes() != content:
                replace_file(self._state_file, content)


def _raise_fault(error: OSError) -> None:
    """Raise `StoreError` if the machine failed over a path; one that isn't there, or may not be read, is passed over."""
    if is_system_fault(error):
        raise not_readable(Path(os.fsdecode(error.filename)), error) from None


def _entry(state: MirrorState, path: str) -> dict[str, Any]:
    return state.files.get(path) or state.failed.get(path) or {}


def unusable_name(name: str, *, windows: bool = sys.platform == "win32") -> str:
    """Return why no text can be kept under the name of a file or folder; empty where one can."""
    if whole_characters(name) != name:
        return "its name is not Unicode; rename it"
    if windows and (name.partition(".")[0].rstrip(" ").lower() in _DEVICES or name.endswith((".", " ")) or ":" in name):
        return "Windows reserves its name for something else; rename it"
    return ""


def _page(path: str, fields: dict[str, str]) -> str:
    title = " ".join(fields.get("title", "").split()) or " ".join(Path(path).stem.split())
    head = front_matter({"title": title, "updated_at": fields.get("updated_at", ""), "version": fields.get("version", "")})
    return f"{head}\n# {title}\n\n{fields['text']}\n"
