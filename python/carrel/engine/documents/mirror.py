"""The texts of documents that the core can't read itself, as Markdown files in Carrel's cache, kept current by their originals.

Converting takes seconds, so what came of it is kept: it is the one text of a person's files that Carrel stores, readable by them
alone, and deleted with the source. The core indexes that folder as any other, so that its secrets are masked when they are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carrel.core.atomic_file import replace_file
from carrel.core.native import CancelToken
from carrel.core.structs import whole_characters
from carrel.engine.documents import text_folder
from carrel.engine.documents.freshness import front_matter
from carrel.engine.documents.kinds import suffix_to_convert
from carrel.engine.documents.open_below import read_below

MOST_BYTES = 50_000_000
"""Of a document that is converted."""
MOST_FILES = 20_000
SECONDS = 60.0
"""How long one document may take."""
FORMAT = 1
"""Changes when the same document would be converted to another text."""
_STATE = "state.json"
_TEXTS = "texts"
_ALLOWED = (None, "unknown type")
"""What the access rules say of a file that may be read: the core knows no language for a PDF."""
_ENTERED = (*_ALLOWED, "gone")

Refusal = Callable[[str], str | None]
"""(path) -> why the access rules of the folder refuse it, None if they don't."""


@dataclass(slots=True)
class MirrorState:
    """What is known of each original by its path: its stamp and hash, or why it failed."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)


class Mirror:
    """The converted documents of one folder. Its methods block; one process writes at a time (the index's writer)."""

    def __init__(self, root: Path, directory: Path, refusal: Refusal) -> None:
        self.root = root
        self.texts = directory / _TEXTS
        self._directory = directory
        self._refusal = refusal
        self._state: MirrorState | None = None
        self._state_stamp: object = None

    def prepare(self) -> None:
        """Make the folder of the texts, which belongs to the person alone. Raises `StoreError`."""
        text_folder.make(self.texts)

    def original(self, path: str) -> str:
        """Return the path of the original of a text."""
        return path.removesuffix(".md")

    def refused(self, path: str) -> bool:
        """Tell whether the original of a text may not be read any more, or is gone."""
        return self._refusal(self.original(path)) not in _ALLOWED

    @property
    def failed(self) -> dict[str, str]:
        """Name the documents that were not converted, and why."""
        return {path: entry["reason"] for path, entry in self._read_state().failed.items()}

    def update(self, cancel: CancelToken, compared: Callable[[], None] = lambda: None) -> int:
        """Convert what is new or changed and delete what is gone; return how many texts changed. Raises `StoreError`.

        `compared` is called when it is known what there is to do.
        """
        self.prepare()
        state, found, changed = self._read_state(), set[str](), 0
        originals = list(self._originals())
        compared()
        try:
            for path, stamp in originals:
                if cancel.cancelled:
                    return changed
                found.add(path)
                changed += self._bring_up_to_date(path, stamp, state)
            for path in [known for known in (*state.files, *state.failed) if known not in found]:
                changed += state.files.pop(path, None) is not None
                state.failed.pop(path, None)
                (self.texts / f"{path}.md").unlink(missing_ok=True)
        except OSError as error:
            raise text_folder.not_writable(self.texts, error) from None
        finally:
            with contextlib.suppress(OSError):
                self._write_state(state)
        return changed

    def delete(self) -> None:
        """Delete all that is kept."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _originals(self) -> Iterator[tuple[str, list[int]]]:
        """Give the documents that may be read, with size and time; no link is followed."""
        left = MOST_FILES
        for folder, folders, names in os.walk(self.root):
            inside = Path(folder).relative_to(self.root).as_posix()
            prefix = "" if inside == "." else f"{inside}/"
            folders[:] = sorted(name for name in folders if self._refusal(f"{prefix}{name}/any.html") in _ENTERED)
            for name in sorted(names):
                path = f"{prefix}{name}"
                if suffix_to_convert(path) is None or self._refusal(path) not in _ALLOWED:
                    continue
                with contextlib.suppress(OSError):
                    found = (Path(folder) / name).lstat()
                    left -= 1
                    yield path, [found.st_mtime_ns, found.st_size, FORMAT]
                if not left:
                    return

    def _bring_up_to_date(self, path: str, stamp: list[int], state: MirrorState) -> bool:
        known = state.files.get(path) or state.failed.get(path)
        if known and known["stamp"] == stamp:
            return False
        try:
            data = read_below(self.root, path, MOST_BYTES)
        except OSError as error:
            self._fail(path, stamp, error.strerror or str(error), state)
            return False
        digest = hashlib.sha256(data).hexdigest()
        if known and known.get("sha256") == digest and known["stamp"][2] == FORMAT:
            known["stamp"] = stamp
            return False
        found = convert(suffix_to_convert(path) or "", data)
        if reason := found.get("problem"):
            self._fail(path, stamp, reason, state)
            return False
        target = self.texts / f"{path}.md"
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(target, _page(path, found).encode())
        os.utime(target, ns=(stamp[0], stamp[0]))
        state.failed.pop(path, None)
        state.files[path] = {"stamp": stamp, "sha256": digest}
        return True

    def _fail(self, path: str, stamp: list[int], reason: str, state: MirrorState) -> None:
        (self.texts / f"{path}.md").unlink(missing_ok=True)
        state.files.pop(path, None)
        # What another installation may be able to read is tried again by the next run.
        state.failed[path] = {"stamp": [] if "extra" in reason else stamp, "reason": reason}

    def _read_state(self) -> MirrorState:
        try:
            found = os.stat(self._directory / _STATE)  # noqa: PTH116 - each question asks
            stamp = (found.st_mtime_ns, found.st_size)
            if self._state is None or stamp != self._state_stamp:
                raw = json.loads((self._directory / _STATE).read_text("utf-8"))
                self._state, self._state_stamp = MirrorState(dict(raw["files"]), dict(raw["failed"])), stamp
        except (OSError, ValueError, KeyError, TypeError):
            self._state, self._state_stamp = MirrorState(), None
        return self._state

    def _write_state(self, state: MirrorState) -> None:
        if self._directory.is_dir():
            content = json.dumps({"files": state.files, "failed": state.failed}).encode()
            if not (self._directory / _STATE).exists() or (self._directory / _STATE).read_bytes() != content:
                replace_file(self._directory / _STATE, content)


def convert(kind: str, data: bytes, *, seconds: float = SECONDS) -> dict[str, str]:
    """Convert a document in a process of its own; return what `to_markdown` does, or a `problem`."""
    command = [sys.executable, "-P", "-m", "carrel.engine.documents.convert", kind]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False)  # noqa: S603
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"problem": f"took longer than {seconds:g} seconds to read"}
    except (OSError, ValueError):
        return {"problem": "can't be understood: reading it failed, maybe for lack of memory"}
    if "missing" in found:
        return {"problem": 'needs the extra "documents": pip install "carrel-context[documents]"'}
    return {str(key): whole_characters(str(value)) for key, value in found.items()}


def _page(path: str, found: dict[str, str]) -> str:
    title = " ".join(found.get("title", "").split()) or Path(path).stem
    head = front_matter({"title": title, "updated_at": found.get("updated_at", ""), "version": found.get("version", "")})
    return f"{head}\n# {title}\n\n{found['text']}\n"
