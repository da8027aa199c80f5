"""The share of a window, worked out by hand for a tokenizer of one token a character."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.plain_parts import Characters, ScriptedModel, agent, document

from carrel.model.errors import InvalidInput
from carrel.rag import RAGAgentConfig, RetrieveResult

SYSTEM, TEMPLATE, QUERY = "S" * 60, "{context}{query}", "Q" * 40
"""A hundred tokens without context."""


def retrieved(window: int, context: int, **config: Any) -> RetrieveResult:
    settings = RAGAgentConfig(include_metadata_in_context=False, **config)
    model = ScriptedModel(window=window, tokenizer=Characters())
    return agent([document("c" * context)], model=model, config=settings).retrieve(QUERY, SYSTEM, TEMPLATE)


@pytest.mark.parametrize(
    ("window", "found", "config", "available", "initial", "used", "budget", "new"),
    [
        # remaining = 1000 - 100 - 32 = 868; a quarter of it is 217
        (1_000, 300, {}, 651, 217, 300, 568, 568),
        (1_000, 5_000, {}, 651, 217, 651, 217, 217),
        (1_000, 0, {}, 651, 217, 0, 868, 868),
        # a fixed cap is kept, and is the most
        (1_000, 300, {"fixed_max_new_tokens": 100}, 768, 100, 300, 568, 100),
        (1_000, 5_000, {"fixed_max_new_tokens": 100}, 768, 100, 768, 100, 100),
        (1_000, 5_000, {"fixed_max_new_tokens": 2_000}, 0, 868, 0, 868, 868),
        # remaining = 200 - 100 - 32 = 68; a quarter is 17, less than the least of 32
        (200, 5_000, {}, 36, 32, 36, 32, 32),
        (200, 5_000, {"min_output_tokens": 68}, 0, 68, 0, 68, 68),
        # remaining = 900: no margin; half of it
        (1_000, 5_000, {"safety_margin_tokens": 0, "auto_output_ratio": 0.5}, 450, 450, 450, 450, 450),
        (1_000, 5_000, {"safety_margin_tokens": 0, "auto_output_ratio": 0.0}, 868, 32, 868, 32, 32),
        (1_000, 5_000, {"safety_margin_tokens": 0, "auto_output_ratio": 1}, 0, 900, 0, 900, 900),
        # 0.25 * 871 = 217.75 tokens are 217
        (1_003, 5_000, {}, 654, 217, 654, 217, 217),
    ],
)
def test_the_window_is_divided_by_the_formulas(
    window: int, found: int, config: dict[str, Any], available: int, initial: int, used: int, budget: int, new: int
) -> None:
    result = retrieved(window, found, **config)
    assert (result.token_budget, result.base_tokens) == (window, 100)
    assert (result.meta["available_for_context"], result.meta["initial_max_new_tokens"]) == (available, initial)
    assert (result.context_tokens_used, result.generation_budget, result.max_new_tokens) == (used, budget, new)
    assert len(result.context) == used
    assert result.meta["safety_margin_tokens"] == config.get("safety_margin_tokens", 32)


def test_the_history_is_part_of_the_base() -> None:
    model = ScriptedModel(tokenizer=Characters())
    one = agent(model=model)
    for history in (
        ["1234", "12"],
        [{"role": "user", "content": "1234"}, {"role": "assistant", "content": "12"}],
        ("123456",),
        "123456",
    ):
        assert one.retrieve("q", "s", "{query}", history).base_tokens == 8


def test_the_result_holds_what_was_given_and_found() -> None:
    found = [(document("text of a", source="a.md"), 0.5), (document("text of b"), None), document("text of c", source="c.md")]
    result = agent(found).retrieve("the question", "the system", "Look at:\n{context}\n{query}", ["before"])
    assert (result.base_system_prompt, result.base_user_prompt) == ("the system", "Look at:\n{context}\n{query}")
    assert result.docs == [found[0][0], found[1][0], found[2]]  # type: ignore[index]
    assert result.distances == [0.5, None, None]
    assert result.context == ("Source: a.md\ntext of a\n\n---\n\nSource: unknown\ntext of b\n\n---\n\nSource: c.md\ntext of c")
    assert result.user_prompt == f"Look at:\n{result.context}\nthe question"
    assert (result.user_query, result.chat_history, result.meta["docs_in_context"]) == ("the question", ["before"], [0, 1, 2])


def test_the_defaults_are_the_specs() -> None:
    config = RAGAgentConfig()
    assert (config.top_k, config.similarity_threshold, config.fixed_max_new_tokens) == (5, None, None)
    assert (config.auto_output_ratio, config.min_output_tokens, config.safety_margin_tokens) == (0.25, 32, 32)
    assert (config.include_metadata_in_context, config.context_separator) == (True, "\n\n---\n\n")
    assert (config.context_item_header_fmt, config.normalize_embeddings) == ("Source: {source}", True)
    assert config.approx_chars_per_token == 4.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_k": -1},
        {"top_k": "5"},
        {"top_k": True},
        {"fixed_max_new_tokens": 0},
        {"min_output_tokens": 0},
        {"safety_margin_tokens": -1},
        {"auto_output_ratio": 1.1},
        {"auto_output_ratio": float("nan")},
        {"similarity_threshold": "0.5"},
        {"similarity_threshold": float("inf")},
        {"similarity_threshold": 10**400},
        {"approx_chars_per_token": 0},
        {"approx_chars_per_token": float("inf")},
        {"context_separator": None},
        {"context_item_header_fmt": 3},
    ],
)
def test_a_configuration_that_can_not_be_used_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as told:
        RAGAgentConfig(**wrong)
    assert told.value.field == next(iter(wrong))
