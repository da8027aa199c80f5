"""Words for an index that a run over all files has not finished."""

from __future__ import annotations

FINISH = "Wait for the run that goes on, or start one: `carrel index`."


def unfinished_text(files: int, unfinished: int, failed: int, *, complete: bool) -> str | None:
    """Say how much of a folder is in its index, where a run over all files has not ended; None where it has, or none began.

    A first run that ended, and left nothing but files that `failed`, is told by these.
    """
    if complete and unfinished:
        return f"unfinished: {unfinished:,} new or changed file{' is' if unfinished == 1 else 's are'} not taken up yet"
    if complete or not (files or unfinished) or (failed and not unfinished):
        return None
    total = f" of {files + unfinished:,}" if unfinished else ""
    return f"unfinished: {files:,}{total} files are in the index, answers lack what the others hold"
