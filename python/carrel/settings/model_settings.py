"""The settings of models: which provider and model answers for each role, and the limits of what may be asked of it.

A workspace can set none of it: whoever clones a repository must not have their code sent anywhere by it.

How long a context may get for a chat model: a share of its window, where that is known.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from carrel.model.bounds import MOST
from carrel.model.types import Budget
from carrel.settings.setting_checks import check_key_place, check_url, decode_object, described

_WINDOWS = {
    1_000_000: "gpt-4.1 gemini",
    272_000: "gpt-5",
    200_000: "claude \0o1\0 \0o3\0 \0o4\0",
    128_000: "gpt-4o gpt-4-turbo llama3.1 llama3.2 llama3.3 mistral deepseek qwen2 qwen3 codestral devstral",
    16_385: "gpt-3.5",
}
"""By the size, parts of models' names in small letters; `\\0` stands where a word begins or ends."""
_SMALLEST = 1_024
"""Of the windows that are believed: a smaller number is a mistake."""
_CHARS_PER_TOKEN = 4
_DEFAULT = Budget()


def window_of(model: str | None) -> int | None:
    """Return the window of a model by its name; None where the name tells nothing."""
    name = (model or "").lower()
    words = "".join(letter if letter.isalnum() or letter == "_" else "\0" for letter in f" {name} ")
    shown = name.replace("llama-", "llama").replace("qwen-", "qwen") + words
    return next((size for size, parts in _WINDOWS.items() if any(part in shown for part in parts.split())), None)


class BudgetPolicy(Struct, frozen=True):
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


class ModelSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One model. What is empty or 0 is the provider's own."""

    provider: Annotated[
        str, described("Who offers it, as `carrel models list` names it. Empty for none, or for the bundled embedder.")
    ] = ""
    model: Annotated[str, described("Its name there.")] = ""
    base_url: Annotated[str, described("Where it is asked, such as `http://localhost:11434/v1`.")] = ""
    key: Annotated[
        str,
        described(
            "Where its key is: `env:NAME`, `keyring`, `editor` or `none`; never the key itself. Empty looks into the editor's "
            "keys, the provider's usual variable, and the keyring."
        ),
    ] = ""
    token_url: Annotated[
        str, described("Where GitHub Copilot's sign-in is exchanged for a session token, for an enterprise's own host.")
    ] = ""
    dimensions: Annotated[int, described("Numbers of a vector, where the model lets one choose.", ge=0, le=16_384)] = 0
    floor: Annotated[float, described("The cosine below which a hit is noise.", ge=0, le=1)] = 0.0
    max_texts: Annotated[int, described("Texts of one request at most.", ge=0, le=10_000)] = 0
    max_tokens: Annotated[int, described("Tokens of all texts of one request at most.", ge=0, le=MOST)] = 0
    window: Annotated[int, described("Tokens of a chat model's prompt and answer together.", ge=0, le=MOST)] = 0
    max_output: Annotated[int, described("Tokens of a chat model's answer at most.", ge=0, le=MOST)] = 0
    tools: Annotated[bool | None, described("Whether a chat model can call tools.")] = None
    price: Annotated[float, described("US dollars for a million tokens sent, or for a thousand rerankings.", ge=0, le=MOST)] = 0.0
    output_price: Annotated[float, described("US dollars for a million tokens of a chat model's answers.", ge=0, le=MOST)] = 0.0


USUAL = ModelSettings()


class Models(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A model for each role."""

    embedder: ModelSettings = USUAL
    reranker: ModelSettings = USUAL
    chat: ModelSettings = USUAL
    planner: ModelSettings = USUAL


class LimitSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How much may be asked of each remote service; 0 is no limit."""

    requests_per_minute: Annotated[int, described("Requests a minute.", ge=0, le=MOST)] = 0
    tokens_per_minute: Annotated[int, described("Tokens sent a minute.", ge=0, le=MOST)] = 0
    cost_per_day: Annotated[
        float, described("US dollars a day (UTC), of all of the person's programs together.", ge=0, le=MOST)
    ] = 0.0


def read_models(raw: object) -> Models:
    """Read the setting `models`. Raises `ValueError` that says what is wrong where."""
    models = decode_object(raw, Models)
    for role in Models.__struct_fields__:
        model: ModelSettings = getattr(models, role)
        check_key_place(f"{role}.key", model.key)
        check_url(f"{role}.baseUrl", model.base_url)
        check_url(f"{role}.tokenUrl", model.token_url)
    return models
