"""Say in words what an index left out: numbers come in by reason, a line for a person goes out.

Words for an index that a run over all files has not finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

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


HANDFUL = 5
"""A reason that hides no more files than these is told by `carrel status` alone."""

_EXPECTED = frozenset({"link", "empty", "gone", "outside the workspace", "ignored"})
_SECRET, _EXCLUDED, _HIDDEN = "secret", "excluded folder", "hidden folder"
_MADE_BY_TOOLS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})
_MOST_FOLDERS = 3


def files_left_out(counts: Mapping[str, int], *, after_run: bool = False) -> str:
    """Name the reasons that hide files, the commonest first; empty for none.

    After a run: those that hide more than a handful, and secrets from the first one, for a file may only look like one.
    """
    least = HANDFUL if after_run else 0
    news = {reason: count for reason, count in counts.items() if _is_news(reason) and count > least}
    secrets = sum(count for reason, count in counts.items() if reason.startswith(_SECRET))
    return reasons_text(news | ({_SECRET: secrets} if secrets and after_run else {}))


def reasons_text(counts: Mapping[str, int]) -> str:
    """Name reasons with their numbers, the commonest first."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def empty_text(counts: Mapping[str, int]) -> str:
    """Say why an index that is complete holds nothing, by the numbers of paths that were left out for each reason."""
    return f"Nothing is indexed: the folder holds no file to search{f' (left out: {reasons_text(counts)})' if counts else ''}."


def folders_left_out(skipped: Sequence[tuple[str, str]], *, after_run: bool = False) -> str:
    """Name the first folders that are left out by names that a person may have given, hidden ones after a run; empty for none."""
    hidden = [path for path, reason in skipped if reason == _HIDDEN and after_run]
    named = [path for path, reason in skipped if reason == _EXCLUDED and not PurePosixPath(path).name.startswith(".")]
    folders = [path for path in named if PurePosixPath(path).name not in _MADE_BY_TOOLS] + hidden
    more = f" and {len(folders) - _MOST_FOLDERS:,} more" if len(folders) > _MOST_FOLDERS else ""
    return ", ".join(folders[:_MOST_FOLDERS]) + more


def is_file_name(text: str) -> bool:
    """Tell whether a text may be the name of one file, or its path, and nothing else."""
    return not text.startswith("/") and "." in PurePosixPath(text).name and len(text.split()) == 1


def _is_news(reason: str) -> bool:
    """Tell whether a person may not expect that files are left out for this."""
    return reason not in _EXPECTED | {_EXCLUDED, _HIDDEN} and not reason.startswith(_SECRET)
