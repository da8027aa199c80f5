# ruff: noqa: ARG002 - stand-ins take what they are given
"""Prompt, context and answer together never exceed the window, whatever counts the tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.plain_parts import Characters, CountedBy, ScriptedModel, Templated, agent, document

from carrel.model.errors import InvalidInput, ProviderError
from carrel.providers.tokenizers import ApproximateTokenizer, ExactTokenizer
from carrel.rag import RAGAgentConfig, WindowTooSmall


def merging(text: str) -> int:
    """Fewer tokens together than apart, and fewer for a longer beginning: "ab" is one."""
    return len(text) - text.count("ab")


def growing(text: str) -> int:
    """More tokens together than apart."""
    return len(text) + (len(text) // 40) ** 2


def spiky(text: str) -> int:
    """A longer beginning may have far fewer tokens."""
    return len(text) * (3 if text.endswith(("e", "a", "中")) else 1)


TOKENIZERS: dict[str, Any] = {
    "none": None,
    "o200k": ExactTokenizer("o200k_base"),
    "characters": Characters(),
    "words": CountedBy(lambda text: len(text.split())),
    "merging": CountedBy(merging),
    "growing": CountedBy(growing),
    "spiky": CountedBy(spiky),
    "framed": CountedBy(lambda text: len(text) + 2),
    "template": Templated(),
}


def counted(name: str, config: RAGAgentConfig, asked: dict[str, Any], history: list[str]) -> int:
    """What was sent, by the same tokenizer but without the code that is tested."""
    texts = [asked["system_prompt"], *history, asked["user_prompt"]]
    if config.estimate_tokens:
        return sum(ApproximateTokenizer(config.approx_chars_per_token).count(text) for text in texts)
    tokenizer = TOKENIZERS[name]
    if isinstance(tokenizer, Templated):
        messages = [{"content": text} for place, text in enumerate(texts) if place or text]
        return len(tokenizer.apply_chat_template(messages, tokenize=True, add_generation_prompt=True)["input_ids"][0])
    if isinstance(tokenizer, Characters | CountedBy):
        return sum(len(tokenizer.encode(text)) for text in texts if text)
    return sum((tokenizer or ExactTokenizer()).count(text) for text in texts)


words = st.sampled_from(
    ["def ab(a):", "return", "größer", "数据库连接", "פתח", "😀", "\ud83d", "{context}", "---", "Source: x", "\n", " ", "ab"]
)
texts = st.lists(words, max_size=30).map(" ".join) | st.text(max_size=60)
configs = st.builds(
    RAGAgentConfig,
    fixed_max_new_tokens=st.none() | st.integers(1, 200),
    auto_output_ratio=st.floats(0, 1),
    min_output_tokens=st.integers(1, 60),
    safety_margin_tokens=st.integers(0, 60),
    include_metadata_in_context=st.booleans(),
    context_separator=st.sampled_from(["\n\n---\n\n", "\n", "", " | "]),
    approx_chars_per_token=st.floats(0.3, 8),
    estimate_tokens=st.booleans(),
)


@settings(max_examples=300)
@given(
    name=st.sampled_from(list(TOKENIZERS)),
    window=st.integers(1, 1_200),
    config=configs,
    system=texts,
    template=st.sampled_from(["{context}\n{query}", "{context}{context} {query}", "no field", "ab{context}ab", "a {query}"]),
    query=texts,
    history=st.lists(texts, max_size=4),
    found=st.lists(texts, max_size=6),
    asked_for=st.none() | st.integers(1, 2_000),
)
def test_the_sum_never_exceeds_the_window(
    name: str,
    window: int,
    config: RAGAgentConfig,
    system: str,
    template: str,
    query: str,
    history: list[str],
    found: list[str],
    asked_for: int | None,
) -> None:
    model = ScriptedModel(window=window, tokenizer=TOKENIZERS[name])
    one = agent([document(text, source="s.md") for text in found], model=model, config=config)
    try:
        one.run(query, system, template, history, max_new_tokens=asked_for)
    except WindowTooSmall:
        bare = {"system_prompt": system, "user_prompt": template.replace("{context}", "").replace("{query}", query)}
        cap = config.fixed_max_new_tokens if asked_for is None else asked_for
        least = config.min_output_tokens if cap is None else min(cap, config.min_output_tokens)
        assert counted(name, config, bare, history) + config.safety_margin_tokens + least > window
        return
    sent = model.last
    spent = counted(name, config, sent, history) + sent["max_new_tokens"] + config.safety_margin_tokens
    assert spent <= window
    assert sent["max_new_tokens"] >= 1
    limit = config.fixed_max_new_tokens if asked_for is None else asked_for
    assert limit is None or sent["max_new_tokens"] <= limit

    if asked_for is None:
        result = one.retrieve(query, system, template, history)
        assert result.base_tokens + result.context_tokens_used + result.generation_budget + config.safety_margin_tokens <= window
        assert result.context_tokens_used <= result.meta["available_for_context"]
        one.generate(one.combine([result, result]))
        sent = model.last
        assert counted(name, config, sent, history) + sent["max_new_tokens"] + config.safety_margin_tokens <= window


def test_a_context_that_fits_is_whole_and_one_that_does_not_is_cut_at_the_last_token() -> None:
    model = ScriptedModel(window=200, tokenizer=Characters())
    config = RAGAgentConfig(fixed_max_new_tokens=50, safety_margin_tokens=0, include_metadata_in_context=False)
    fits = agent([document("x" * 140)], model=model, config=config).retrieve("q", "system", "{context}{query}")
    assert (len(fits.context), fits.base_tokens, fits.meta["context_trimmed"]) == (140, 7, False)
    over = agent([document("x" * 144)], model=model, config=config).retrieve("q", "system", "{context}{query}")
    assert (len(over.context), over.max_new_tokens, over.meta["context_trimmed"]) == (143, 50, True)


def test_a_cut_context_does_not_end_in_a_header() -> None:
    found = [document("a" * 50, source="one.md"), document("b" * 50, source="two.md")]
    first = "Source: one.md\n" + "a" * 50
    headed = f"{first}\n\n---\n\nSource: two.md\n"
    for length, kept, shown in ((len(headed), first, [0]), (len(headed) + 1, headed + "b", [0, 1]), (10, "", [])):
        config = RAGAgentConfig(fixed_max_new_tokens=10, safety_margin_tokens=0)
        model = ScriptedModel(window=length + 10, tokenizer=Characters())
        result = agent(found, model=model, config=config).retrieve("q", "", "{context}")
        assert (result.context, result.meta["docs_in_context"]) == (kept, shown)
        assert result.docs == found


def test_a_prompt_that_leaves_no_answer_is_an_error_before_anything_is_asked() -> None:
    model = ScriptedModel(window=100, tokenizer=Characters())
    one = agent([document("text")], model=model)
    with pytest.raises(
        WindowTooSmall, match=r"window of 100 tokens.*take 40 and the margin 32.*less than the 32.*Shorten"
    ) as told:
        one.run("q" * 20, "s" * 20, "{context}{query}")
    assert isinstance(told.value, InvalidInput)
    assert model.asked == []
    assert one.run("q", "", "{query}") == "an answer"


@pytest.mark.parametrize("window", [0, -5, "8192", 1.5, True])
def test_a_window_that_is_none_is_an_error(window: object) -> None:
    with pytest.raises(InvalidInput, match=r"llm.max_seq_length"):
        agent(model=ScriptedModel(window=window)).retrieve("q")


def test_without_a_window_it_is_8192_tokens() -> None:
    class Model:
        def ask(self, **arguments: Any) -> str:
            return ""

    assert agent(model=Model()).retrieve("q").token_budget == 8_192
    assert agent(model=ScriptedModel(window=None)).retrieve("q").token_budget == 8_192


def test_tokens_are_counted_by_the_models_tokenizer_else_cl100k_else_an_estimate() -> None:
    prompt = ("Wie groß?", "Be brief.", "{query}")
    exact = ExactTokenizer()
    for tokenizer, config, name, tokens in (
        (Characters(), None, "Characters", 18),
        (ExactTokenizer("o200k_base"), None, "o200k_base", ExactTokenizer("o200k_base").count("Wie groß?") + 3),
        (None, None, "cl100k_base", exact.count("Wie groß?") + exact.count("Be brief.")),
        (Characters(), RAGAgentConfig(estimate_tokens=True, approx_chars_per_token=3), "approximate", 6),
        (Templated(), None, "Templated", 18 + 3 + 2 * 5),
    ):
        result = agent(model=ScriptedModel(tokenizer=tokenizer), config=config).retrieve(*prompt)
        assert (result.meta["tokenizer"], result.base_tokens) == (name, tokens)


def test_a_template_that_refuses_the_prompt_is_not_used() -> None:
    class NoTemplate(Characters):
        def apply_chat_template(self, messages: Any, **options: Any) -> Any:
            raise ValueError("chat_template is not set")

    result = agent(model=ScriptedModel(tokenizer=NoTemplate())).retrieve("1234", "12", "{query}")
    assert result.base_tokens == 6


def test_a_template_may_give_text_or_an_array() -> None:
    class Text(Characters):
        def apply_chat_template(self, messages: Any, **options: Any) -> Any:
            return "".join(f"<{message['content']}>" for message in messages)

    class Array(Characters):
        def apply_chat_template(self, messages: Any, **options: Any) -> Any:
            return type("Tensor", (), {"shape": (1, 17)})()

    assert agent(model=ScriptedModel(tokenizer=Text())).retrieve("1234", "12", "{query}").base_tokens == 10
    assert agent(model=ScriptedModel(tokenizer=Array())).retrieve("1234", "12", "{query}").base_tokens == 17


def test_a_tokenizer_that_can_not_count_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"llm.tokenizer: str has no `encode` for texts. Give it"):
        agent(model=ScriptedModel(tokenizer="gpt-4")).retrieve("q")

    def fail(text: str) -> int:
        raise KeyError(text[:1])

    with pytest.raises(ProviderError, match=r"tokenizer CountedBy failed: KeyError"):
        agent(model=ScriptedModel(tokenizer=CountedBy(fail))).retrieve("q")

    class Port:
        name = "mine"
        trim = count = staticmethod(fail)

    with pytest.raises(ProviderError, match=r"The model's tokenizer failed: KeyError"):
        agent(model=ScriptedModel(tokenizer=Port())).retrieve("q")

    class Inventing(Characters):
        name = "mine"
        count = staticmethod(len)

        def trim(self, text: str, max_tokens: int) -> str:
            return "?" * max_tokens

    with pytest.raises(ProviderError, match="trimmed a text to something else"):
        agent([document("x" * 2_000)], model=ScriptedModel(tokenizer=Inventing())).retrieve("q")


def test_the_messages_of_a_long_history_have_a_margin_where_no_template_counts_them() -> None:
    history = ["hi"] * 30
    plain = agent(model=ScriptedModel(tokenizer=Characters())).retrieve("q", "", "{query}", history)
    assert (plain.base_tokens, plain.meta["message_margin_tokens"]) == (61, 4 * 24)
    assert plain.generation_budget == 1_000 - 61 - 32 - 96
    exact = agent(model=ScriptedModel(tokenizer=Templated())).retrieve("q", "", "{query}", history)
    assert (exact.base_tokens, exact.meta["message_margin_tokens"]) == (61 + 31 * 5 + 3, 0)
