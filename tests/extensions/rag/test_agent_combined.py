"""Results of several searches are combined within one window."""

from __future__ import annotations

import pytest
from msgspec import structs
from tests.support.plain_parts import (
    Characters,
    FixedStore,
    ScriptedModel,
    agent,
    document,
)

from carrel.model.errors import InvalidInput
from carrel.rag import RAGAgentConfig, RetrieveResult


def test_results_are_combined_by_rank_within_the_window() -> None:
    model = ScriptedModel(tokenizer=Characters())
    store = FixedStore()
    one = agent(store, model=model, config=RAGAgentConfig(context_separator="|", include_metadata_in_context=False))
    results = []
    for found in ([("a", 0.9), ("b", 0.8), ("c", 0.7)], [("x", 5.0), ("b", 4.0)], [("y", None)]):
        store.found = [(document(text), score) for text, score in found]
        results.append(one.retrieve(f"question {found[0][0]}", "sys", "{context}?{query}", ["before"]))
    together = one.combine(results)
    assert (together.context, together.distances) == ("a|x|y|b|c", [0.9, 5.0, None, 0.8, 0.7])
    assert (together.user_query, together.chat_history) == ("question a", ["before"])
    assert together.base_tokens + together.context_tokens_used + together.max_new_tokens + 32 == together.token_budget
    one.generate(one.combine(results, user_query="all of it"), max_new_tokens=9)
    assert (model.last["user_prompt"], model.last["max_new_tokens"]) == ("a|x|y|b|c?all of it", 9)


def test_combined_results_share_what_one_would_have() -> None:
    model = ScriptedModel(window=300, tokenizer=Characters())
    store = FixedStore()
    one = agent(store, model=model, config=RAGAgentConfig(include_metadata_in_context=False, safety_margin_tokens=0))
    results = []
    for letter in "ab":
        store.found = [document(letter * 200)]
        results.append(one.retrieve("q", "", "{context}"))
    together = one.combine(results)
    assert (len(together.context), together.max_new_tokens) == (225, 75)
    assert together.context.endswith("\n\n---\n\n" + "b" * 18)


def test_equal_texts_of_other_sources_are_both_kept() -> None:
    store = FixedStore([document("same", source="a")])
    one = agent(store)
    first = one.retrieve("q")
    store.found = [document("same", source="b")]
    assert len(one.combine([first, one.retrieve("q"), first]).docs) == 2
    for wrong in ([], ["result"]):
        with pytest.raises(InvalidInput, match="results"):
            one.combine(wrong)  # type: ignore[arg-type]


def test_a_result_that_somebody_changed_keeps_the_window_too() -> None:
    model = ScriptedModel(window=200, tokenizer=Characters())
    result = agent([], model=model).retrieve("q", "", "{context}{query}")
    changed = RetrieveResult(**structs.asdict(result) | {"context": "x" * 500})
    agent([], model=model).generate(changed, max_new_tokens=50)
    assert len(model.last["user_prompt"]) + model.last["max_new_tokens"] + 32 == 200


def test_an_agent_with_a_smaller_window_answers_from_anothers_result() -> None:
    large, small = ScriptedModel(window=9_000, tokenizer=Characters()), ScriptedModel(window=400, tokenizer=Characters())
    result = agent([document("x" * 500)], model=large).retrieve("q", "", "{context}")
    agent([], model=small).generate(result)
    assert (len(small.last["user_prompt"]), small.last["max_new_tokens"]) == (276, 92)
    agent([], model=large).generate(result)
    assert (large.last["user_prompt"], large.last["max_new_tokens"]) == (result.context, result.max_new_tokens)


def test_documents_that_do_not_fit_at_all_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    one = agent([document("secret text")], model=ScriptedModel(window=300))
    one.run("q", max_new_tokens=5_000)
    assert "None of the 1 documents is shown" in caplog.text
    assert "secret" not in caplog.text


def test_a_result_without_a_distance_for_each_document_is_refused() -> None:
    one = agent([document("x")])
    result = one.retrieve("q")
    result.distances.clear()
    with pytest.raises(InvalidInput, match="one distance for each"):
        one.combine([result])
