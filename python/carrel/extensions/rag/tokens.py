"""Count a model's tokens: by its own tokenizer where it has one, by what the caller offers else."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from carrel.extensions.rag.config import Prompt
from carrel.model.errors import CarrelError, InvalidInput, ProviderError
from carrel.model.ports import Tokenizer
from carrel.model.structs import whole_characters

log = logging.getLogger(__name__)

COVERED_MESSAGES = 6
"""Messages of a history that the safety margin is enough for, where no chat template says what surrounds a message."""
MESSAGE_TOKENS = 4
"""Tokens that chat models put around each further message."""

Template = Callable[[list[dict[str, str]]], int]
"""Counts messages by a model's chat template."""


class TokenizerPort:
    """A tokenizer with `encode(text)`, as transformers, tokenizers and tiktoken have them, behind the `Tokenizer` port.

    Texts are cut by search, so that what is kept is the text itself rather than what tokens are decoded to.
    """

    def __init__(self, tokenizer: Any, name: str = "") -> None:
        if isinstance(tokenizer, str) or not callable(getattr(tokenizer, "encode", None)):
            raise InvalidInput(
                "tokenizer", f"{type(tokenizer).__name__} has no `encode` for texts", "Give an object with `encode(text)`."
            )
        names = (getattr(tokenizer, key, None) for key in ("name", "name_or_path"))
        self.name = name or next((text for text in names if text and isinstance(text, str)), type(tokenizer).__name__)
        self._encode = tokenizer.encode
        self._decode = getattr(tokenizer, "decode", None)
        # What they would add to a text or refuse in it: the count is of the text alone.
        self._options = named_options(tokenizer.encode, add_special_tokens=False, disallowed_special=())

    def count(self, text: str) -> int:
        """Return the number of tokens. Raises `ProviderError` where the tokenizer fails."""
        if not text:
            return 0
        try:
            return tokens_in(self._encode(whole_characters(text), **self._options))
        except CarrelError:
            raise
        except Exception as error:
            raise ProviderError(f"The tokenizer {self.name} failed: {type(error).__name__}: {error}") from error

    def trim(self, text: str, max_tokens: int) -> str:
        """Return a beginning of at most `max_tokens` tokens that can't be lengthened by a character."""
        if max_tokens <= 0:
            return ""
        tokens = self.count(text)
        if tokens <= max_tokens:
            return text
        low, high = 0, len(text)  # the first fits, the second doesn't
        at, step = self._guess(text, max_tokens, tokens), 1
        while high - low > 1:
            if not low < at < high:  # the guess is enclosed
                at, step = (low + high) // 2, 0
            if self.count(text[:at]) <= max_tokens:
                low, at = at, at + step
            else:
                high, at = at, at - step
            step *= 2
        return text[:low]

    def _guess(self, text: str, max_tokens: int, tokens: int) -> int:
        """Return about how many characters so many tokens are; a good guess saves most of the counting."""
        try:
            first = list(_ids(self._encode(whole_characters(text), **self._options)))[:max_tokens]
            return len(self._decode(first))  # type: ignore[misc]
        except Exception:  # it can't decode, or not these: any guess will do
            return len(text) * max_tokens // tokens


class PromptCounter(Struct, frozen=True):
    """Counts whole prompts: by the chat template, or else as the sum of their texts."""

    tokenizer: Tokenizer
    template: Template | None = None

    def count(self, prompt: Prompt, context: str) -> int:
        """Return the tokens of all messages with this context."""
        if self.template is not None:
            return self.template(prompt.messages(context))
        texts = (prompt.system, *(text for _, text in prompt.history), prompt.user(context))
        return sum(self.tokenizer.count(text) for text in texts)

    def message_margin(self, prompt: Prompt) -> int:
        """Return the tokens around the messages of a long history, where they aren't counted."""
        return 0 if self.template else MESSAGE_TOKENS * max(0, len(prompt.history) - COVERED_MESSAGES)


def counter_of(model: object, otherwise: Tokenizer, prompt: Prompt) -> PromptCounter:
    """Return what counts this prompt for a model, `otherwise` where it has no tokenizer of its own."""
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is None:
        return PromptCounter(otherwise)
    if callable(getattr(tokenizer, "count", None)) and callable(getattr(tokenizer, "trim", None)):
        return PromptCounter(tokenizer)
    try:
        port = TokenizerPort(tokenizer)
    except InvalidInput as error:
        raise error.renamed("llm.tokenizer", "Give it `encode(text)`, or set it to None.") from None
    apply = getattr(tokenizer, "apply_chat_template", None)
    if not callable(apply):
        return PromptCounter(port)
    options = named_options(apply, tokenize=True, add_generation_prompt=True)

    def template(messages: list[dict[str, str]]) -> int:
        encoded = apply([{**message, "content": whole_characters(message["content"])} for message in messages], **options)
        return port.count(encoded) if isinstance(encoded, str) else tokens_in(encoded)

    try:
        template(prompt.messages(""))
    except Exception as error:  # it has no template, or one that knows no system prompt, or no such order of roles
        log.info("The chat template can't be used, texts are counted without it: %s: %s", type(error).__name__, error)
        return PromptCounter(port)
    return PromptCounter(port, template)


def tokens_in(encoded: Any) -> int:
    """Return how many tokens an encoding is: a list or an array of ids, or what holds them as `input_ids` or `ids`."""
    encoded = _ids(encoded)
    shape = getattr(encoded, "shape", None)
    if shape:
        return int(shape[-1])
    if len(encoded) == 1 and isinstance(encoded[0], list | tuple):  # a batch of one
        encoded = encoded[0]
    return len(encoded)


def _ids(encoded: Any) -> Any:
    if isinstance(encoded, Mapping) or hasattr(encoded, "input_ids"):
        return encoded["input_ids"]
    return encoded.ids if hasattr(encoded, "ids") else encoded


def named_options(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Return those options that a function names as parameters."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled functions may not tell
        return {}
    return {name: value for name, value in options.items() if name in parameters}
