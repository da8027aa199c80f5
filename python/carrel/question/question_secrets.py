"""Secrets in a question are masked before it leaves the machine, by the rules that mask them in files.

The search in the index goes on with the words as they were typed: a person may look for where a secret is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from carrel.model.conversation import Message
from carrel.model.native import SecretOptions, mask_secrets

Mask = Callable[[str], str]
_MARK, _MASKED = "[secret: ", "[secret]"
_PLACES = frozenset("continuation continue next page pagination prev previous resume start sync".split())  # noqa: SIM905
"""Fields with a token that says where a list goes on: it opens nothing, and no further page could be asked for without it."""
_PATH = "question.txt"
"""A question is read as the text of such a file."""


@lru_cache(maxsize=1)
def _usual() -> SecretOptions:
    return SecretOptions()


def masked(text: str) -> str:
    """Return a text with a mark in place of each secret, by the rules that nobody has changed."""
    return mask_secrets(_PATH, text, _usual())


def mask_by(options: SecretOptions) -> Mask:
    """Return what masks by the rules that a person has changed."""
    return lambda text: mask_secrets(_PATH, text, options)


def mask_fields(fields: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """Return the fields of an object with each text in them masked, names too; a text is also known by the name of its field."""
    return {mask(str(name)): _mask_field(str(name), value, mask) for name, value in fields.items()}


def _mask_field(name: str, value: Any, mask: Mask) -> Any:
    if isinstance(value, Mapping):
        return mask_fields(value, mask)
    if isinstance(value, list | tuple):
        return [_mask_field(name, item, mask) for item in value]
    if not isinstance(value, str) or (shown := mask(value)) != value or _says_place(name):
        return shown if isinstance(value, str) else value
    # As a file of settings would have it, which is what the rules for names read.
    line = json.dumps({name: value}, ensure_ascii=False)
    if (shown := mask(line)) == line:
        return value
    _, mark, rest = shown.partition(_MARK)
    return f"{mark}{rest.partition(']')[0]}]" if mark else _MASKED


def _says_place(name: str) -> bool:
    place, token, rest = name.lower().replace("_", "").replace("-", "").partition("token")
    return bool(token) and not rest and (place in _PLACES or place.removesuffix("page") in _PLACES)


def masked_history(history: Sequence[Message], mask: Mask) -> tuple[Message, ...]:
    """Return what was said before, masked."""
    return tuple(replace(message, text=mask(message.text)) for message in history)
