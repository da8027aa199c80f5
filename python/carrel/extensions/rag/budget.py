"""Divide a model's window between prompts, context and answer (spec E2), so that together they never exceed it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from carrel.extensions.rag.config import RAGAgentConfig
from carrel.extensions.rag.context import Context
from carrel.extensions.rag.prompt import Prompt
from carrel.extensions.rag.tokens import PromptCounter
from carrel.model.errors import InvalidInput, ProviderError, WindowTooSmall

DEFAULT_WINDOW = 8_192
_PATIENT_TRIES = 8


@dataclass(frozen=True, slots=True)
class Share:
    """How the window was divided. `context` is the beginning of the one that was given."""

    context: str
    base_tokens: int
    context_tokens_used: int
    token_budget: int
    generation_budget: int
    max_new_tokens: int
    meta: dict[str, Any]


def window_of(model: object) -> int:
    """Return the tokens of a model's window. Raises `InvalidInput` where it says something else."""
    window = getattr(model, "max_seq_length", None)
    if window is None:
        return DEFAULT_WINDOW
    if isinstance(window, bool) or not isinstance(window, Integral) or window < 1:
        raise InvalidInput("llm.max_seq_length", f"{window!r} is no number of tokens", "Give a whole number above 0, or None.")
    return int(window)


def divide(
    prompt: Prompt, context: Context, window: int, counter: PromptCounter, config: RAGAgentConfig, cap: int | None
) -> Share:
    """Trim the context to what prompts and answer leave of the window.

    `cap` are the tokens that the answer may have at most, which are kept for it; None keeps the configured share. Raises
    `WindowTooSmall`.
    """
    base = counter.count(prompt, "")
    message_margin = counter.message_margin(prompt)
    remaining = window - base - config.safety_margin_tokens - message_margin
    least = config.min_output_tokens if cap is None else min(cap, config.min_output_tokens)
    if remaining < least:
        raise WindowTooSmall(
            "llm.max_seq_length",
            f"Of the window of {window:,} tokens, the prompts and the history take {base:,} and the margin "
            f"{config.safety_margin_tokens + message_margin:,}; that leaves less than the {least:,} of the shortest answer",
            "Shorten the prompts or the history, take a model with a larger window, or lower `min_output_tokens`.",
        )
    wanted = max(config.min_output_tokens, int(config.auto_output_ratio * remaining)) if cap is None else cap
    reserved = min(wanted, remaining)
    available = remaining - reserved
    text, used = _trim(prompt, context, available, counter, base)
    generation = remaining - used
    return Share(
        context=text,
        base_tokens=base,
        context_tokens_used=used,
        token_budget=window,
        generation_budget=generation,
        max_new_tokens=generation if cap is None else min(generation, cap),
        meta={
            "available_for_context": available,
            "initial_max_new_tokens": reserved,
            "safety_margin_tokens": config.safety_margin_tokens,
            "message_margin_tokens": message_margin,
            "tokenizer": counter.tokenizer.name,
            "context_trimmed": text != context.text,
            "docs_in_context": context.numbers(len(text)),
        },
    )


def _trim(prompt: Prompt, context: Context, available: int, counter: PromptCounter, base: int) -> tuple[str, int]:
    """Return the beginning of the context that fits, and its tokens.

    A text may have more tokens inside a prompt than by itself, since tokens reach over its edges and a template may hold it
    twice: the whole prompt is counted, and more is cut until it fits.
    """
    text, allowed, tries = context.text, available, 0
    while text and allowed > 0:
        trimmed = counter.tokenizer.trim(text, allowed)
        if not text.startswith(trimmed):
            raise ProviderError(f"The tokenizer {counter.tokenizer.name} trimmed a text to something else than its beginning")
        text = context.cut(len(trimmed))
        used = max(counter.tokenizer.count(text), counter.count(prompt, text) - base)
        if used <= available:
            return (text, used) if text else ("", 0)
        tries += 1
        share = allowed * available // used
        allowed = min(allowed - 1, share if tries < _PATIENT_TRIES else share // 2)
    return "", 0
