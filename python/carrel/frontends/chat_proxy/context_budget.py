"""How many tokens of context a request has room for: by the model's window and the length of the conversation."""

from __future__ import annotations

from typing import Any

from carrel.core.types import Budget
from carrel.engine.context_window import window_of

SMALLEST = 150
"""A context of fewer tokens tells a model nothing."""
UNKNOWN = 8_192
"""A careful guess at the window of a model that nobody knows."""

_CHARS_PER_TOKEN = 3  # on the safe side for code; counting exactly would take longer than the search
_REPLY = 1_024
_OLLAMA = 4_096  # its default, whatever the model could


def model_window(body: dict[str, Any], path: str, given: int | None, told: int | None = None) -> int | None:
    """Return the model's window: as given, as the request sets it, as the upstream told it, or by the model's name."""
    if given:
        return given
    options = body.get("options")
    if isinstance(options, dict) and type(options.get("num_ctx")) is int:
        return int(options["num_ctx"])
    if "/api/" in path:
        return _OLLAMA
    model = body.get("model")
    return told or window_of(model if isinstance(model, str) else None)


def context_budget(body: dict[str, Any], length: int, window: int, wanted: Budget) -> Budget | None:
    """Return what the context may take: at most what is wanted and half of what is left; None when that is too little.

    `length` is the request's size in bytes: a bound on the conversation's that costs nothing, tools and schemas included.
    """
    asked = next(
        (body[key] for key in ("max_completion_tokens", "max_output_tokens", "max_tokens") if type(body.get(key)) is int), None
    )
    reply = min(asked or _REPLY, window // 2)
    left = (window - reply - length // _CHARS_PER_TOKEN) // 2
    wanted_tokens = wanted.amount if wanted.unit == "tokens" else wanted.amount // 4
    if left >= wanted_tokens:
        return wanted
    return Budget(left, "tokens") if left >= SMALLEST else None
