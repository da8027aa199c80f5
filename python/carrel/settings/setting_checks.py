"""Read settings that are objects: unknown fields, places of keys and URLs are refused in words for whoever wrote them.

Here are also `languages` and `editorLanguages`: which language the files have that fit a glob.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from carrel.model.errors import InvalidInput
from carrel.model.patterns import is_name
from carrel.model.structs import decode

S = TypeVar("S", bound=Struct)


def is_source_name(name: str) -> bool:
    """Tell whether a source of documents or of tools may be called so."""
    return is_name(name, 40) and name == name.lower()


def decode_object(raw: object, kind: type[S]) -> S:
    """Decode an object whose fields are all known. Raises `ValueError` that says what is wrong where."""
    refuse_unknown(raw, kind, "")
    try:
        return decode(kind, raw)
    except InvalidInput as error:
        raise ValueError(sentence_of(error)) from None


def described(text: str, **limits: Any) -> Meta:
    """Describe a field for whoever looks it up, with what bounds its values."""
    return Meta(description=text, **limits)


def options_of(settings: Struct) -> dict[str, Any]:
    """Return what isn't the default, as a settings file holds it."""
    options: dict[str, Any] = msgspec.to_builtins(settings)
    return options


def sentence_of(error: InvalidInput) -> str:
    """Return what is wrong, with the field unless it is the whole."""
    return error.sentence if error.field == "params" else str(error)


def check_key_place(field: str, place: str) -> None:
    """Raise `ValueError` unless this says where a key is."""
    if place in ("", "keyring", "editor", "none") or (place.startswith("env:") and place.removeprefix("env:").isidentifier()):
        return
    # Whatever it is, it may be a key: it must not be repeated.
    raise ValueError(
        f"{field}: says where the key is: `env:NAME`, `keyring`, `editor` or `none`. A key itself doesn't belong into a "
        "settings file; replace it there if you have written one."
    )


def check_url(field: str, url: str) -> None:
    """Raise `ValueError` for what is given and can't be asked."""
    if not url:
        return
    try:
        parts = urlsplit(url)
        fit = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.query
    except ValueError:
        fit = False
    if not fit:
        raise ValueError(f"{field}: must be a URL that begins with https:// or http://")
    if parts.username or parts.password:
        raise ValueError(f"{field}: must hold no user name or password")


def refuse_unknown(raw: object, kind: type[Struct], at: str) -> None:
    """Raise `ValueError` for a field that doesn't exist: a misspelt one would be ignored, and its default sent text elsewhere."""
    if not isinstance(raw, dict):
        return
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        if key not in fields:
            raise ValueError(f"{at}{key}: there is no such field; there are {', '.join(fields)}")
        inner = fields[key]
        if isinstance(inner, type) and issubclass(inner, Struct):
            refuse_unknown(value, inner, f"{at}{key}.")


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
