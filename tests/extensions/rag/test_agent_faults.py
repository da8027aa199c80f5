"""What fails or can't be used in a RAG agent is named."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.plain_parts import (
    FixedEmbedder,
    FixedStore,
    ScriptedModel,
    agent,
)

from carrel.model.errors import InvalidInput, ProviderError, StoreError
from carrel.model.fakes import FakeEmbedder
from carrel.rag import RAGAgent


def failing(error: BaseException) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_a_part_that_fails_is_named_with_the_cause() -> None:
    broken = failing(ValueError("no  route\nto host"))
    with pytest.raises(ProviderError, match=r"^The embedder failed: ValueError: no route to host$") as told:
        agent(embedder=SimpleNamespace(embed=broken)).retrieve("q")
    assert isinstance(told.value.__cause__, ValueError)
    with pytest.raises(StoreError, match=r"^The store failed: ValueError: no route"):
        agent(SimpleNamespace(similarity_search=broken)).retrieve("q")
    with pytest.raises(ProviderError, match=r"^The model failed: ValueError: no route"):
        agent(model=SimpleNamespace(ask=broken)).run("q")

    def breaking_off() -> Iterator[str]:
        yield "a"
        raise ConnectionError("reset")

    pieces = agent(model=ScriptedModel(breaking_off)).run("q", stream=True)
    assert next(pieces) == "a"
    with pytest.raises(ProviderError, match="reset") as told:
        next(pieces)
    assert told.value.retryable


def test_errors_of_carrel_and_of_the_person_pass_as_they_are() -> None:
    mine = StoreError("The disk is full")
    with pytest.raises(StoreError) as told:
        agent(SimpleNamespace(similarity_search=failing(mine))).retrieve("q")
    assert told.value is mine
    with pytest.raises(KeyboardInterrupt):
        agent(SimpleNamespace(similarity_search=failing(KeyboardInterrupt()))).retrieve("q")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"user_query": 3}, "user_query"),
        ({"user_query": "q", "base_system_prompt": None}, "base_system_prompt"),
        ({"user_query": "q", "base_user_prompt": b"{query}"}, "base_user_prompt"),
        ({"user_query": "q", "top_k": -1}, "top_k"),
        ({"user_query": "q", "top_k": 2.5}, "top_k"),
        ({"user_query": "q", "similarity_threshold": "0.5"}, "similarity_threshold"),
        ({"user_query": "q", "chat_history": {"role": "user", "content": "a"}}, "chat_history"),
        ({"user_query": "q", "chat_history": [("user", "a")]}, "chat_history"),
        ({"user_query": "q", "chat_history": [{"role": "user", "content": None}]}, "chat_history"),
        ({"user_query": "q", "max_new_tokens": 0}, "max_new_tokens"),
        ({"user_query": "q", "system_prompt": "mine"}, "system_prompt"),
    ],
)
def test_arguments_that_can_not_be_used_are_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as told:
        agent().run(**given)
    assert told.value.field == field


def test_parts_without_their_method_are_refused() -> None:
    port = FakeEmbedder()
    for store, embedder, field, remedy in (
        (object(), FixedEmbedder(), "vectorstore", "PlainIndex"),
        (FixedStore(), None, "vectorstore", "PlainIndex"),
        (FixedStore(), object(), "embedder", "None"),
        (FixedStore(), port, "embedder", "PlainEmbedder"),
    ):
        with pytest.raises(InvalidInput) as told:
            RAGAgent(ScriptedModel(), store, embedder)  # type: ignore[arg-type]
        assert told.value.field == field
        assert remedy in told.value.remedy
    with pytest.raises(InvalidInput, match="llm"):
        agent(model=object()).run("q")


# --- combination


# --- parts that are awaited
