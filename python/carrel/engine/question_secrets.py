"""Secrets in a question are masked before it leaves the machine, by the rules that mask them in files.

The search in the index goes on with the words as they were typed: a person may look for where a secret is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from carrel.core.conversation import Message
from carrel.core.native import SecretOptions, mask_secrets

Mask = Callable[[str], str]
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


def mask_texts(value: Any, mask: Mask) -> Any:
    """Return plain data with each text in it masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {name: mask_texts(item, mask) for name, item in value.items()}
    return [mask_texts(item, mask) for item in value] if isinstance(value, list | tuple) else value


def masked_history(history: Sequence[Message], mask: Mask) -> tuple[Message, ...]:
    """Return what was said before, masked."""
    return tuple(replace(message, text=mask(message.text)) for message in history)
