"""Documents that were never saved (`untitled:`): the path that stands for each while it is open.

The path lies in a folder that nobody has, and only the last part of the document's name goes into it: it can neither lead out of
the workspace nor stand for a file. Ignore rules and the names of secrets count for it as for any other path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import PurePosixPath
from urllib.parse import unquote

from carrel.model.editor_languages import extension_of, language_of
from carrel.model.patterns import lazy_pattern

_FOLDER = "untitled:"
_UNUSABLE = lazy_pattern(r'[\x00-\x1f\x7f<>:"|?*]+')
_LONGEST = 100


def is_untitled(uri: str) -> bool:
    """Return true for a document that was never saved."""
    return uri[: len(_FOLDER)].lower() == _FOLDER


def path_for(uri: str, language: str, taken: Callable[[str], bool]) -> str:
    """Return a path for an untitled document that isn't taken; its extension tells the language where the name doesn't."""
    from carrel.model.native import detect_language  # noqa: PLC0415 - a server starts without the core

    last = re.split(r"[/\\]", unquote(uri[len(_FOLDER) :]))[-1]
    name = _UNUSABLE.sub("_", last).strip()[-_LONGEST:]
    if not name.strip("."):
        name = "Untitled"
    if detect_language(name) is None:
        name += f".{extension_of(language)}" if language_of(language) else ".txt"
    plain = PurePosixPath(name)
    numbered = (f"{_FOLDER}/{plain.stem}{f' ({number})' if number > 1 else ''}{plain.suffix}" for number in count(1))
    return next(path for path in numbered if not taken(path))
