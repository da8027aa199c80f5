"""How long a context may get for a chat model: a share of its window, where that is known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from carrel.model.patterns import lazy_pattern
from carrel.model.types import Budget

_WINDOWS = (
    (lazy_pattern(r"gpt-4\.1|gemini", re.IGNORECASE), 1_000_000),
    (lazy_pattern(r"gpt-5", re.IGNORECASE), 272_000),
    (lazy_pattern(r"claude|\bo[134]\b", re.IGNORECASE), 200_000),
    (lazy_pattern(r"gpt-4o|gpt-4-turbo|llama-?3\.[1-3]|mistral|deepseek|qwen-?[23]|codestral|devstral", re.IGNORECASE), 128_000),
    (lazy_pattern(r"gpt-3\.5", re.IGNORECASE), 16_385),
)
_SMALLEST = 1_024
"""Of the windows that are believed: a smaller number is a mistake."""
_CHARS_PER_TOKEN = 4
_DEFAULT = Budget()


def window_of(model: str | None) -> int | None:
    """Return the window of a model by its name; None where the name tells nothing."""
    return next((size for name, size in _WINDOWS if model and name.search(model)), None)


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """How long contexts get. `fixed` is what is set; while it is the default, a known window gives `share` of it.

    That is at most `ceiling` tokens. The default is the least: a window makes a budget larger, never smaller.
    """

    fixed: Budget = _DEFAULT
    share: float = 0.125
    ceiling: int = 8_000

    def budget(self, window: int | None) -> Budget:
        """Return the budget for a model with this window, None where it isn't known."""
        if window is None or window < _SMALLEST or self.fixed != _DEFAULT:
            return self.fixed
        tokens = min(int(window * self.share), self.ceiling)
        return Budget(tokens, "tokens") if tokens > self.fixed.amount // _CHARS_PER_TOKEN else self.fixed
