"""What `carrel doctor` says of an index: read-only, and never in the way of the process that writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from carrel.composition.composition import Composition
from carrel.frontends.cli.reports.checks import Finding
from carrel.index.open_index import USE_MODEL
from carrel.index.unfinished import FINISH, unfinished_text
from carrel.model.errors import StoreError, TextRefused
from carrel.settings.settings_files import settings_of


def index(folder: Path) -> Iterator[Finding]:
    """Check the index of this folder: its format, its segments, who writes it."""
    settings, _ = settings_of(folder)
    composition = Composition()
    if not composition.index_exists(folder, settings):
        yield Finding("Index", "note", "none yet for this folder", "It is made by the first question, or by `carrel index`.")
        return
    try:
        opened = composition.open_index(folder, settings)
    except StoreError as error:
        remedy = f"{error.remedy[:1].upper()}{error.remedy[1:]}. " if error.remedy else ""
        yield Finding("Index", "error", error.reason, f"{remedy}If nothing else helps: carrel clear {folder}")
        return
    try:
        if reason := opened.model_not_used:
            yield Finding("Embedding model", "warning", reason, USE_MODEL)
        damage = opened.store.problems
        for problem in opened.other_problems:
            # The others say what mends them.
            remedy = "Run `carrel index`: it makes again what is missing." if problem in damage else ""
            yield Finding("Index", "warning", problem, remedy)
        if refused := [(path, reason) for path, reason in opened.store.failed() if TextRefused.is_reason(reason)]:
            (path, reason), more = refused[0], f" ({len(refused) - 1:,} more: `carrel status`)" if len(refused) > 1 else ""
            remedy = "Words find this text. Change it or the model's settings, or ask for all anew: carrel index --force"
            yield Finding("Index", "warning", f"{path}: {reason}{more}", remedy)
        store, snapshot = opened.store, opened.store.snapshot()
        if lacks := unfinished_text(snapshot.files, opened.unfinished, store.failed_count, complete=opened.complete):
            yield Finding("Index", "warning", lacks, FINISH)
        who = "written by this process alone" if store.role == "writer" else "another Carrel process is writing it"
        who = "read as it was left" if store.read_only else who
        size = f"{store.bytes_on_disk / 1e6:.1f} MB in {opened.directory}"
        yield Finding("Index", "ok", f"{snapshot.files:,} files, {snapshot.chunks:,} chunks, {size}; {who}")
    finally:
        opened.store.close()
