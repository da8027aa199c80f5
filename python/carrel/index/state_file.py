"""The state of an index that lives in the project, as a file that people and other tools can read (spec C5).

It is written after each run over the whole workspace, and when saves have come to rest: it costs too much for each of them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrel.model.native import Store

log = logging.getLogger(__name__)

STATE_FILE = "rag-state.json"
VERSION = 1


def export(store: Store, target: Path, commit: str | None) -> None:
    """Write `{version, lastCommitSha, files: {path: {lastModified, chunkIds}}}` in one step; a fault is logged, no more."""
    files = {path: {"lastModified": _milliseconds(mtime_ns), "chunkIds": ids} for path, mtime_ns, ids in store.index_state()}
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    try:
        draft.unlink(missing_ok=True)
        with draft.open("x", encoding="utf-8") as file:  # a project may bring a link of that name, which leads anywhere
            file.write(json.dumps({"version": VERSION, "lastCommitSha": commit, "files": files}))
        draft.replace(target)
    except OSError as error:
        log.warning("%s can't be written: %s", target, error.strerror)
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _milliseconds(ns: int) -> float:
    """Give a time as the `mtimeMs` of Node.js does, to the last bit: its readers compare the two."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return seconds * 1e3 + rest / 1e6


def forget(target: Path) -> None:
    """Delete the file: it names what an index that was deleted held. A fault is logged, no more."""
    try:
        target.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be deleted: %s", target, error.strerror)
