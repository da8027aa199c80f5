"""Embeddings of Copilot: its session, its limits, and where its token is, against a local server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from tests.services.embeddings import SESSION, SIGN_IN, EmbeddingService, Fault
from tests.support.embedders import copilot, sign_in

from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.fakes import FakePermissions, fake_outbound
from carrel.model.outbound import Destination
from carrel.providers.copilot_embeddings import SECONDS_BETWEEN, CopilotEmbedder, token_files
from carrel.settings.model_settings import ModelSettings

pytestmark = pytest.mark.usefixtures("signed_in", "models_closed")


async def test_copilots_session_is_kept_and_renewed_five_minutes_before_it_ends(service: EmbeddingService) -> None:
    now = [0.0]
    model = copilot(service, clock=lambda: now[0])
    service.lifetime = 1_800.0
    now[0] = time.time()
    for _ in range(3):
        await model.embed(["a"], "query")
    assert service.sessions == 1
    now[0] += 1_800 - 301
    await model.embed(["a"], "query")
    assert service.sessions == 1
    now[0] += 60  # of which the service's own clock may have used some
    await model.embed(["a"], "query")
    assert service.sessions == 2
    (path, headers, _), *_ = service.requests
    assert (path, headers["authorization"]) == ("/copilot_internal/v2/token", f"token {SIGN_IN}")
    assert service.requests[1][1]["authorization"] == f"Bearer {SESSION}1"


async def test_a_session_that_expired_is_exchanged_again_in_the_middle_of_a_run(service: EmbeddingService) -> None:
    model = copilot(service)
    await model.embed(["a"], "document")
    service.sessions += 1  # the first one counts no more
    assert len(await model.embed(["b"], "document")) == 1
    assert service.sessions == 3


async def test_copilot_gives_up_after_four_more_tries_of_all_kinds_together(service: EmbeddingService) -> None:
    model = copilot(service)
    service.faults = [Fault("status", status) for status in (401, 429, 401, 429, 401)]
    with pytest.raises(ProviderError, match="401"):
        await model.embed(["a"], "document")
    assert len([path for path, _, _ in service.requests if path == "/embeddings"]) == 5


async def test_copilots_other_failures_are_told_at_once_and_not_tried_again(service: EmbeddingService) -> None:
    model = copilot(service)
    service.faults = [Fault("status", 500)]
    with pytest.raises(ProviderError) as raised:
        await model.embed(["a"], "document")
    assert not raised.value.retryable
    assert len(service.requests) == 2


async def test_copilots_exchange_goes_by_post_where_get_is_refused(service: EmbeddingService) -> None:
    service.faults = [Fault("exchange", 405)]
    assert len(await copilot(service).embed(["a"], "document")) == 1
    assert service.sessions == 1


async def test_copilots_calls_are_200_ms_apart_with_50_texts_at_most(service: EmbeddingService) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    model = copilot(service, sleep=sleep, max_texts=400)
    assert model.spec.max_texts == 50
    await asyncio.gather(*(model.embed(["a"], "document") for _ in range(3)))
    assert [0 < pause <= 0.2 for pause in pauses] == [True, True]


async def test_copilots_calls_are_200_ms_apart_as_they_are_sent_whatever_came_before() -> None:
    """The exchange of a session and a refused try don't bring two of them nearer."""
    happened: list[str] = []

    async def sleep(seconds: float) -> None:
        happened.append("pace" if 0 < seconds <= SECONDS_BETWEEN else "wait")

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/embeddings":
            await asyncio.sleep(0.01)  # others come meanwhile
            return httpx.Response(200, json={"token": SESSION, "expires_at": time.time() + 1_800})
        happened.append("sent")
        if happened.count("sent") == 1:
            return httpx.Response(429, headers={"retry-after": "0"})
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0, *[0.0] * 1535]}]})

    model = CopilotEmbedder(
        fake_outbound(), ModelSettings(base_url="http://127.0.0.1:9"), sleep=sleep, transport=httpx.MockTransport(answer)
    )
    await asyncio.gather(*(model.embed(["a"], "query") for _ in range(2)))
    await model.aclose()
    paced = [step for step in happened if step != "wait"]
    assert paced == ["sent", "pace", "sent", "pace", "sent"]


def test_copilots_floor_keeps_the_scores_that_were_seen_at_the_source(service: EmbeddingService) -> None:
    assert copilot(service).spec.floor == 0.3  # of 0.33 and 0.52
    assert copilot(service, floor=0.5).spec.floor == 0.5


@pytest.mark.parametrize("token", [None, "ghu_revoked"])
async def test_a_missing_or_refused_sign_in_is_told_with_what_mends_it(service: EmbeddingService, token: str | None) -> None:
    sign_in(token)
    model = copilot(service)
    with pytest.raises(ProviderError, match="Sign in to GitHub Copilot in your editor") as raised:
        await (model.embed(["a"], "query") if token else model.check())
    assert "ghu_" not in str(raised.value)


@pytest.mark.parametrize("allowed", [[], ["api"], ["exchange"]])
async def test_copilots_exchange_needs_a_permission_as_well(allowed: list[str]) -> None:
    hosts = {"api": "api.githubcopilot.com", "exchange": "api.github.com"}
    permissions = FakePermissions([Destination("copilot", hosts[name]) for name in allowed])
    asked: list[httpx.Request] = []
    transport = httpx.MockTransport(lambda request: asked.append(request) or httpx.Response(500))  # type: ignore[func-returns-value]
    outbound = replace(fake_outbound(), permissions=permissions)
    model = CopilotEmbedder(outbound, transport=transport)
    for use in (model.check, lambda: model.embed(["a"], "query")):
        with pytest.raises(NotAllowed):
            await use()
    assert asked == []


def test_copilots_token_is_where_its_clients_keep_it(tmp_path: Path) -> None:
    home = Path.home()
    assert token_files({}, "linux")[0] == home / ".config" / "github-copilot" / "apps.json"
    assert token_files({}, "darwin")[0] == home / ".config" / "github-copilot" / "apps.json"
    assert token_files({"LOCALAPPDATA": str(tmp_path)}, "win32")[0] == tmp_path / "github-copilot" / "apps.json"
