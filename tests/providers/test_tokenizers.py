from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.providers.tokenizers import ApproximateTokenizer, ExactTokenizer, tokenizer_for


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("claude-sonnet", "cl100k_base"),
        ("llama-o1x", "cl100k_base"),
    ],
)
def test_the_model_names_its_encoding(model: str | None, name: str) -> None:
    assert tokenizer_for(model).name == name


def test_a_ratio_asks_for_an_estimate() -> None:
    tokenizer = tokenizer_for("gpt-4o", approx_chars_per_token=3.5)
    assert (tokenizer.name, tokenizer.count("x" * 36)) == ("approximate", 11)


def test_exact_counts_are_the_encodings() -> None:
    text = "def authenticateUser(self, user_name: str) -> bool:\n    return True  # done\n"
    assert (ExactTokenizer("cl100k_base").count(text), ExactTokenizer("o200k_base").count(text)) == (20, 20)
    assert ExactTokenizer().count("<|endoftext|>") == 7  # text, not a special token


@given(
    st.text(max_size=80),
    st.integers(-1, 30),
    st.sampled_from([ExactTokenizer(), ApproximateTokenizer(), ApproximateTokenizer(0.5)]),
)
def test_a_trimmed_text_is_a_prefix_that_fits(text: str, most: int, tokenizer: ExactTokenizer | ApproximateTokenizer) -> None:
    trimmed = tokenizer.trim(text, most)
    assert text.startswith(trimmed)
    assert tokenizer.count(trimmed) <= max(most, 0)
    if tokenizer.count(text) <= most:
        assert trimmed == text
