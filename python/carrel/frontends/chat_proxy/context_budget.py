"""How many tokens of context a request has room for: by the model's window and the length of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from carrel.frontends.chat_proxy.conversation import Conversation
from carrel.frontends.chat_proxy.questions import is_anthropic
from carrel.model.types import Budget
from carrel.settings.model_settings import BudgetPolicy, window_of

SMALLEST = 150
"""A context of fewer tokens tells a model nothing."""
_UNKNOWN = 8_192
"""A careful guess at the window of a model that nobody knows."""
_AGENTS_WINDOW = 1_000_000
"""The same where a request offers tools: what an agent sends alone exceeds a small window, and it shortens its history itself."""
_AGENTS_TOKENS = 2_000
_MESSAGES_TOKENS = 1_500
"""The most for a question of an agent, which reads the rest itself and pays for the context in each step."""

_CHARS_PER_TOKEN = 3  # on the safe side for code; counting exactly would take longer than the search
_REPLY = 1_024
_OLLAMA = 4_096  # its default, whatever the model could


def model_window(body: dict[str, Any], path: str, setting: int | None, reported: int | None = None) -> int | None:
    """Return the model's window: by the setting, the request, the upstream's list, or the model's name."""
    if setting or is_anthropic(path):  # a name tells no window there: the same model has several
        return setting
    options = body.get("options")
    if isinstance(options, dict) and type(options.get("num_ctx")) is int:
        return int(options["num_ctx"])
    if "/api/" in path:
        return _OLLAMA
    model = body.get("model")
    return reported or window_of(model if isinstance(model, str) else None)


def window_or_guess(window: int | None, body: dict[str, Any]) -> int:
    """Return the model's window, or what is taken for it where it isn't known."""
    return window or (_AGENTS_WINDOW if body.get("tools") else _UNKNOWN)


def wanted_budget(policy: BudgetPolicy, window: int | None, conversation: Conversation) -> Budget:
    """Return what a context should have by the settings."""
    if not conversation.body.get("tools"):
        return policy.budget(window)
    most = _MESSAGES_TOKENS if conversation.in_blocks else _AGENTS_TOKENS
    return replace(policy, ceiling=min(policy.ceiling, most)).budget(window_or_guess(window, conversation.body))


def free_tokens(body: dict[str, Any], length: int, window: int) -> int:
    """Return what the conversation and the reply leave of the window.

    `length` is the request's size in bytes: a bound on the conversation's that costs nothing, tools and schemas included.
    """
    limit = next(
        (body[key] for key in ("max_completion_tokens", "max_output_tokens", "max_tokens") if type(body.get(key)) is int), None
    )
    return window - min(limit or _REPLY, window // 2) - length // _CHARS_PER_TOKEN


def too_many(sizes: Sequence[int], free: int, *, one_more: bool) -> int:
    """Return how many of the oldest contexts must go, so that the others fit; with `one_more` there must be room for a new one.

    Once one must go, as many go as leave half of the room: each that goes changes what was sent before.
    """
    least, total, gone = 2 * SMALLEST if one_more else 0, sum(sizes), 0
    if total + least <= free:
        return 0
    for size in sizes:
        last = gone == len(sizes) - 1
        if total <= free // 2 or (last and total + least <= free):
            break
        total, gone = total - size, gone + 1
    return gone


def context_budget(free: int, wanted: Budget) -> Budget | None:
    """Return what the context may take: at most what is wanted and half of what is free; None when that is too little."""
    left = free // 2
    wanted_tokens = wanted.amount if wanted.unit == "tokens" else wanted.amount // 4
    if left >= wanted_tokens:
        return wanted
    return Budget(left, "tokens") if left >= SMALLEST else None
