"""How many tokens a text is: exact where the model's encoding is known, an estimate that says so otherwise."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal

from msgspec import Struct

from carrel.model.native import count_tokens, trim_tokens
from carrel.model.ports import Tokenizer
from carrel.model.structs import whole_characters

Encoding = Literal["cl100k_base", "o200k_base"]

# Which encoding OpenAI's models use, as its tokenizer library publishes it. Other vendors' are not public: cl100k is near them.
_CL100K = ("gpt-4", "gpt-3.5")
_O200K = ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "chatgpt-4o", "o1", "o3", "o4")


def is_of_family(model: str, families: tuple[str, ...]) -> bool:
    """Tell whether a part of a model's name, as slashes divide it, begins with a family's, and no word goes on there."""
    parts = model.lower().split("/")
    after = [f"{part} "[len(name)] for part in parts for name in families if part.startswith(name)]
    return any(not letter.isalnum() and letter != "_" for letter in after)


class ExactTokenizer(Struct, frozen=True):
    """Count by an encoding of OpenAI's, in the core and offline."""

    name: Encoding = "cl100k_base"

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; half of a surrogate pair counts as the mark that it is sent as."""
        try:
            return count_tokens(text, self.name)
        except UnicodeEncodeError:
            return count_tokens(whole_characters(text), self.name)

    def trim(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of whole characters with at most `max_tokens` tokens."""
        try:
            return trim_tokens(text, max(max_tokens, 0), self.name)
        except UnicodeEncodeError:  # the mark is one character too
            return text[: len(trim_tokens(whole_characters(text), max(max_tokens, 0), self.name))]


class ApproximateTokenizer(Struct, frozen=True):
    """Estimate tokens as characters over a ratio (`approx_chars_per_token` of `carrel.rag`), rounded up."""

    chars_per_token: float = 4.0
    name: str = "approximate"

    def count(self, text: str) -> int:
        """Estimate the tokens of `text`."""
        return -int(-len(text) // self.chars_per_token)

    def trim(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning with at most `max_tokens` estimated tokens, by binary search."""
        return text[: bisect_right(range(1, len(text) + 1), max_tokens, key=lambda length: self.count(text[:length]))]


def tokenizer_for(model: str | None = None, *, approx_chars_per_token: float | None = None) -> Tokenizer:
    """Return the tokenizer of a chat model: its own encoding, cl100k_base for others, an estimate when a ratio is given."""
    if approx_chars_per_token is not None:
        return ApproximateTokenizer(approx_chars_per_token)
    return ExactTokenizer("o200k_base" if model and is_of_family(model, _O200K) else "cl100k_base")


def known_tokenizer(model: str) -> Tokenizer | None:
    """Return a model's own tokenizer, None where it isn't known."""
    if is_of_family(model, _O200K):
        return ExactTokenizer("o200k_base")
    return ExactTokenizer("cl100k_base") if is_of_family(model, _CL100K) else None
