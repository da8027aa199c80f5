"""The settings `languages` and `editorLanguages`: which language the files have that fit a glob."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from carrel.model.errors import InvalidInput


def read_languages(raw: Any) -> tuple[tuple[str, str], ...]:
    """Read the setting `languages`. Raises `ValueError` that says what is wrong."""
    if not isinstance(raw, dict) or not all(isinstance(part, str) for pair in raw.items() for part in pair):
        raise ValueError('must be globs with the name of a language each, such as {"*.inc": "php"}')
    if raw:
        from carrel.model.native import check_languages  # noqa: PLC0415 - most settings need no core

        try:
            check_languages(list(raw.items()))
        except InvalidInput as error:
            raise ValueError(f"is refused: {error.reason}") from None
    return tuple(raw.items())


def read_editor_languages(raw: Any) -> tuple[tuple[str, str], ...]:
    """Return what Carrel can use of an editor's associations: the rest is nobody's mistake."""
    from carrel.model.editor_languages import language_of  # noqa: PLC0415 - as above

    pairs: list[tuple[str, str]] = []
    for glob, identifier in raw.items() if isinstance(raw, dict) else ():
        if isinstance(identifier, str) and (language := language_of(identifier)):
            with suppress(ValueError):
                pairs += read_languages({glob: language})
    return tuple(pairs)
