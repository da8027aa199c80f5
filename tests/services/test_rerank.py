"""Rerankers: what each service is sent, how its answer is read, and what becomes of one that can't be used."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from tests.services.models import KEY, keyed, reranker
from tests.services.standin import Reply, StandIn, failure

from carrel.composition.models import rerankers
from carrel.model.errors import ProviderError
from carrel.model.fakes import FakeMeter, fake_outbound
from carrel.providers import cohere_rerank
from carrel.settings.model_settings import ModelSettings

TEXTS = ["draw a circle", "check the password"]
QUERY = "the password"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("cohere", {"model": "rerank-english-v3.0", "query": QUERY, "documents": TEXTS}),
        ("jina", {"model": "jina-reranker-v2-base-multilingual", "query": QUERY, "documents": TEXTS, "return_documents": False}),
        ("voyage", {"model": "rerank-2.5", "query": QUERY, "documents": TEXTS, "truncation": True}),
        ("tei", {"query": QUERY, "texts": TEXTS, "raw_scores": False, "truncate": True}),
    ],
)
async def test_each_service_is_asked_in_its_own_words(service: StandIn, provider: str, expected: dict[str, Any]) -> None:
    outbound = keyed()
    scores = await reranker(provider, f"{service.url}/v9", outbound, key="keyring", price=3.0).rerank(QUERY, TEXTS)
    assert scores == [0, 1]
    assert (service.last.path, service.last.body) == ("/v9/rerank", expected)
    assert service.last.headers["authorization"] == f"Bearer {KEY}"
    assert isinstance(outbound.meter, FakeMeter)
    ((_, load),) = outbound.meter.used
    assert (load.texts, load.dollars) == (2, 0.003)


def answer(*scores: tuple[Any, Any], name: str = "relevance_score", within: str = "results") -> Reply:
    items = [{"index": index, name: score} for index, score in scores]
    return Reply(body=json.dumps({within: items} if within else items).encode())


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (answer((1, 0.9), (0, 0.2)), [0.2, 0.9]),
        (answer((1, 1), (0, 0)), [0, 1]),
        (answer((0, 0.2), (1, 0.9), name="score", within=""), [0.2, 0.9]),
        (answer((1, 0.9), (0, 0.2), within="data"), [0.2, 0.9]),
        (answer((1, 0.0), (0, -1_000)), [0, 0.5]),
        (answer((1, 800), (0, 0.0)), [0.5, 1]),
    ],
)
async def test_scores_are_given_in_the_texts_order(service: StandIn, reply: Reply, expected: list[float]) -> None:
    service.script = [reply]
    assert await reranker("cohere", service.url).rerank(QUERY, TEXTS) == pytest.approx(expected)


async def test_raw_scores_stay_raw_so_that_requests_can_be_compared(service: StandIn) -> None:
    service.script = [answer((0, 4.0), (1, -4.0)), answer((0, 0.5), (1, 0.6))]
    model = reranker("cohere", service.url)
    first, second = await model.rerank(QUERY, TEXTS), await model.rerank(QUERY, TEXTS)
    assert first[1] < second[0] < second[1] < first[0]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answer((0, 0.2)), r"gave scores for 1 of 2 texts"),
        (answer((0, 0.2), (0, 0.3)), "two scores for one text"),
        (answer((0, 0.2), (2, 0.3)), "belongs to no text"),
        (answer((0, 0.2), (-1, 0.3)), "belongs to no text"),
        (answer((0, 0.2), (True, 0.3)), "belongs to no text"),
        (answer((0, 0.2), (1, "0.3")), "is no number"),
        (answer((0, 0.2), (1, float("nan"))), "not JSON"),
        (Reply(body=b"[3]"), "belongs to no text"),
        (Reply(body=b'{"results": {}}'), "gave no scores"),
        (Reply(body=b"<html>"), "not JSON"),
        (failure(401, quoted=KEY), "refused the key"),
        (failure(500, quoted=KEY), "failed"),
    ],
)
async def test_what_cannot_be_used_is_an_error_that_quotes_nobody(
    service: StandIn, reply: Reply, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    service.script = [reply]
    with pytest.raises(ProviderError, match=message) as raised:
        await reranker("cohere", service.url, key="keyring").rerank(QUERY, TEXTS)
    assert KEY not in f"{raised.value!r} {raised.value.__dict__} {caplog.text}"


async def test_long_texts_are_shortened_and_blank_ones_stay_here(service: StandIn) -> None:
    texts = ["", "password " * 10_000, " \n", "half \ud83d"]
    scores = await reranker("cohere", service.url).rerank("password " * 1_000, texts)
    assert [score > 0 for score in scores] == [False, True, False, False]
    sent = service.last.body
    assert [len(text) for text in sent["documents"]] == [cohere_rerank.LONGEST_TEXT, 6]
    assert len(sent["query"]) == cohere_rerank.LONGEST_QUERY
    assert await reranker("cohere", service.url).rerank(" ", ["a", "b"]) == [0, 0]
    assert len(service.requests) == 1


async def test_cohere_itself_wants_a_key_and_warns_once_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    model = rerankers().make(ModelSettings(provider="cohere"), fake_outbound())
    spec = model.spec
    assert (spec.id, spec.max_texts, spec.leaves_machine, spec.price) == ("cohere:rerank-english-v3.0", 100, True, 2.0)
    for _ in range(3):
        with pytest.raises(ProviderError, match=r"There is no key for cohere\. Enter one"):
            await model.rerank(QUERY, TEXTS)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("Nothing is reranked by cohere:rerank-english-v3.0: There is no key for cohere. Enter one")
    assert "COHERE_API_KEY" in warning


async def test_a_key_nobody_named_goes_to_its_own_provider_only(service: StandIn) -> None:
    await reranker("cohere", service.url).rerank(QUERY, TEXTS)
    assert KEY not in service.everything()
