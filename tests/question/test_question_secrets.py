"""Secrets in a question don't leave the machine; the search here has the words as they were typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.planner_models import Planner
from tests.support.texts import indexed

from carrel.assist.assisted_retrieval import Assistants, Question, retrieve_assisted
from carrel.model.conversation import Message
from carrel.model.fakes import FakeEmbedder, FakeReranker
from carrel.model.native import CancelToken, SecretOptions
from carrel.model.ports import EmbeddingSpec, RerankerSpec
from carrel.model.types import Query
from carrel.question.question_secrets import mask_by, mask_fields, masked
from carrel.search.retriever import Retrieval, read
from carrel.system.background import directly

SECRET = "Tr0ub4dor" + "9xQzP7"
OWN = "acme" + "-7731-zzz"
FILES = {"login.py": "def login(user):\n    return check(user)\n", "shop.py": "def price(item):\n    return item.price\n"}
ASKED = f'why does login fail with password = "{SECRET}" and {OWN}?'


class Reranker(FakeReranker):
    def __init__(self, *, leaves_machine: bool) -> None:
        super().__init__(RerankerSpec("fake", leaves_machine=leaves_machine))
        self.queries: list[str] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.queries.append(query)
        return await super().rerank(query, texts)


async def seen_by_models(*, leaves_machine: bool) -> tuple[str, Retrieval]:
    planner = Planner({"rewrite": "where is the login checked", "divide": '{"queries": []}', "imagine": "the login"})
    planner.spec = replace(planner.spec, leaves_machine=leaves_machine)
    reranker = Reranker(leaves_machine=leaves_machine)
    embedder = FakeEmbedder(EmbeddingSpec("fake", 32, leaves_machine=leaves_machine))
    query = Query(ASKED, 2)
    asked = Assistants(planner, reranker, mask=mask_by(SecretOptions(patterns=["acme-[0-9]+-[a-z]+"])))

    async def run(work: object) -> object:
        return await directly(lambda: work(CancelToken()))  # type: ignore[operator]

    found = await retrieve_assisted(
        Question(query, (Message("user", f"the password is password = '{SECRET}'"),)),
        lambda: VIEW,
        embedder,
        asked,
        run,  # type: ignore[arg-type]
        lambda ranking, token: read(ranking, query, token),
    )
    assert planner.seen
    assert reranker.queries
    return " ".join([*planner.seen, *reranker.queries, *(text for texts, _ in embedder.requests for text in texts)]), found


VIEW = indexed(FILES)


async def test_a_remote_model_is_told_no_secret_of_a_question() -> None:
    told, found = await seen_by_models(leaves_machine=True)
    assert SECRET not in told
    assert "[secret: password]" in told
    assert found.hits[0].chunk.path == "login.py"


async def test_a_model_of_this_machine_has_the_words_as_typed() -> None:
    told, _ = await seen_by_models(leaves_machine=False)
    assert SECRET in told
    assert OWN in told


@pytest.mark.parametrize(
    ("text", "shown"), [(OWN, "[secret: settings]"), ("how is a password checked?", "how is a password checked?")]
)
def test_rules_are_those_of_files_and_the_persons_own(text: str, shown: str) -> None:
    mask = mask_by(SecretOptions(patterns=["acme-[0-9]+-[a-z]+"]))
    assert mask(text).startswith(shown[:8])
    assert OWN not in mask(text)


@pytest.mark.parametrize(
    ("arguments", "gone"),
    [
        ({"api_key": "aSdf83hdk29dkQ2x"}, "aSdf83hdk29dkQ2x"),
        ({"deep": [{"clientSecret": "aSdf83hdk29dkQ2x", "n": 1}]}, "aSdf83hdk29dkQ2x"),
        ({"tokens": {"token": ["aSdf83hdk29dkQ2x"]}}, "aSdf83hdk29dkQ2x"),
        ({"ghp_aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6": "a name"}, "ghp_"),
    ],
)
def test_secrets_in_fields_are_known_by_their_form_and_by_the_names_of_their_fields(arguments: Any, gone: str) -> None:
    shown = json.dumps(mask_fields(arguments, masked))
    assert gone not in shown
    assert "[secret" in shown


def test_what_a_tool_needs_stays() -> None:
    harmless = {"page_token": "CAUQAA9dkj38dk", "sort_key": "created_at", "query": "token", "n": 1, "on": True, "ids": ["a", 2]}
    harmless |= {"q": "hello", "": "x", "名": "a", "pagetoken": "CAUQAA9dkj38dk", "startPageToken": "CAUQAA9dkj38dk"}
    assert mask_fields(harmless, masked) == harmless
