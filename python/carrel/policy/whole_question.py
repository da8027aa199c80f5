"""Show a person all that they decide about: what is too long for a dialog or a screen is in a file that they can read in full.

What runs is what was asked about, not what the file says later: its hash is in the question, and compared before the run.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from carrel.model.errors import ProviderError
from carrel.model.remote import Confirmation

_MOST_SHOWN = 1_500
"""Characters of all details: dialogs of editors can't be scrolled."""
_MOST_OF_ONE = 300
IN_FULL = "in full"
"""The detail that names the file."""


@contextmanager
def whole_question(asked: Confirmation) -> Iterator[Confirmation]:
    """Give the question as it can be shown; a file with all of it, where one is needed, lasts as long as the block.

    Raises `ProviderError` where it can't be written: nobody may agree to what they can't see.
    """
    if sum(map(len, asked.details.values())) <= _MOST_SHOWN:
        yield asked
        return
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="carrel-confirm-"))  # for the person's own eyes
        path = folder / f"{asked.what}-{asked.hash[:16]}.txt"
        path.write_text(_written(asked), "utf-8")
        details = {IN_FULL: str(path), **{name: _short(value) for name, value in asked.details.items()}}
        yield replace(asked, details=details)
    except OSError as error:
        raise ProviderError(f"What you are asked about can't be shown in full ({error.strerror or error})") from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _written(asked: Confirmation) -> str:
    parts = [f"{asked.risk}.", f"Decision {asked.hash}", *(f"=== {name} ===\n{value}" for name, value in asked.details.items())]
    return visible("\n\n".join(parts)) + "\n"


def _short(text: str) -> str:
    """Return the beginning and the end of a text: an order may hide at either."""
    half = _MOST_OF_ONE // 2
    return text if len(text) <= _MOST_OF_ONE else f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"


def visible(text: str) -> str:
    """Return a text in which nothing acts on a terminal or hides: all but lines and tabs is shown as it is spelled in code."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )
