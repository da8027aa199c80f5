"""Make one text of documents, within the part of a model's window that prompts and answer leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from msgspec import Struct

from carrel.extensions.rag.config import Prompt, RAGAgentConfig
from carrel.extensions.rag.documents import FoundDocument, described
from carrel.extensions.rag.tokens import PromptCounter
from carrel.model.errors import CarrelError, InvalidInput, ProviderError, WindowTooSmall
from carrel.model.structs import whole_characters
from carrel.pack.appearance import one_line
from carrel.pack.formats import harmless

DEFAULT_WINDOW = 8_192
_PATIENT_TRIES = 8


class Share(Struct, frozen=True):
    """Say how the window was divided. `context` is the beginning of the one that was given."""

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


MakeSource = Callable[[Any], str]
"""Names where a document is from, given what the store gave."""
BuildContext = Callable[[Sequence[Any]], str]
"""Makes the whole context of documents as the store gave them, best first."""


class Shown(Struct, frozen=True):
    """Where the text of document number `number` stands in a context."""

    number: int
    start: int
    end: int


class Context(Struct, frozen=True):
    """A text made of documents."""

    text: str
    shown: tuple[Shown, ...]

    def cut(self, length: int) -> str:
        """Return a beginning of at most so many characters that ends in the text of a document, not in a header."""
        end = 0
        for item in self.shown:
            if not self.text[item.start : min(length, item.end)].strip():
                break
            end = min(length, item.end)
        return self.text[:end]

    def numbers(self, length: int) -> list[int]:
        """Return the numbers of the documents that the beginning of this length shows, wholly or in part."""
        return [item.number for item in self.shown if item.start < length]


def whole(text: str) -> Context:
    """Return a context of which only the text is known."""
    return Context(text, (Shown(0, 0, len(text)),) if text else ())


def build(documents: Sequence[FoundDocument], config: RAGAgentConfig, make_source: MakeSource) -> Context:
    """Put documents in order; those without text are left out.

    What looks like a header or a separator in a document gets a backslash, so that no document can pass for two.
    """
    fmt = config.context_item_header_fmt if config.include_metadata_in_context else None
    text, shown = "", list[Shown]()
    for number, document in enumerate(documents):
        body = harmless(whole_characters(document.text), config.context_separator, fmt).strip("\r\n")
        if not body.strip():
            continue
        text += config.context_separator if text else ""
        text += f"{fmt.replace('{source}', source_name(document.raw, make_source))}\n" if fmt else ""
        shown.append(Shown(number, len(text), len(text) + len(body)))
        text += body
    return Context(text, tuple(shown))


def built(documents: Sequence[FoundDocument], build_context: BuildContext) -> Context:
    """Return the text that `build_context` makes of documents; which of it is whose isn't known. Raises `InvalidInput`."""
    text = whole_characters(_text_of("build_context", build_context, [document.raw for document in documents]))
    return Context(text, tuple(Shown(number, 0, len(text)) for number in range(len(documents))))


def source_name(raw: object, make_source: MakeSource) -> str:
    """Return what `make_source` says of a document, on one line. Raises `InvalidInput` where it fails."""
    return one_line(_text_of("make_source", make_source, raw))


def _text_of(name: str, function: Callable[[Any], str], value: object) -> str:
    """Return the text that a caller's function makes of documents. Raises `InvalidInput` where it fails."""
    try:
        text = function(value)
    except CarrelError:
        raise
    except Exception as error:
        raise InvalidInput(
            name, f"failed for {'documents' if isinstance(value, list) else 'a document'}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(text, str):
        raise InvalidInput(name, f"gave {described(text)}", "Return a text.")
    return text
